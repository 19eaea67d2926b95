#pragma once
// What: a convolution in bytes, or in numbers of bf16, which are two bytes each, as its kernel runs it: where the bytes
// of its sums lie, in which units its outputs are computed, and which outputs miss which taps.
#include <array>
#include <cstdint>
#include <vector>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu {

/// Blocks of outputs that are computed together.
struct ByteUnit {
  int64_t group, block, blocks;  // `block` counts those of all groups and phases
  int64_t lanes;                 // outputs of the last block
  int64_t result;                // block of the result where the first one belongs
  std::array<int64_t, 3> phase;
};

/// An axis of the results. Those of a transposed layer of stride s are s results of an ordinary one, whose kernel is
/// one of s parts of the own kernel, backwards: phase r of position m is result s * m + first + r, where there is such
/// a one.
struct ResultAxis {
  int64_t extent = 1, phases = 1, first = 0, kernel = 1;
  int64_t at(int64_t position, int64_t phase) const { return phases * position + first + phase; }
  /// Positions [begin, end) of so many whose result of a phase exists.
  struct Positions {
    int64_t begin, end;
  };
  Positions inside(int64_t phase, int64_t positions) const;
};

/// Outputs of an axis by the taps that are inside of the source for them.
struct TapClasses {
  struct Taps {
    int64_t begin, end;
    bool operator==(const Taps&) const = default;
  };
  std::vector<Taps> classes;
  std::vector<int32_t> of;  // by output
};

/// Numbers as kernels multiply them.
struct ByteForm {
  bool tiles;                             // 64 bytes of a position at once
  int64_t element = 1;                    // bytes of a number; in tiles, two are those of bf16
  int64_t block = kByteBlock;             // channels of a block
  int64_t most_blocks = kByteBlocksMost;  // of outputs, at once
  bool bf16() const { return tiles && element == kBf16Bytes; }
};
inline constexpr ByteForm kBf16Form{true, kBf16Bytes};
ByteForm form_of_bytes(const ByteConvKernels& kernels) noexcept;

struct ByteProblem {
  ByteProblem(const ConvProblem& problem, const ByteForm& form);
  /// Rows of a matrix by a matrix of weights: one row of positions, whose channels lie together.
  ByteProblem(int64_t rows, int64_t inputs, int64_t outputs, const ByteForm& form);

  int64_t blocks() const { return groups * group_blocks; }
  /// Of results: with those of all phases in one place.
  int64_t result_blocks() const { return blocks() / phases(); }
  /// Of a unit, in its group.
  int64_t first_output(const ByteUnit& unit) const {
    return (unit.result - unit.group * (group_blocks / phases())) * block;
  }
  int64_t phases() const { return results[0].phases * results[1].phases * results[2].phases; }
  int64_t outputs() const { return blocks() * block; }
  /// Bytes of the weights of a block for one step of its sums.
  int64_t quad() const { return block * kBytesAtOnce; }
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  /// Of the layer's own kernel.
  int64_t own_taps() const { return results[0].kernel * results[1].kernel * results[2].kernel; }
  /// Steps of four bytes for one output.
  int64_t depth() const { return spans() * span_steps(); }
  /// Bytes from element (d, h, w) of a source block to the next along each axis, and to the next block of channels, of
  /// halves of one on average.
  struct Strides {
    int64_t d, h, w, block;
  };
  /// [depth], from the first byte under tap 0. `in_place`: numbers of bf16 are read where they lie in blocks, if they
  /// can be.
  std::vector<int32_t> offsets(const Strides& strides, bool in_place = false) const;
  /// Whether the steps that a kernel takes at once lie in one block of bf16, without a copy.
  bool fits_blocks() const noexcept {
    const bool whole = group_inputs % kBf16Block == 0;
    return bf16 && !matrix && !padded && (groups == 1 || whole) && (taps() == 1 || whole);
  }

  /// Of strided outputs with one tap each, numbers of bf16: whether copies of the positions that are read, one behind
  /// the other, take less time than tiles of whole rows in their place. `copied`: the source is copied anyway.
  /// `whole_tiles`: a tile of few positions takes as long as any.
  bool gathers_well(bool copied, bool whole_tiles) const noexcept;
  /// So the positions of all rows are a line, whose sources are apart.
  void gather();

  /// Whether Winograd's algorithm, where kernels have it, takes fewer products.
  bool pays_by_tiles() const noexcept;
  void use_winograd() { winograd = true; }
  /// Steps of one of its numbers for one output.
  int64_t number_steps() const { return source_blocks * block * element / kBytesAtOnce; }
  WinogradTiles winograd_tiles(int64_t rows) const {
    return {(rows + 1) / 2, (axes[2].out + 1) / 2, source_blocks * block};
  }

  /// Where among the bytes of a sum, four to a step, the weights of a tap begin, one for each input of the group.
  int64_t first_byte(int64_t tap) const noexcept {
    return tap / taps_of_span * span_steps() * kBytesAtOnce + tap % taps_of_span * (depthwise ? element : position);
  }
  /// Taps whose bytes follow each other are a span: steps go through one after the other, the last ones beyond its end.
  int64_t spans() const noexcept { return taps() / taps_of_span; }
  /// The tap of the layer's own kernel that a tap is in a phase; -1: none.
  int64_t own_tap(int64_t tap, const std::array<int64_t, 3>& phase) const noexcept;
  int64_t span_steps() const noexcept;
  /// Bytes behind a span that the last steps read.
  int64_t overrun() const noexcept { return span_steps() * kBytesAtOnce - span_bytes(); }

  /// How many groups of so many channels are computed as one, whose weights are zero between them, so that both sides
  /// are whole blocks; 0: there is no such number.
  static int64_t groups_at_once(int64_t groups, int64_t inputs, int64_t outputs, const ByteForm& form);

  bool matrix;
  // Depthwise: one group, of whose outputs each reads the input of its own lane alone.
  bool depthwise;
  int64_t element;  // bytes of a number
  int64_t block;    // channels of a block
  bool bf16;        // the numbers are those of bf16
  int64_t batch, groups, group_inputs, group_outputs;
  int64_t row_inputs, row_outputs;  // inputs of an output, outputs that have the same ones
  bool transposed;
  std::array<ResultAxis, 3> results;  // d, h, w
  std::array<ConvAxis, 3> axes;       // the same, in positions; one row where each position reads its own alone
  std::array<ConvAxis, 3> sources;    // likewise, as the source has them
  int64_t source_blocks;              // of all groups
  int64_t group_blocks;               // of outputs, of all phases
  bool line;                          // its positions are one row, whose parts have windows of their own
  bool gathers = false;               // these are copies of positions that lie apart
  bool winograd = false;              // tiles of 2x2 outputs by Winograd's algorithm
  bool padded;                        // some windows reach beyond the source
  bool wide;         // by the kernels that take 64 bytes at once, from copies with channels side by side
  int64_t position;  // bytes from one position to the next there
  int64_t taps_of_span;
  std::vector<ByteUnit> units;

 private:
  int64_t span_bytes() const noexcept;
};

TapClasses tap_classes(const ConvAxis& axis);

}  // namespace terroir::cpu
