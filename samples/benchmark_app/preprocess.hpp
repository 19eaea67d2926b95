// Element types, means and scales that become part of the model.
#pragma once

#include <memory>
#include <vector>

#include <terroir/terroir.hpp>

#include "benchmark_app/inputs.hpp"
#include "benchmark_app/options.hpp"

namespace benchmark_app {

/// Applies --iop, --ip and --op, --mean_values and --scale_values to the model. Inputs that are images are u8 unless an
/// option says otherwise. Throws std::runtime_error that names the option.
void add_preprocessing(const std::shared_ptr<terroir::Model>& model, const std::vector<Input>& inputs,
                       const Options& options);

}  // namespace benchmark_app
