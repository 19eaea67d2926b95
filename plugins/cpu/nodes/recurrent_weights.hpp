#pragma once
// What: the operands of a recurrent layer in the order its steps read them.
// How: hidden units are cut into blocks of one panel of the matrix product. The panels of all gates of a block lie side
//   by side, so that who computes a block reads one run of weights and finds the sums of all gates of a unit together:
//   W, R  [direction][block][gate][row of W or R's input][panel]; GRU without linear_before_reset: of R only z and r,
//         and behind them [block] panels of n, which are multiplied later
//   B     [direction][block][gate][panel], for the products of the input; with linear_before_reset the same again for
//         those of the state, 0 but for n
//   P     [direction][i o f][blocks * panel]
// Gates are in the order of the kernels (f i c o), whatever the weights' is. Units behind the last one are 0.
#include "ops/reference/sequence/recurrent.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

using ops::reference::CellKind;
using ops::reference::RecurrentParams;

/// Which input is which; -1: there is none.
struct RecurrentPorts {
  int x = 0, h = 1, c = -1, lengths = -1, w = -1, r = -1, b = -1, p = -1;
};

struct RecurrentShape {
  RecurrentParams params;
  RecurrentPorts ports;
  bool sequence = false;
  int64_t batch = 1, times = 1, inputs = 1, size = 1, directions = 1;
  int64_t gates = 1;        // whose products with the input are taken at once
  int64_t first_gates = 1;  // whose products with the state are taken first
  int64_t panel = 1, blocks = 1;

  RecurrentShape(const NodeContext& context, int64_t panel_columns);

  bool resets_before() const { return params.kind == CellKind::gru && !params.linear_before_reset; }
  /// Floats of the products of one row with all gates of one direction.
  int64_t width() const { return blocks * gates * panel; }
  int64_t first_width() const { return blocks * first_gates * panel; }
  int64_t padded() const { return blocks * panel; }
  bool backwards(int64_t direction) const;

  int64_t w_floats() const { return directions * width() * inputs; }
  int64_t r_floats() const { return directions * width() * size; }
  int64_t b_floats() const { return directions * width() * (params.linear_before_reset ? 2 : 1); }
  int64_t p_floats() const { return ports.p < 0 ? 0 : directions * 3 * padded(); }
};

/// Panels of W ([G * S][depth], one matrix per direction), or of R.
class PackGates {
 public:
  PackGates(const RecurrentShape& shape, const MatmulKernels& kernels, bool of_state);
  int64_t pieces() const { return directions_ * blocks_ * gates_; }
  void operator()(const float* weights, float* packed, int64_t piece) const noexcept;
  Packing packing() const;

 private:
  const MatmulKernels* kernels_;
  int64_t directions_, blocks_, gates_, first_gates_, size_, depth_;
  std::array<int64_t, 4> order_;  // by gate of the kernels: where the weights have it
};

/// b and p may be null: then all is 0.
void lay_out_biases(const RecurrentShape& shape, const float* b, float* dst) noexcept;
void lay_out_peepholes(const RecurrentShape& shape, const float* p, float* dst) noexcept;

}  // namespace terroir::cpu
