// Properties that only a CPU device has, under OpenVINO's keys.
#pragma once

#include <array>
#include <utility>

#include "terroir/properties.hpp"

namespace terroir {

namespace intel_cpu {

using detail::operator<<;
using detail::operator>>;

/// Whether inferences take numbers too small for full precision as 0, which is faster where a model has many of them.
/// Default: false, whatever the calling thread has set.
inline constexpr Property<bool> denormals_optimization{"CPU_DENORMALS_OPTIMIZATION"};
/// From which share of zeros on the weights of matrix products may be stored without them.
inline constexpr Property<float> sparse_weights_decompression_rate{"CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE"};

enum class LatencyThreadingMode { PER_NUMA_NODE = 0, PER_SOCKET = 1, PER_PLATFORM = 2 };
constexpr auto enumerator_names(LatencyThreadingMode) {
  return std::array{std::pair{LatencyThreadingMode::PER_NUMA_NODE, "PER_NUMA_NODE"},
                    std::pair{LatencyThreadingMode::PER_SOCKET, "PER_SOCKET"},
                    std::pair{LatencyThreadingMode::PER_PLATFORM, "PER_PLATFORM"}};
}
inline constexpr Property<LatencyThreadingMode> latency_threading_mode{"LATENCY_THREADING_MODE"};

}  // namespace intel_cpu

}  // namespace terroir
