// The OpenVINO header of this name: properties for choosing among devices while a program runs, which nothing here
// does.
#pragma once

#include <array>
#include <utility>

#include "openvino/core/namespace.hpp"
#include "openvino/runtime/properties.hpp"

namespace terroir::intel_auto {

using detail::operator<<;
using detail::operator>>;

enum class SchedulePolicy { ROUND_ROBIN = 0, DEVICE_PRIORITY = 1, DEFAULT = DEVICE_PRIORITY };
constexpr auto enumerator_names(SchedulePolicy) {
  return std::array{std::pair{SchedulePolicy::ROUND_ROBIN, "ROUND_ROBIN"},
                    std::pair{SchedulePolicy::DEVICE_PRIORITY, "DEVICE_PRIORITY"},
                    std::pair{SchedulePolicy::DEFAULT, "DEFAULT"}};
}

inline constexpr Property<bool> device_bind_buffer{"DEVICE_BIND_BUFFER"};
inline constexpr Property<bool> enable_startup_fallback{"ENABLE_STARTUP_FALLBACK"};
inline constexpr Property<bool> enable_runtime_fallback{"ENABLE_RUNTIME_FALLBACK"};
inline constexpr Property<SchedulePolicy> schedule_policy{"SCHEDULE_POLICY"};
/// A map of devices and percents, of whichever type of number.
inline constexpr Property<Any> devices_utilization_threshold{"DEVICES_UTILIZATION_THRESHOLD"};

}  // namespace terroir::intel_auto
