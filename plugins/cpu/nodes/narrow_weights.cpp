#include "plugins/cpu/nodes/narrow_weights.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/error.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

struct NamedType {
  element::Type_t type;
  NarrowType narrow;
  const char* name;
};
constexpr NamedType kTypes[] = {{element::i8, NarrowType::i8, "i8"},
                                {element::u8, NarrowType::u8, "u8"},
                                {element::i4, NarrowType::i4, "i4"},
                                {element::u4, NarrowType::u4, "u4"}};

/// Panels of numbers, from a constant that may begin with the first output of a panel.
class PackNumbers {
 public:
  PackNumbers(const CompressedMatrix& matrix, const NarrowB& shape, int64_t panel)
      : matrix_(matrix), shape_(shape), panel_(panel) {}

  int64_t panels() const { return ceil_div(matrix_.outputs(), panel_); }
  int64_t first_output(int64_t index) const { return std::min(index * panel_, matrix_.outputs()); }

  /// Panels [begin, end); `numbers`: those of the outputs from `first` on, or of all, if these are no rows.
  void operator()(const uint8_t* numbers, int64_t first, uint8_t* packed, int64_t begin, int64_t end) const noexcept {
    for (int64_t index = begin; index < end; ++index) {
      uint8_t* const to = packed + index * shape_.panel_bytes(panel_);
      std::memset(to, 0, static_cast<size_t>(shape_.panel_bytes(panel_)));
      // Some rows of the panel at a time, so that they stay near while they are filled column by column.
      constexpr int64_t kRows = 64;
      for (int64_t row = 0; row < matrix_.inputs(); row += kRows)
        pack(numbers, first, index, row, std::min(row + kRows, matrix_.inputs()), to);
    }
  }

 private:
  void pack(const uint8_t* numbers, int64_t first, int64_t index, int64_t row, int64_t end,
            uint8_t* to) const noexcept {
    const int64_t column = index * panel_, columns = std::min(panel_, matrix_.outputs() - column);
    const int64_t row_bytes = shape_.row_bytes(panel_), step = matrix_.place(0, 1) - matrix_.place(0, 0);
    for (int64_t c = 0; c < columns; ++c) {
      int64_t place = matrix_.place(column + c - first, row);
      if (!is_half_byte(shape_.type)) {
        for (int64_t r = row; r < end; ++r, place += step) to[r * row_bytes + c] = numbers[place];
        continue;
      }
      const int64_t half = c / row_bytes, byte = c % row_bytes;
      for (int64_t r = row; r < end; ++r, place += step)
        to[r * row_bytes + byte] |= static_cast<uint8_t>((numbers[place / 2] >> (place % 2 * 4) & 0xf) << (half * 4));
    }
  }

  CompressedMatrix matrix_;
  NarrowB shape_;
  int64_t panel_;
};

Packing packing_of_numbers(const CompressedMatrix& matrix, const NarrowB& shape, int64_t panel) {
  const PackNumbers pack(matrix, shape, panel);
  Packing packing;
  packing.key = concat("narrow numbers ", panel, ' ', matrix.outputs(), 'x', matrix.groups(), 'x', matrix.group(),
                       matrix.in_rows() ? " rows" : "");
  packing.pieces = pack.panels();
  packing.bytes = static_cast<size_t>(packing.pieces * shape.panel_bytes(panel));
  const int64_t bits = matrix.inputs() * (is_half_byte(shape.type) ? 4 : 8);
  const bool reads_rows = matrix.in_rows() && bits % 8 == 0;
  if (reads_rows) {
    packing.row_bytes = static_cast<size_t>(bits / 8);
    packing.first_row = [pack](int64_t piece) { return pack.first_output(piece); };
  }
  packing.pack = [pack, reads_rows](const void* numbers, void* packed, int64_t begin, int64_t end) {
    pack(static_cast<const uint8_t*>(numbers), reads_rows ? pack.first_output(begin) : 0, static_cast<uint8_t*>(packed),
         begin, end);
  };
  return packing;
}

/// Scales or zeros; value(output, group).
template <class Value>
Packing packing_of_floats(const char* name, const CompressedMatrix& matrix, int64_t panel, Value value) {
  Packing packing;
  packing.key =
      concat("narrow ", name, ' ', panel, ' ', matrix.outputs(), 'x', matrix.groups(), matrix.in_rows() ? " rows" : "");
  packing.pieces = ceil_div(matrix.outputs(), panel);
  packing.bytes = static_cast<size_t>(packing.pieces * matrix.groups() * panel) * sizeof(float);
  packing.pack = [matrix, panel, value](const void*, void* packed, int64_t begin, int64_t end) {
    auto* to = static_cast<float*>(packed) + begin * matrix.groups() * panel;
    for (int64_t index = begin; index < end; ++index)
      for (int64_t group = 0; group < matrix.groups(); ++group)
        for (int64_t c = 0; c < panel; ++c, ++to) {
          const int64_t output = index * panel + c;
          *to = output < matrix.outputs() ? value(matrix, output, group) : 0;
        }
  };
  return packing;
}

}  // namespace

CompressedMatrix compressed_matrix(const NodeContext& context) {
  const auto matrix = compressed_matrix(context.node.attrs<CompressedAttrs>(), context.constants);
  TERROIR_ASSERT(matrix, context.node.describe());
  return *matrix;
}

NarrowWeights::NarrowWeights(const NodeContext& context, int64_t panel) : panel_(panel) {
  const CompressedMatrix matrix = compressed_matrix(context);
  const auto named = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const NamedType& one) { return element::Type(one.type) == matrix.type(); });
  shape_.type = named->narrow;
  shape_.groups = matrix.groups();
  shape_.group = matrix.group();
  numbers_ = context.weights.get(*context.constants[1], packing_of_numbers(matrix, shape_, panel));
  scales_ = context.weights.get(
      *context.constants[2],
      packing_of_floats("scales", matrix, panel, [](const CompressedMatrix& m, int64_t output, int64_t group) {
        return m.scale(output, group);
      }));
  if (matrix.has_zeros())
    zeros_ = context.weights.get(
        *context.constants[3],
        packing_of_floats("zeros", matrix, panel, [](const CompressedMatrix& m, int64_t output, int64_t group) {
          return m.zero(output, group);
        }));
}

NarrowB NarrowWeights::packed() const noexcept {
  NarrowB b = shape_;
  b.numbers = numbers_->as<uint8_t>();
  b.scales = scales_->as<float>();
  b.zeros = zeros_ ? zeros_->as<float>() : nullptr;
  return b;
}

std::span<const std::byte> NarrowWeights::numbers(int64_t begin, int64_t end) const noexcept {
  const int64_t bytes = shape_.panel_bytes(panel_);
  return {numbers_->as<std::byte>() + begin * bytes, static_cast<size_t>((end - begin) * bytes)};
}

const char* NarrowWeights::type_name() const noexcept { return kTypes[static_cast<int>(shape_.type)].name; }

}  // namespace terroir::cpu
