#pragma once
// What: a new axis of `depth` places, of which the one an index names is on.
// Formula: y[..., k, ...] = indices[...] == k ? on_value : off_value.
// Shapes: inputs: indices, depth (one integer), on_value and off_value (one element each); the output has the shape of
// the indices with depth at `axis`, which counts the output's axes.
// Types: integer indices; any type of whole bytes but string for the values.
// Edge cases: an index outside of 0..depth-1 switches nothing on; in OneHot-16 with negative_indices_mode=normalize
// -depth..-1 count from the end. Source: operation pages OneHot-1, OneHot-16.
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct OneHotAttrs {
  int64_t axis = -1;

  template <class V>
  void visit(V& v) {
    v("axis", axis, ir::Presence::required);
  }
};

// The page and the code of the peer spell the first mode differently.
enum class NegativeIndices { ignore_negative, normalize, ignore_negative_dash };

struct OneHot16Attrs : OneHotAttrs {
  NegativeIndices negative_indices_mode = NegativeIndices::ignore_negative;

  template <class V>
  void visit(V& v) {
    OneHotAttrs::visit(v);
    v("negative_indices_mode", negative_indices_mode);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::NegativeIndices> {
  static constexpr std::string_view names[] = {"ignore_negative", "normalize", "ignore-negative"};
};
