// The OpenVINO header of this name: the properties of an NPU, which is no device of Terroir's, so that programs which
// set them where there is one compile.
#pragma once

#include <cstdint>
#include <string>

#include "openvino/core/namespace.hpp"
#include "openvino/runtime/properties.hpp"

namespace terroir::intel_npu {

inline constexpr Property<uint64_t, PropertyMutability::RO> device_alloc_mem_size{"NPU_DEVICE_ALLOC_MEM_SIZE"};
inline constexpr Property<uint64_t, PropertyMutability::RO> device_total_mem_size{"NPU_DEVICE_TOTAL_MEM_SIZE"};
inline constexpr Property<uint32_t, PropertyMutability::RO> driver_version{"NPU_DRIVER_VERSION"};
inline constexpr Property<uint32_t, PropertyMutability::RO> compiler_version{"NPU_COMPILER_VERSION"};
inline constexpr Property<std::string> compilation_mode_params{"NPU_COMPILATION_MODE_PARAMS"};
inline constexpr Property<bool> compiler_dynamic_quantization{"NPU_COMPILER_DYNAMIC_QUANTIZATION"};
inline constexpr Property<bool> turbo{"NPU_TURBO"};
inline constexpr Property<int64_t> tiles{"NPU_TILES"};
inline constexpr Property<int64_t> max_tiles{"NPU_MAX_TILES"};
inline constexpr Property<bool> bypass_umd_caching{"NPU_BYPASS_UMD_CACHING"};
inline constexpr Property<bool> defer_weights_load{"NPU_DEFER_WEIGHTS_LOAD"};

}  // namespace terroir::intel_npu
