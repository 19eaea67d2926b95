#pragma once
// What: Layout, how a tensor of logical axes lies in memory: an order of the outer axes and at most two inner blocks.
// TensorDesc = element type + logical shape + layout; padded extents, strides and bytes follow from it.
// Layouts: nchw, nhwc, nChw8c, nChw16c ... are values of this one type, for any rank (ncw, ncdhw).
// Formula: offset(i) = sum over outer axes a of stride[a] * (i[a] / block of a) + sum over blocks of (i[axis] % size) *
// inner stride. An extent that does not fill its last block is padded; the padding of an activation is always zero.
#include <array>
#include <cstdint>
#include <string>
#include <terroir/element_type.hpp>
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::cpu {

/// As many as operands of fused chains may vary along (TileOperand).
inline constexpr int kMaxRank = 16;

class Layout {
 public:
  struct Block {
    int8_t axis = -1;
    int16_t size = 0;
    bool operator==(const Block&) const = default;
  };

  /// Row-major of rank 0; also the value of "not decided".
  Layout() = default;
  /// Row-major over `rank` axes: nchw and its likes.
  static Layout plain(int rank);
  /// Axis 1 innermost: nhwc and its likes. Rank at least 3.
  static Layout channels_last(int rank);
  /// Axis 1 split into blocks of `block` channels, the block innermost: nChw16c and its likes. Rank at least 2.
  static Layout blocked(int rank, int block);

  int rank() const { return rank_; }
  /// Outer axes, outermost first.
  const std::array<int8_t, kMaxRank>& order() const { return order_; }
  const std::array<Block, 2>& blocks() const { return blocks_; }
  bool is_plain() const { return *this == plain(rank_); }
  bool is_channels_last() const { return rank_ >= 3 && *this == channels_last(rank_); }
  /// The same memory for a tensor whose axis `a` is called axis[a].
  Layout renumbered(const std::vector<int>& axis) const;
  /// Channels per block if this is Layout::blocked(rank, n); else 0.
  int channel_block() const;

  bool operator==(const Layout&) const = default;
  /// "nchw", "nhwc", "nChw16c", "ncw", "ncdhw"; axes of other ranks are a, b, c ... and blocks follow as in "aBc8b".
  std::string name() const;

 private:
  int8_t rank_ = 0;
  std::array<int8_t, kMaxRank> order_{};
  std::array<Block, 2> blocks_{};
};

struct TensorDesc {
  element::Type type;
  ir::Dims dims;
  Layout layout;

  bool operator==(const TensorDesc& other) const {
    return type == other.type && dims == other.dims && layout == other.layout;
  }
  int rank() const { return static_cast<int>(dims.size()); }
  /// Logical elements, padding not counted.
  int64_t count() const { return ir::element_count(dims); }
  /// Extents with every blocked axis rounded up to whole blocks.
  ir::Dims padded_dims() const;
  /// Elements in memory, padding counted.
  int64_t padded_count() const { return ir::element_count(padded_dims()); }
  size_t bytes() const { return ir::byte_size(type, padded_count()); }
  bool has_padding() const { return padded_dims() != dims; }
  /// Distance in elements between neighbours along each axis; of a blocked axis, between whole blocks.
  ir::Dims outer_strides() const;
  /// "f32[1,64,56,56]:nChw16c"
  std::string to_string() const;
};

/// Whether two layouts of one tensor are the same bytes, so that a reorder would copy without moving anything: nchw and
/// nChw16c of [1,64,1,1], nhwc and nChw16c of [1,16,7,7].
bool same_memory(const TensorDesc& a, const TensorDesc& b);

}  // namespace terroir::cpu
