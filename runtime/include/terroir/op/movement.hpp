// Operations that move elements or change shapes, as code makes them.
#pragma once

#include <string>
#include <vector>

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace util {

/// Both versions of Pad.
class PadBase : public Node {
  TERROIR_LAYER_BASE(Node, PadBase)
  PadMode get_pad_mode() const { return detail::attribute<PadMode>(*this, "pad_mode"); }
  void set_pad_mode(PadMode pad_mode) { detail::set_attribute(*this, "pad_mode", pad_mode); }
  /// Empty if the input is no Constant.
  const CoordinateDiff get_pads_begin() const { return detail::constant_input<std::ptrdiff_t>(*this, 1); }
  const CoordinateDiff get_pads_end() const { return detail::constant_input<std::ptrdiff_t>(*this, 2); }
};

}  // namespace util

namespace v0 {

class Concat : public Node {
  TERROIR_LAYER(Concat, "Concat", "opset1")
  Concat(const OutputVector& values, int64_t axis) : Concat(values, AnyMap{{"axis", axis}}) {}
  Concat(const NodeVector& values, int64_t axis) : Concat(OutputVector(values.begin(), values.end()), axis) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
};

class DepthToSpace : public Node {
  TERROIR_LAYER(DepthToSpace, "DepthToSpace", "opset1")
  enum class DepthToSpaceMode { BLOCKS_FIRST, DEPTH_FIRST };
  friend detail::Names<2> spellings(DepthToSpaceMode) { return {"blocks_first", "depth_first"}; }
  DepthToSpace(const Output<Node>& data, DepthToSpaceMode mode, size_t block_size = 1)
      : DepthToSpace(OutputVector{data},
                     {{"mode", detail::spelling(mode)}, {"block_size", static_cast<int64_t>(block_size)}}) {}
  size_t get_block_size() const { return detail::attribute<size_t>(*this, "block_size"); }
  void set_block_size(size_t block_size) { detail::set_attribute(*this, "block_size", block_size); }
  DepthToSpaceMode get_mode() const { return detail::attribute<DepthToSpaceMode>(*this, "mode"); }
  void set_mode(DepthToSpaceMode mode) { detail::set_attribute(*this, "mode", mode); }
};

class ShapeOf : public util::ShapeOfBase {
  TERROIR_LAYER_OF(util::ShapeOfBase, ShapeOf, "ShapeOf", "opset1")
  explicit ShapeOf(const Output<Node>& data) : ShapeOf(OutputVector{data}) {}
};

class ShuffleChannels : public Node {
  TERROIR_LAYER(ShuffleChannels, "ShuffleChannels", "opset1")
  explicit ShuffleChannels(const Output<Node>& data, int64_t axis = 1, int64_t group = 1)
      : ShuffleChannels(OutputVector{data}, {{"axis", axis}, {"group", group}}) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
  int64_t get_group() const { return detail::attribute<int64_t>(*this, "group"); }
  void set_group(int64_t group) { detail::set_attribute(*this, "group", group); }
};

class SpaceToDepth : public Node {
  TERROIR_LAYER(SpaceToDepth, "SpaceToDepth", "opset1")
  enum class SpaceToDepthMode { BLOCKS_FIRST, DEPTH_FIRST };
  friend detail::Names<2> spellings(SpaceToDepthMode) { return {"blocks_first", "depth_first"}; }
  SpaceToDepth(const Output<Node>& data, SpaceToDepthMode mode, size_t block_size = 1)
      : SpaceToDepth(OutputVector{data},
                     {{"mode", detail::spelling(mode)}, {"block_size", static_cast<int64_t>(block_size)}}) {}
  size_t get_block_size() const { return detail::attribute<size_t>(*this, "block_size"); }
  void set_block_size(size_t block_size) { detail::set_attribute(*this, "block_size", block_size); }
  SpaceToDepthMode get_mode() const { return detail::attribute<SpaceToDepthMode>(*this, "mode"); }
  void set_mode(SpaceToDepthMode mode) { detail::set_attribute(*this, "mode", mode); }
};

class Squeeze : public util::SqueezeBase {
  TERROIR_LAYER_OF(util::SqueezeBase, Squeeze, "Squeeze", "opset1")
  explicit Squeeze(const Output<Node>& data) : Squeeze(OutputVector{data}) {}
  Squeeze(const Output<Node>& data, const Output<Node>& axes) : Squeeze(OutputVector{data, axes}) {}
};

class Tile : public Node {
  TERROIR_LAYER(Tile, "Tile", "opset1")
  Tile(const Output<Node>& data, const Output<Node>& repeats) : Tile(OutputVector{data, repeats}) {}
};

class Unsqueeze : public Node {
  TERROIR_LAYER(Unsqueeze, "Unsqueeze", "opset1")
  Unsqueeze(const Output<Node>& data, const Output<Node>& axes) : Unsqueeze(OutputVector{data, axes}) {}
};

}  // namespace v0

