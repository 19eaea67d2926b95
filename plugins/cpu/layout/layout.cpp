#include "plugins/cpu/layout/layout.hpp"

#include <cctype>
#include <limits>

#include "ir/base/error.hpp"

namespace terroir::cpu {
namespace {

/// Letters of the axes of an activation of `rank` axes: n, c, then the innermost of d, h, w.
std::string axis_letters(int rank) {
  switch (rank) {
    case 2:
      return "nc";
    case 3:
      return "ncw";
    case 4:
      return "nchw";
    case 5:
      return "ncdhw";
    default:
      return std::string("abcdefghijklmnop").substr(0, static_cast<size_t>(rank));
  }
}

}  // namespace

Layout Layout::plain(int rank) {
  TERROIR_ASSERT(rank >= 0 && rank <= kMaxRank, rank);
  Layout layout;
  layout.rank_ = static_cast<int8_t>(rank);
  for (int i = 0; i < rank; ++i) layout.order_[static_cast<size_t>(i)] = static_cast<int8_t>(i);
  return layout;
}

Layout Layout::channels_last(int rank) {
  TERROIR_ASSERT(rank >= 3, rank);
  Layout layout = plain(rank);
  for (int i = 1; i + 1 < rank; ++i) layout.order_[static_cast<size_t>(i)] = static_cast<int8_t>(i + 1);
  layout.order_[static_cast<size_t>(rank - 1)] = 1;
  return layout;
}

Layout Layout::blocked(int rank, int block) {
  TERROIR_ASSERT(rank >= 2 && block > 1, rank, block);
  Layout layout = plain(rank);
  layout.blocks_[0] = {1, static_cast<int16_t>(block)};
  return layout;
}

Layout Layout::renumbered(const std::vector<int>& axis) const {
  TERROIR_ASSERT(static_cast<int>(axis.size()) == rank_, axis.size(), int{rank_});
  Layout layout = *this;
  for (size_t i = 0; i < axis.size(); ++i) layout.order_[i] = static_cast<int8_t>(axis[static_cast<size_t>(order_[i])]);
  for (Block& block : layout.blocks_)
    if (block.size > 0) block.axis = static_cast<int8_t>(axis[static_cast<size_t>(block.axis)]);
  return layout;
}

int Layout::channel_block() const {
  const int size = blocks_[0].size;
  return rank_ >= 2 && size > 1 && *this == blocked(rank_, size) ? size : 0;
}

std::string Layout::name() const {
  const std::string letters = axis_letters(rank_);
  std::string text;
  for (int i = 0; i < rank_; ++i) {
    const int axis = order_[static_cast<size_t>(i)];
    char letter = letters[static_cast<size_t>(axis)];
    for (const Block& block : blocks_)
      if (block.size > 0 && block.axis == axis) letter = static_cast<char>(std::toupper(letter));
    text += letter;
  }
  for (const Block& block : blocks_)
    if (block.size > 0) text += std::to_string(block.size) + letters[static_cast<size_t>(block.axis)];
  return rank_ == 0 ? "scalar" : text;
}

ir::Dims TensorDesc::padded_dims() const {
  ir::Dims padded = dims;
  for (size_t axis = 0; axis < padded.size(); ++axis) {
    int64_t unit = 1;
    for (const Layout::Block& block : layout.blocks())
      if (block.size > 0 && block.axis == static_cast<int>(axis)) unit *= block.size;
    // Extents beyond all memory occur in tensors without elements.
    if (unit > 1 && padded[axis] <= std::numeric_limits<int64_t>::max() - unit)
      padded[axis] = (padded[axis] + unit - 1) / unit * unit;
  }
  return padded;
}

ir::Dims TensorDesc::outer_strides() const {
  ir::Dims outer = padded_dims();
  int64_t stride = 1;
  for (const Layout::Block& block : layout.blocks()) {
    if (block.size == 0) continue;
    outer[static_cast<size_t>(block.axis)] /= block.size;
    stride *= block.size;
  }
  ir::Dims strides(dims.size(), 0);
  for (int i = rank() - 1; i >= 0; --i) {
    const auto axis = static_cast<size_t>(layout.order()[static_cast<size_t>(i)]);
    strides[axis] = stride;
    // Wraps around only for tensors without elements, whose strides nobody takes.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(outer[axis]));
  }
  return strides;
}

namespace {

/// Axes as they lie in memory, outermost first: extents of 1 left out, an axis directly inside itself merged.
std::vector<std::pair<int, int64_t>> memory_order(const TensorDesc& desc) {
  ir::Dims outer = desc.dims;
  for (const Layout::Block& block : desc.layout.blocks())
    if (block.size > 0) outer[static_cast<size_t>(block.axis)] /= block.size;
  std::vector<std::pair<int, int64_t>> loops;
  const auto append = [&loops](int axis, int64_t extent) {
    if (extent == 1) return;
    if (!loops.empty() && loops.back().first == axis)
      loops.back().second *= extent;
    else
      loops.emplace_back(axis, extent);
  };
  for (int i = 0; i < desc.rank(); ++i) {
    const int axis = desc.layout.order()[static_cast<size_t>(i)];
    append(axis, outer[static_cast<size_t>(axis)]);
  }
  for (const Layout::Block& block : desc.layout.blocks())
    if (block.size > 0) append(block.axis, block.size);
  return loops;
}

}  // namespace

bool same_memory(const TensorDesc& a, const TensorDesc& b) {
  if (a.type != b.type || a.dims != b.dims) return false;
  if (a.layout == b.layout) return true;
  return !a.has_padding() && !b.has_padding() && memory_order(a) == memory_order(b);
}

std::string TensorDesc::to_string() const {
  std::string text = type.get_type_name() + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]:" + layout.name();
}

}  // namespace terroir::cpu
