// The OpenVINO header of this name: the words for tensors of an NPU, which is no device of Terroir's.
#pragma once

#include <array>
#include <utility>

#include "openvino/core/namespace.hpp"
#include "openvino/runtime/properties.hpp"

namespace terroir::intel_npu {

using detail::operator<<;
using detail::operator>>;

using npu_handle_param = void*;

enum class MemType { L0_INTERNAL_BUF = 0, SHARED_BUF = 1 };
constexpr auto enumerator_names(MemType) {
  return std::array{std::pair{MemType::L0_INTERNAL_BUF, "L0_INTERNAL_BUF"},
                    std::pair{MemType::SHARED_BUF, "SHARED_BUF"}};
}
enum class TensorType { INPUT = 0, OUTPUT = 1, BINDED = 2 };
constexpr auto enumerator_names(TensorType) {
  return std::array{std::pair{TensorType::INPUT, "INPUT"}, std::pair{TensorType::OUTPUT, "OUTPUT"},
                    std::pair{TensorType::BINDED, "BINDED"}};
}

inline constexpr Property<MemType> mem_type{"MEM_TYPE"};
inline constexpr Property<npu_handle_param> mem_handle{"MEM_HANDLE"};
inline constexpr Property<npu_handle_param> l0_context{"L0_CONTEXT"};
inline constexpr Property<TensorType> tensor_type{"TENSOR_TYPE"};

}  // namespace terroir::intel_npu
