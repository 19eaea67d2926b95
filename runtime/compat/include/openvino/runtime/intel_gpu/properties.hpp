// The OpenVINO header of this name: the properties of a GPU, which is no device of Terroir's, so that programs which
// set them where there is one compile.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "openvino/core/namespace.hpp"
#include "openvino/runtime/properties.hpp"

namespace terroir::intel_gpu {

inline constexpr Property<uint64_t, PropertyMutability::RO> device_total_mem_size{"GPU_DEVICE_TOTAL_MEM_SIZE"};
inline constexpr Property<std::string, PropertyMutability::RO> uarch_version{"GPU_UARCH_VERSION"};
inline constexpr Property<int32_t, PropertyMutability::RO> execution_units_count{"GPU_EXECUTION_UNITS_COUNT"};
inline constexpr Property<std::map<std::string, uint64_t>, PropertyMutability::RO> memory_statistics{
    "GPU_MEMORY_STATISTICS"};
inline constexpr Property<bool> enable_loop_unrolling{"GPU_ENABLE_LOOP_UNROLLING"};
inline constexpr Property<bool> disable_winograd_convolution{"GPU_DISABLE_WINOGRAD_CONVOLUTION"};

namespace hint {

using ThrottleLevel = terroir::hint::Priority;
inline constexpr Property<ThrottleLevel> queue_throttle{"GPU_QUEUE_THROTTLE"};
inline constexpr Property<terroir::hint::Priority> queue_priority{"GPU_QUEUE_PRIORITY"};
inline constexpr Property<terroir::hint::Priority> host_task_priority{"GPU_HOST_TASK_PRIORITY"};
inline constexpr Property<int64_t> available_device_mem{"AVAILABLE_DEVICE_MEM_SIZE"};
inline constexpr Property<bool> enable_sdpa_optimization{"GPU_ENABLE_SDPA_OPTIMIZATION"};
inline constexpr Property<bool> enable_kernels_reuse{"GPU_ENABLE_KERNELS_REUSE"};

}  // namespace hint

namespace memory_type {
inline constexpr auto surface = "GPU_SURFACE";
inline constexpr auto buffer = "GPU_BUFFER";
}  // namespace memory_type

namespace capability {
inline constexpr auto HW_MATMUL = "GPU_HW_MATMUL";
}  // namespace capability

}  // namespace terroir::intel_gpu
