#pragma once
// What: RNN, GRU and LSTM cells, alone and along sequences: one engine. Types: any floating-point type, computed in
// f32.
#include <array>
#include <string>

#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

enum class CellKind { rnn, gru, lstm };
enum class Direction { forward, reverse, bidirectional };

struct RecurrentParams {
  CellKind kind = CellKind::rnn;
  int64_t hidden_size = 0;
  std::vector<std::string> activations;  // sigmoid, tanh, relu or hardsigmoid, in any case; functions() or more
  std::vector<double> activations_alpha, activations_beta;
  double clip = 0;  // 0: none
  bool linear_before_reset = false;
  bool input_forget = false;
  std::array<int64_t, 4> gate_order{0, 1, 2, 3};  // where the weights of f, i, c and o are
  Direction direction = Direction::forward;

  /// How many of the activations are used: f, g and h.
  size_t functions() const { return kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 2 : 3; }
  int64_t gates() const { return kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 3 : 4; }
  int64_t biases() const { return kind == CellKind::gru && linear_before_reset ? 4 : gates(); }
  int64_t directions() const { return direction == Direction::bidirectional ? 2 : 1; }
};

/// f, g or h of a cell.
struct GateActivation {
  enum class Kind { sigmoid, tanh, relu, hard_sigmoid } kind;
  float alpha, beta;  // of the hard sigmoid
};

/// Exception for a name that is no activation.
void check_activation(const std::string& name);
/// Those that are used, functions() of them.
std::vector<GateActivation> activations_of(const RecurrentParams& params);

/// Inputs: X [N, I], H [N, S], for LSTM C [N, S], W [G * S, I], R [G * S, S], and optionally B, and for LSTM P.
/// Outputs: H, and for LSTM C.
void recurrent_cell(const ir::EvalContext& ctx, const RecurrentParams& params);
/// The same with a time axis after the batch in X, an axis of directions in the others, and lengths [N] before W.
/// Outputs: all H [N, D, T, S], 0 after the end, the last H, and for LSTM the last C.
void recurrent_sequence(const ir::EvalContext& ctx, const RecurrentParams& params);

}  // namespace terroir::ops::reference
