#pragma once
// What: RNNCell, GRUCell, LSTMCell and their sequences. For S = hidden_size, * a matrix product, . elementwise:
//   RNN   H' = f(X W^T + H R^T + B)
//   GRU   z, r = f(X Wz^T + H Rz^T + Bz), ...; h = g(X Wh^T + (r . H) Rh^T + Bh); H' = (1 - z) . h + z . H
//         linear_before_reset: h = g(X Wh^T + r . (H Rh^T + Rbh) + Wbh), with the biases z, r, Wbh, Rbh
//   LSTM  f, i, o = f(...), c = g(...); C' = f . C + i . c; H' = o . h(C')
// Inputs: X [N, I], H [N, S], LSTM: C [N, S], W [G * S, I], R [G * S, S], B [G * S] (optional: 0); gates in the order
// zrh and fico. Sequences: X [N, T, I], the states [N, D, S], sequence_lengths [N], W, R, B with an axis of D
// directions in front. Outputs: H (and C) [N, S]; sequences: all H [N, D, T, S], the last H (and C) [N, D, S]. Version
// 1 of the LSTM ops: another order of gates (weights_format), i = 1 - f (input_forget), peepholes P [3 * S] as the last
// input, in the order i, o, f, whatever that of the gates is. Edge cases: without weights_format the gates are fico, as
// the page of LSTMCell-1 says and tools that do not write it meant (OpenVINO's constructors in code: ifco); activations
// are f, g, h for both directions; exporters list them once for each, and what follows the first three (GRU: two, RNN:
// one) is not looked at, as in OpenVINO; clip limits what goes into an activation, 0 means none; after the end of a
// sequence all H are 0; a sequence of length 0 has last states of 0, but those it began with where T is 0; reverse
// starts at the end of each sequence. Source: operation pages RNNCell-1, GRUCell-3, LSTMCell-1 and -4, RNNSequence-5,
// GRUSequence-5, LSTMSequence-1 and -5.
#include "ir/graph/graph.hpp"
#include "ir/schema/attributes.hpp"
#include "ops/reference/sequence/recurrent.hpp"

namespace terroir::ops {

enum class GateFormat { fico, icof, ifco, ifoc, iofc };

template <reference::CellKind Kind, bool Sequence, bool FirstLstm = false>
struct RecurrentAttrs : reference::RecurrentParams {
  GateFormat weights_format = GateFormat::fico;

  RecurrentAttrs() {
    kind = Kind;
    activations = Kind == reference::CellKind::rnn   ? std::vector<std::string>{"tanh"}
                  : Kind == reference::CellKind::gru ? std::vector<std::string>{"sigmoid", "tanh"}
                                                     : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
  }

  template <class V>
  void visit(V& v) {
    v("hidden_size", hidden_size, ir::Presence::required);
    v("activations", activations);
    v("activations_alpha", activations_alpha);
    v("activations_beta", activations_beta);
    v("clip", clip);
    if constexpr (Sequence) v("direction", direction, ir::Presence::required);
    if constexpr (Kind == reference::CellKind::gru) v("linear_before_reset", linear_before_reset);
    if constexpr (FirstLstm) {
      v("input_forget", input_forget);
      v("weights_format", weights_format);
    }
  }
};

/// The parameters of any of these ops.
reference::RecurrentParams recurrent_params(const ir::Node& node);

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::Direction> {
  static constexpr std::string_view names[] = {"forward", "reverse", "bidirectional"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::GateFormat> {
  static constexpr std::string_view names[] = {"fico", "icof", "ifco", "ifoc", "iofc"};
};
