#pragma once
// What: indices that a node reads at run time, i32 or i64.
#include <algorithm>
#include <cstdint>

#include "ir/base/error.hpp"
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

inline bool is_index_type(element::Type type) { return type == element::i32 || type == element::i64; }
inline Reject no_index_type() { return {"indices that are neither i32 nor i64"}; }

/// fn(pointer to the indices), typed.
template <class Fn>
void with_indices(element::Type type, const void* indices, Fn&& fn) {
  if (type == element::i64)
    fn(static_cast<const int64_t*>(indices));
  else
    fn(static_cast<const int32_t*>(indices));
}

[[noreturn]] inline void throw_out_of_range(int64_t index, int64_t extent) {
  throw_error(ErrorCode::invalid_argument, "index ", index, " is out of range [", -extent, ", ", extent - 1, "]");
}

/// The index counted from the front. Exception when it is outside of the axis.
inline int64_t checked_position(int64_t index, int64_t extent) {
  const int64_t position = index < 0 ? index + extent : index;
  if (static_cast<uint64_t>(position) >= static_cast<uint64_t>(extent)) throw_out_of_range(index, extent);
  return position;
}

/// The constant axis at input `input`, counted from the front.
inline std::optional<size_t> known_axis(const NodeContext& context, size_t input) {
  if (!context.constants[input]) return std::nullopt;
  const int64_t axis = ir::to_integers(context.constants[input]->view).at(0);
  return static_cast<size_t>(axis < 0 ? axis + context.inputs[0].rank() : axis);
}

}  // namespace terroir::cpu