namespace v1 {

class Broadcast : public util::BroadcastBase {
  TERROIR_LAYER_OF(util::BroadcastBase, Broadcast, "Broadcast", "opset1")
  Broadcast(const Output<Node>& data, const Output<Node>& target_shape,
            const AutoBroadcastSpec& mode = AutoBroadcastType::NUMPY)
      : Broadcast(OutputVector{data, target_shape}, {{"mode", mode.m_type == AutoBroadcastType::PDPD    ? "pdpd"
                                                              : mode.m_type == AutoBroadcastType::NUMPY ? "numpy"
                                                                                                        : "none"}}) {}
  Broadcast(const Output<Node>& data, const Output<Node>& target_shape, const Output<Node>& axes_mapping)
      : Broadcast(OutputVector{data, target_shape, axes_mapping}, {{"mode", "explicit"}}) {}
  const AutoBroadcastSpec get_broadcast_spec() const {
    return detail::enumerator_or<AutoBroadcastType>(*this, "mode", AutoBroadcastType::NONE);
  }
  void set_broadcast_spec(const AutoBroadcastSpec& spec) { detail::set_attribute(*this, "mode", spec.m_type); }
};

class Pad : public util::PadBase {
  TERROIR_LAYER_OF(util::PadBase, Pad, "Pad", "opset1")
  Pad(const Output<Node>& data, const Output<Node>& pads_begin, const Output<Node>& pads_end, PadMode mode)
      : Pad(OutputVector{data, pads_begin, pads_end}, {{"pad_mode", detail::spelling(mode)}}) {}
  Pad(const Output<Node>& data, const Output<Node>& pads_begin, const Output<Node>& pads_end,
      const Output<Node>& pad_value, PadMode mode)
      : Pad(OutputVector{data, pads_begin, pads_end, pad_value}, {{"pad_mode", detail::spelling(mode)}}) {}
};

class Reshape : public Node {
  TERROIR_LAYER(Reshape, "Reshape", "opset1")
  Reshape(const Output<Node>& data, const Output<Node>& pattern, bool special_zero)
      : Reshape(OutputVector{data, pattern}, {{"special_zero", special_zero}}) {}
  bool get_special_zero() const { return detail::attribute<bool>(*this, "special_zero"); }
  void set_special_zero(bool special_zero) { detail::set_attribute(*this, "special_zero", special_zero); }
};

class Reverse : public Node {
  TERROIR_LAYER(Reverse, "Reverse", "opset1")
  enum class Mode { INDEX, MASK };
  friend detail::Names<2> spellings(Mode) { return {"index", "mask"}; }
  Reverse(const Output<Node>& data, const Output<Node>& axes, Mode mode)
      : Reverse(OutputVector{data, axes}, {{"mode", detail::spelling(mode)}}) {}
  Reverse(const Output<Node>& data, const Output<Node>& axes, const std::string& mode)
      : Reverse(OutputVector{data, axes}, {{"mode", mode}}) {}
  Mode get_mode() const { return detail::attribute<Mode>(*this, "mode"); }
  void set_mode(Mode mode) { detail::set_attribute(*this, "mode", mode); }
};

class Split : public Node {
  TERROIR_LAYER(Split, "Split", "opset1")
  Split(const Output<Node>& data, const Output<Node>& axis, size_t num_splits)
      : Split(OutputVector{data, axis}, {{"num_splits", static_cast<int64_t>(num_splits)}}) {}
  size_t get_num_splits() const { return detail::attribute<size_t>(*this, "num_splits"); }
  void set_num_splits(size_t num_splits) { detail::set_attribute(*this, "num_splits", num_splits); }
};

class StridedSlice : public Node {
  TERROIR_LAYER(StridedSlice, "StridedSlice", "opset1")
  StridedSlice(const Output<Node>& data, const Output<Node>& begin, const Output<Node>& end,
               const Output<Node>& strides, const std::vector<int64_t>& begin_mask,
               const std::vector<int64_t>& end_mask, const std::vector<int64_t>& new_axis_mask = {},
               const std::vector<int64_t>& shrink_axis_mask = {}, const std::vector<int64_t>& ellipsis_mask = {})
      : StridedSlice(OutputVector{data, begin, end, strides},
                     masks(begin_mask, end_mask, new_axis_mask, shrink_axis_mask, ellipsis_mask)) {}
  StridedSlice(const Output<Node>& data, const Output<Node>& begin, const Output<Node>& end,
               const std::vector<int64_t>& begin_mask, const std::vector<int64_t>& end_mask,
               const std::vector<int64_t>& new_axis_mask = {}, const std::vector<int64_t>& shrink_axis_mask = {},
               const std::vector<int64_t>& ellipsis_mask = {})
      : StridedSlice(OutputVector{data, begin, end},
                     masks(begin_mask, end_mask, new_axis_mask, shrink_axis_mask, ellipsis_mask)) {}
  const std::vector<int64_t> get_begin_mask() const {
    return detail::attribute<std::vector<int64_t>>(*this, "begin_mask");
  }
  void set_begin_mask(const std::vector<int64_t>& begin_mask) {
    detail::set_attribute(*this, "begin_mask", begin_mask);
  }
  const std::vector<int64_t> get_end_mask() const { return detail::attribute<std::vector<int64_t>>(*this, "end_mask"); }
  void set_end_mask(const std::vector<int64_t>& end_mask) { detail::set_attribute(*this, "end_mask", end_mask); }
  const std::vector<int64_t> get_new_axis_mask() const {
    return detail::attribute<std::vector<int64_t>>(*this, "new_axis_mask");
  }
  void set_new_axis_mask(const std::vector<int64_t>& new_axis_mask) {
    detail::set_attribute(*this, "new_axis_mask", new_axis_mask);
  }
  const std::vector<int64_t> get_shrink_axis_mask() const {
    return detail::attribute<std::vector<int64_t>>(*this, "shrink_axis_mask");
  }
  void set_shrink_axis_mask(const std::vector<int64_t>& shrink_axis_mask) {
    detail::set_attribute(*this, "shrink_axis_mask", shrink_axis_mask);
  }
  const std::vector<int64_t> get_ellipsis_mask() const {
    return detail::attribute<std::vector<int64_t>>(*this, "ellipsis_mask");
  }
  void set_ellipsis_mask_mask(const std::vector<int64_t>& ellipsis_mask) {
    detail::set_attribute(*this, "ellipsis_mask", ellipsis_mask);
  }

