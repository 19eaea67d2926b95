#pragma once
// What: Reverse (axes are read backwards; input 1: their numbers, or a boolean mask), ReverseSequence (of each batch
// item the first seq_lengths elements), Roll (elements move by shift along axes and come in again at the front).
// Shapes: the output is as data. Edge cases: Roll adds up shifts of one axis; one shift serves all axes; a length
// outside of [0, extent] is an error at run time; lengths may be floating-point, and are truncated then.
// Source: operation pages Reverse-1, ReverseSequence-1, Roll-7.
#include "ir/base/tensor_view.hpp"
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

enum class ReverseMode { index, mask };

struct ReverseAttrs {
  ReverseMode mode = ReverseMode::index;

  template <class V>
  void visit(V& v) {
    v("mode", mode, ir::Presence::required);
  }
};

struct ReverseSequenceAttrs {
  int64_t batch_axis = 0;
  int64_t seq_axis = 1;

  template <class V>
  void visit(V& v) {
    v("batch_axis", batch_axis);
    v("seq_axis", seq_axis);
  }
};

/// Which axes of a tensor of this rank are reversed, from the values of input 1.
std::vector<bool> reversed_axes(ReverseMode mode, const std::vector<int64_t>& given, int64_t rank);

/// By axis, how far elements move forward, in [0, extent). From the values of inputs 1 and 2.
std::vector<int64_t> roll_shifts(std::vector<int64_t> shifts, std::vector<int64_t> axes, const ir::Dims& data);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::ReverseMode> {
  static constexpr std::string_view names[] = {"index", "mask"};
};
