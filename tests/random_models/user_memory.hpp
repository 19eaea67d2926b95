#pragma once
// What: an inference over memory as users may give it: inputs and outputs are aligned to their elements and no further,
// and what lies before and behind them must stay as it is.
#include <string>

#include "tests/support/device.hpp"

namespace terroir::test {

/// Empty when the results are `expected`, bit for bit, and nothing else was written. Not for texts.
std::string difference_over_user_memory(const DeviceModel& model, const std::vector<HostTensor>& inputs,
                                        const std::vector<HostTensor>& expected);

}  // namespace terroir::test