 private:
  static AnyMap masks(const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                      const std::vector<int64_t>& new_axis, const std::vector<int64_t>& shrink_axis,
                      const std::vector<int64_t>& ellipsis) {
    return {{"begin_mask", begin},
            {"end_mask", end},
            {"new_axis_mask", new_axis},
            {"shrink_axis_mask", shrink_axis},
            {"ellipsis_mask", ellipsis}};
  }
};

class Transpose : public Node {
  TERROIR_LAYER(Transpose, "Transpose", "opset1")
  Transpose(const Output<Node>& data, const Output<Node>& order) : Transpose(OutputVector{data, order}) {}
};

class VariadicSplit : public Node {
  TERROIR_LAYER(VariadicSplit, "VariadicSplit", "opset1")
  VariadicSplit(const Output<Node>& data, const Output<Node>& axis, const Output<Node>& split_lengths)
      : VariadicSplit(OutputVector{data, axis, split_lengths}) {}
};

class BatchToSpace : public Node {
  TERROIR_LAYER(BatchToSpace, "BatchToSpace", "opset2")
  BatchToSpace(const Output<Node>& data, const Output<Node>& block_shape, const Output<Node>& crops_begin,
               const Output<Node>& crops_end)
      : BatchToSpace(OutputVector{data, block_shape, crops_begin, crops_end}) {}
};

class SpaceToBatch : public Node {
  TERROIR_LAYER(SpaceToBatch, "SpaceToBatch", "opset2")
  SpaceToBatch(const Output<Node>& data, const Output<Node>& block_shape, const Output<Node>& pads_begin,
               const Output<Node>& pads_end)
      : SpaceToBatch(OutputVector{data, block_shape, pads_begin, pads_end}) {}
};

}  // namespace v1

