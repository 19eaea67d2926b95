#pragma once
// What: ShuffleChannels (an axis seen as group x rest is transposed), DepthToSpace (channels become blocks of space)
// and SpaceToDepth (its inverse). Formula, with b = block_size and K spatial axes: blocks_first sees the channels as
// b^K x C, depth_first as C x b^K. Shapes: [N, C * b^K, D...] <-> [N, C, D * b...]. Edge cases: extents must divide.
// Source: operation pages ShuffleChannels-1, DepthToSpace-1, SpaceToDepth-1.
#include "ir/base/tensor_view.hpp"
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct ShuffleChannelsAttrs {
  int64_t axis = 1;
  int64_t group = 1;

  template <class V>
  void visit(V& v) {
    v("axis", axis);
    v("group", group);
  }
};

enum class DepthMode { blocks_first, depth_first };

struct DepthSpaceAttrs {
  int64_t block_size = 1;
  DepthMode mode = DepthMode::blocks_first;

  template <class V>
  void visit(V& v) {
    v("block_size", block_size);
    v("mode", mode, ir::Presence::required);
  }
};

/// Data seen with the extents `split`, its axes in another order.
struct SplitPermutation {
  ir::Dims split;
  std::vector<int64_t> order;
};
SplitPermutation shuffle_permutation(const ShuffleChannelsAttrs& attrs, const ir::Dims& data);
SplitPermutation depth_to_space_permutation(const DepthSpaceAttrs& attrs, const ir::Dims& data);
SplitPermutation space_to_depth_permutation(const DepthSpaceAttrs& attrs, const ir::Dims& data);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::DepthMode> {
  static constexpr std::string_view names[] = {"blocks_first", "depth_first"};
};
