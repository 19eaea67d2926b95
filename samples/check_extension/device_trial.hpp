// Trials of a device: small models that it says it can run, each run in every way that must give the same result.
#pragma once

#include <string>

#include "check_extension/trial.hpp"

namespace check {

/// Adds to `findings` what each of the models shows: the device against the reference, on its own and with several
/// requests at once. Throws nothing: what the device throws is a finding.
void run_device_trials(terroir::Core& core, const std::string& device, uint64_t seed, Findings& findings);

}  // namespace check