namespace v3 {

class Broadcast : public util::BroadcastBase {
  TERROIR_LAYER_OF(util::BroadcastBase, Broadcast, "Broadcast", "opset3")
  Broadcast(const Output<Node>& data, const Output<Node>& target_shape,
            const BroadcastModeSpec& mode = BroadcastType::NUMPY)
      : Broadcast(OutputVector{data, target_shape}, {{"mode", detail::spelling(mode.m_type)}}) {}
  Broadcast(const Output<Node>& data, const Output<Node>& target_shape, const Output<Node>& axes_mapping,
            const BroadcastModeSpec& mode = BroadcastType::EXPLICIT)
      : Broadcast(OutputVector{data, target_shape, axes_mapping}, {{"mode", detail::spelling(mode.m_type)}}) {}
  const BroadcastModeSpec get_broadcast_spec() const {
    return detail::enumerator_or<BroadcastType>(*this, "mode", BroadcastType::NONE);
  }
  void set_broadcast_spec(const BroadcastModeSpec& spec) { detail::set_attribute(*this, "mode", spec.m_type); }
};

class ShapeOf : public util::ShapeOfBase {
  TERROIR_LAYER_OF(util::ShapeOfBase, ShapeOf, "ShapeOf", "opset3")
  explicit ShapeOf(const Output<Node>& data, const element::Type& output_type = element::i64)
      : ShapeOf(OutputVector{data}, {{"output_type", output_type}}) {}
  const element::Type get_output_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type(const element::Type& output_type) { detail::set_attribute(*this, "output_type", output_type); }
};

class ExtractImagePatches : public Node {
  TERROIR_LAYER(ExtractImagePatches, "ExtractImagePatches", "opset3")
  ExtractImagePatches(const Output<Node>& image, const Shape& sizes, const Strides& strides, const Shape& rates,
                      PadType auto_pad)
      : ExtractImagePatches(
            OutputVector{image},
            {{"sizes", sizes}, {"strides", strides}, {"rates", rates}, {"auto_pad", detail::spelling(auto_pad)}}) {}
  const Shape get_sizes() const { return detail::attribute<Shape>(*this, "sizes"); }
  void set_sizes(const Shape& sizes) { detail::set_attribute(*this, "sizes", sizes); }
  const Strides get_strides() const { return detail::attribute<Strides>(*this, "strides"); }
  void set_strides(const Strides& strides) { detail::set_attribute(*this, "strides", strides); }
  const Shape get_rates() const { return detail::attribute<Shape>(*this, "rates"); }
  void set_rates(const Shape& rates) { detail::set_attribute(*this, "rates", rates); }
  PadType get_auto_pad() const { return detail::attribute<PadType>(*this, "auto_pad"); }
  void set_auto_pad(PadType auto_pad) { detail::set_attribute(*this, "auto_pad", auto_pad); }
};

}  // namespace v3

