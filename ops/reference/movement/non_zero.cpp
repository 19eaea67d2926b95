#include "ops/reference/movement/non_zero.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "ops/reference/parallel.hpp"
#include "ops/reference/results.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// Elements are counted and listed by block, shared out by chunk.
constexpr int64_t kBlock = 64, kChunk = 256 * kBlock;

/// Elements as unsigned words, of which those count that are not 0 under `mask`.
struct Words {
  const void* data;
  uint64_t mask;
  /// Bit i: whether element begin + i counts, of n <= kBlock. Adds to `found` how many do.
  uint64_t (*bits)(const Words& words, int64_t begin, int64_t n, int64_t& found);
};

template <class Word>
uint64_t bits_of(const Words& words, int64_t begin, int64_t n, int64_t& found) {
  const Word* const data = static_cast<const Word*>(words.data) + begin;
  const auto mask = static_cast<Word>(words.mask);
  uint8_t flags[kBlock] = {};
  if (n == kBlock)
    for (int64_t i = 0; i < kBlock; ++i) flags[i] = (data[i] & mask) != 0;
  else
    for (int64_t i = 0; i < n; ++i) flags[i] = (data[i] & mask) != 0;
  uint64_t bits = 0;
  for (int64_t i = 0; i < kBlock; i += 8) {
    // The product's top byte gathers the lowest bits of eight bytes, that of the first byte lowest.
    uint64_t eight = 0;
    std::memcpy(&eight, flags + i, sizeof(eight));
    bits |= (eight * 0x0102040810204080u >> 56) << i;
    found += static_cast<int64_t>(eight * 0x0101010101010101u >> 56);
  }
  return bits;
}

/// Types without words of their own, and those which may have no 0 at all, are looked at one by one: whether they count
/// is kept in `flags`.
Words words_of(const ir::TensorView& data, std::vector<uint8_t>& flags) {
  const bool real = data.type.is_real();
  if (data.type == element::string || data.type.bitwidth() < (real ? 16u : 8u)) {
    const std::vector<double> values = ir::to_reals(data);
    flags.resize(values.size());
    std::transform(values.begin(), values.end(), flags.begin(), [](double value) { return value != 0; });
    return {flags.data(), 0xff, &bits_of<uint8_t>};
  }
  // The sign does not count in -0.
  const uint64_t mask = ~uint64_t{0} >> (64 - 8 * data.type.size() + (real ? 1 : 0));
  switch (data.type.size()) {
    case 1:
      return {data.data, mask, &bits_of<uint8_t>};
    case 2:
      return {data.data, mask, &bits_of<uint16_t>};
    case 4:
      return {data.data, mask, &bits_of<uint32_t>};
    default:
      return {data.data, mask, &bits_of<uint64_t>};
  }
}

struct Found {
  std::vector<uint64_t> bits;   // of each block
  std::vector<int64_t> counts;  // of each chunk
  int64_t all() const { return std::reduce(counts.begin(), counts.end(), int64_t{0}); }
};

Found find(const Words& words, int64_t count) {
  const auto parts = [count](int64_t size) { return static_cast<size_t>((count + size - 1) / size); };
  Found found{std::vector<uint64_t>(parts(kBlock)), std::vector<int64_t>(parts(kChunk))};
  parallel_ranges(count, kChunk, [&](int64_t begin, int64_t end) {
    int64_t in_chunk = 0;
    for (int64_t at = begin; at < end; at += kBlock)
      found.bits[static_cast<size_t>(at / kBlock)] = words.bits(words, at, std::min(kBlock, end - at), in_chunk);
    found.counts[static_cast<size_t>(begin / kChunk)] = in_chunk;
  });
  return found;
}

/// Writes the columns of ascending elements: per run of elements in one row the coordinate within the row, and as often
/// those of the row.
template <class Index>
class Columns {
 public:
  /// The first column is `at` of `columns`.
  Columns(const ir::Dims& dims, Index* output, int64_t columns, int64_t at)
      : dims_(dims), position_(dims.size(), 0), output_(output), columns_(columns), at_(at) {}

  /// Elements first + i for the set bits i.
  void add(int64_t first, uint64_t bits) {
    while (bits != 0) {
      const int64_t lowest = std::countr_zero(bits);
      if (first + lowest >= row_ + dims_.back()) go_to_row_of(first + lowest);
      const int64_t offset = first - row_, room = dims_.back() - offset;
      uint64_t of_row = room < kBlock ? bits & ((uint64_t{1} << room) - 1) : bits;
      bits ^= of_row;
      Index* last = output_ + static_cast<int64_t>(dims_.size() - 1) * columns_ + at_;
      int64_t run = 0;
      for (; of_row != 0; of_row &= of_row - 1) last[run++] = static_cast<Index>(offset + std::countr_zero(of_row));
      for (size_t axis = 0; axis + 1 < dims_.size(); ++axis)
        std::fill_n(output_ + static_cast<int64_t>(axis) * columns_ + at_, run, static_cast<Index>(position_[axis]));
      at_ += run;
    }
  }

 private:
  void go_to_row_of(int64_t element) {
    int64_t rows = (element - row_) / dims_.back();
    row_ += rows * dims_.back();
    for (size_t axis = dims_.size() - 1; rows > 0 && axis-- > 0;) {
      position_[axis] += rows;
      rows = position_[axis] / dims_[axis];
      position_[axis] -= rows * dims_[axis];
    }
  }

  const ir::Dims& dims_;
  ir::Dims position_;  // of the row
  int64_t row_ = 0;    // its first element
  Index* output_;
  int64_t columns_, at_;
};

template <class Index>
void store_positions(const Found& found, const ir::Dims& dims, int64_t count, Index* output) {
  const int64_t columns = found.all();
  std::vector<int64_t> first(found.counts.size());
  std::exclusive_scan(found.counts.begin(), found.counts.end(), first.begin(), int64_t{0});
  parallel_ranges(count, kChunk, [&](int64_t begin, int64_t end) {
    Columns<Index> writer(dims, output, columns, first[static_cast<size_t>(begin / kChunk)]);
    for (int64_t at = begin; at < end; at += kBlock) writer.add(at, found.bits[static_cast<size_t>(at / kBlock)]);
  });
}

}  // namespace

int64_t count_non_zero(const ir::TensorView& data) {
  std::vector<uint8_t> flags;
  return find(words_of(data, flags), data.count()).all();
}

void non_zero(const ir::EvalContext& ctx) {
  const ir::TensorView& data = ctx.inputs[0];
  ir::MutableTensorView& output = ctx.outputs[0];
  const ir::Dims dims = data.dims.empty() ? ir::Dims{1} : data.dims;
  std::vector<uint8_t> flags;
  const Found found = find(words_of(data, flags), data.count());
  const ir::Dims wanted{static_cast<int64_t>(dims.size()), found.all()};
  if (output.count() < ir::element_count(wanted))
    throw_error(ErrorCode::shape_mismatch, "NonZero: the output has room for ", output.dims, ", but ", wanted,
                " is needed");
  settle(ctx, 0, wanted);
  if (output.type == element::i64)
    store_positions(found, dims, data.count(), output.as<int64_t>());
  else
    store_positions(found, dims, data.count(), output.as<int32_t>());
}

}  // namespace terroir::ops::reference
