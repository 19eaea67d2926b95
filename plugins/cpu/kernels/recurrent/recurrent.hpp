// What: what follows the matrix products of one step of a recurrent layer, for one row: activations, the next state.
// Formula: s = products of the input + products of the state, by gate; S the state, clipped what goes into f, g, h:
//   rnn        S' = f(s)
//   lstm       F = f(s_f + P_f C), I = f(s_i + P_i C) or 1 - F, C' = F C + I g(s_c), S' = f(s_o + P_o C') h(C')
//   gru        Z = f(s_z), R = f(s_r), N = g(x_n + R h_n), S' = (1 - Z) N + Z S      (linear before reset)
//   gru_reset  Z = f(s_z), damped = R S with R = f(s_r); gru_update: N = g(s_n), S' = (1 - Z) N + Z S
// Layouts: products lie in blocks of `panel` units; a block holds the gates one after another: [block][gate][panel].
//   Gates in the order f i c o and z r n; gru_reset reads z r of the state's products, gru_update n alone. States and
//   peepholes (i o f, `peephole_stride` apart) are plain.
// Aliasing: next may not be state. c is updated in place. Edge cases: a NaN stays, but through a clip or a hard
// sigmoid,
//   which give their upper bound, as the reference does. Tails touch no byte outside of the units.
// Threads: units and rows are independent.
// Source: operation pages RNNCell-1, GRUCell-3, LSTMCell-1 and -4.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

enum class GateFunction : int32_t { sigmoid, tanh, relu, hard_sigmoid };

struct GateActivation {
  GateFunction function = GateFunction::sigmoid;
  float alpha = 0, beta = 0;  // of the hard sigmoid
};

struct GateArgs {
  GateActivation f, g, h;
  float clip = 0;             // 0: none
  bool input_forget = false;  // LSTM: I = 1 - F
  int64_t panel = 0;
  int64_t x_block = 0, h_block = 0;  // floats from block to block

  const float* x = nullptr;       // products of the input, biases included
  const float* hidden = nullptr;  // products of the state
  const float* state = nullptr;
  float* next = nullptr;
  float* y = nullptr;  // a second copy of next, or null
  float* c = nullptr;
  const float* peepholes = nullptr;  // or null
  int64_t peephole_stride = 0;
  float* update = nullptr;  // Z, between gru_reset and gru_update; plain
  float* damped = nullptr;
};

struct RecurrentKernels {
  // Units [begin, end); begin is a multiple of the panel.
  using Step = void (*)(const GateArgs& args, int64_t begin, int64_t end);
  Step rnn, lstm, gru, gru_reset, gru_update;
};

const RecurrentKernels& recurrent_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