namespace v7 {

class Roll : public Node {
  TERROIR_LAYER(Roll, "Roll", "opset7")
  Roll(const Output<Node>& data, const Output<Node>& shift, const Output<Node>& axes)
      : Roll(OutputVector{data, shift, axes}) {}
};

}  // namespace v7

namespace v8 {

class Slice : public Node {
  TERROIR_LAYER(Slice, "Slice", "opset8")
  Slice(const Output<Node>& data, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step)
      : Slice(OutputVector{data, start, stop, step}) {}
  Slice(const Output<Node>& data, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step,
        const Output<Node>& axes)
      : Slice(OutputVector{data, start, stop, step, axes}) {}
};

}  // namespace v8

namespace v12 {

class Pad : public util::PadBase {
  TERROIR_LAYER_OF(util::PadBase, Pad, "Pad", "opset12")
  Pad(const Output<Node>& data, const Output<Node>& pads_begin, const Output<Node>& pads_end, PadMode mode)
      : Pad(OutputVector{data, pads_begin, pads_end}, {{"pad_mode", detail::spelling(mode)}}) {}
  Pad(const Output<Node>& data, const Output<Node>& pads_begin, const Output<Node>& pads_end,
      const Output<Node>& pad_value, PadMode mode)
      : Pad(OutputVector{data, pads_begin, pads_end, pad_value}, {{"pad_mode", detail::spelling(mode)}}) {}
};

}  // namespace v12

namespace v15 {

class Squeeze : public util::SqueezeBase {
  TERROIR_LAYER_OF(util::SqueezeBase, Squeeze, "Squeeze", "opset15")
  explicit Squeeze(const Output<Node>& data, bool allow_axis_skip = false)
      : Squeeze(OutputVector{data}, {{"allow_axis_skip", allow_axis_skip}}) {}
  Squeeze(const Output<Node>& data, const Output<Node>& axes, bool allow_axis_skip = false)
      : Squeeze(OutputVector{data, axes}, {{"allow_axis_skip", allow_axis_skip}}) {}
  bool get_allow_axis_skip() const { return detail::attribute<bool>(*this, "allow_axis_skip"); }
};

/// Texts of their bytes.
class StringTensorPack : public Node {
  TERROIR_LAYER(StringTensorPack, "StringTensorPack", "opset15")
  StringTensorPack(const Output<Node>& begins, const Output<Node>& ends, const Output<Node>& symbols)
      : StringTensorPack(OutputVector{begins, ends, symbols}) {}
};

class Col2Im : public Node {
  TERROIR_LAYER(Col2Im, "Col2Im", "opset15")
  Col2Im(const Output<Node>& data, const Output<Node>& output_size, const Output<Node>& kernel_size,
         const Strides& strides = Strides{1, 1}, const Strides& dilations = Strides{1, 1},
         const Shape& pads_begin = Shape{0, 0}, const Shape& pads_end = Shape{0, 0})
      : Col2Im(OutputVector{data, output_size, kernel_size},
               {{"strides", strides}, {"dilations", dilations}, {"pads_begin", pads_begin}, {"pads_end", pads_end}}) {}
  const Strides get_strides() const { return detail::attribute<Strides>(*this, "strides"); }
  const Strides get_dilations() const { return detail::attribute<Strides>(*this, "dilations"); }
  const Shape get_pads_begin() const { return detail::attribute<Shape>(*this, "pads_begin"); }
  const Shape get_pads_end() const { return detail::attribute<Shape>(*this, "pads_end"); }
};

class SliceScatter : public Node {
  TERROIR_LAYER(SliceScatter, "SliceScatter", "opset15")
  SliceScatter(const Output<Node>& data, const Output<Node>& updates, const Output<Node>& start,
               const Output<Node>& stop, const Output<Node>& step)
      : SliceScatter(OutputVector{data, updates, start, stop, step}) {}
  SliceScatter(const Output<Node>& data, const Output<Node>& updates, const Output<Node>& start,
               const Output<Node>& stop, const Output<Node>& step, const Output<Node>& axes)
      : SliceScatter(OutputVector{data, updates, start, stop, step, axes}) {}
};

}  // namespace v15
}  // namespace op
}  // namespace terroir
