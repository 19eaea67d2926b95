#pragma once
// What: how far results of f16 and bf16 models may lie apart when both are right.
//
// The expected values of such cases come from references that round every intermediate result to 16 bits, and some from
// numbers that were rounded to 16 bits only when they were stored; our devices compute in f32 between inputs and
// outputs. Rounding within a computation has the effect of slightly different operands (backward error analysis), and
// so has that of what is stored. Both are measured: the interpreter runs the case again and again with every 16-bit
// number of the model (inputs, constants, those of bodies too) moved up or down by a unit of its last place or left
// alone. Gates of recurrent layers that are far from zero hide such moves; there each operation behind the gates adds a
// unit. (A unit, not a half: bf16 of the recorded references is cut off where its last bit is even. That is also why
// computing the cells in 16 bits does not give their values: rounded to the nearest, they lie further away than those
// of f32.) An element may be as far from the expected one as that moves it, beyond the tolerance of the case. Limits:
// no random numbers; a result whose shape or integers change explains nothing. Source: Higham, Accuracy and Stability
// of Numerical Algorithms, section 1.5.
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"
#include "tests/support/compare.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// Per output element, the largest change that rounding makes.
class SixteenBitSpread {
 public:
  /// `expected`: the recorded outputs. f16 numbers of which all are bf16 numbers, too, were computed in bf16: then that
  /// is the type.
  SixteenBitSpread(const ir::Graph& graph, std::span<const HostTensor> inputs, std::span<const HostTensor> expected);

  /// Whether the moves explain what is beyond the tolerance between the expected output `index` and `actual`.
  bool explains(size_t index, const HostTensor& actual, Tolerance tolerance, int64_t compared) const;

 private:
  void widen(std::span<const HostTensor> base, std::span<const HostTensor> other);

  std::span<const HostTensor> expected_;
  std::vector<std::vector<double>> spread_;  // by output; empty where the moves say nothing
};

/// Whether there are outputs of f16 or bf16.
bool has_sixteen_bit_results(const ir::Graph& graph);

}  // namespace terroir::test
