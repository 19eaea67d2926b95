#include "ops/defs/sequence/recurrent.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using reference::CellKind;
using reference::RecurrentParams;

/// The input's extents, merged with what is known of them from elsewhere.
PartialShape merged(const ir::InferContext& ctx, int input, const char* name, PartialShape wanted) {
  const PartialShape expected = wanted;
  ctx.require(PartialShape::merge_into(wanted, ctx.shape(input)), name, " (input ", input, ") must have shape ",
              expected, ", got ", ctx.shape(input));
  return wanted;
}

/// `dims` with the axis of directions in front, for sequences.
PartialShape with_directions(const RecurrentParams& params, bool sequence, std::vector<Dimension> dims) {
  if (sequence) dims.insert(dims.begin(), params.directions());
  return dims;
}

void infer(ir::InferContext& ctx, const RecurrentParams& params, bool sequence) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const int64_t size = params.hidden_size;
  ctx.require(size >= 1 && size <= kMost, "hidden_size must be in [1, ", kMost, "], got ", size);
  ctx.require(params.clip >= 0, "clip must not be negative, got ", params.clip);
  const size_t functions = params.functions();
  ctx.require(params.activations.size() >= functions, "activations must have at least ", functions, " elements, got ",
              params.activations.size());
  for (size_t i = 0; i < functions; ++i) reference::check_activation(params.activations[i]);

  int next = 0;
  element::Type type;
  const auto take = [&](const char* name, PartialShape shape) {
    ctx.require(element::Type::merge(type, type, ctx.type(next)), "all inputs must have one element type, ", name,
                " has ", ctx.type(next).get_type_name(), " after ", type.get_type_name());
    return merged(ctx, next++, name, std::move(shape));
  };
  const Dimension any;
  const PartialShape x = take("X", sequence ? PartialShape{any, any, any} : PartialShape{any, any});
  const auto state = [&](const Dimension& batch) {
    return sequence ? PartialShape{batch, params.directions(), size} : PartialShape{batch, size};
  };
  PartialShape h = take("initial_hidden_state", state(x[0]));
  if (params.kind == CellKind::lstm) h = take("initial_cell_state", h);
  Dimension batch = h[0];
  if (sequence) {
    require_integer_type(ctx, next, "sequence_lengths");
    batch = merged(ctx, next++, "sequence_lengths", PartialShape{batch})[0];
  }
  take("W", with_directions(params, sequence, {params.gates() * size, x[-1]}));
  take("R", with_directions(params, sequence, {params.gates() * size, size}));
  if (next < ctx.input_count()) take("B", with_directions(params, sequence, {params.biases() * size}));
  if (next < ctx.input_count()) take("P", with_directions(params, sequence, {3 * size}));

  int output = 0;
  if (sequence) ctx.set_output(output++, type, PartialShape{batch, params.directions(), x[1], size});
  ctx.set_output(output++, type, state(batch));
  if (params.kind == CellKind::lstm) ctx.set_output(output++, type, state(batch));
}

/// Where the weights of f, i, c and o are.
std::array<int64_t, 4> order_of(GateFormat format) {
  const std::string_view letters = ir::EnumSpellings<GateFormat>::names[static_cast<size_t>(format)];
  std::array<int64_t, 4> order{};
  for (size_t i = 0; i < 4; ++i) order[i] = static_cast<int64_t>(letters.find("fico"[i]));
  return order;
}

template <class Attrs>
RecurrentParams params_of(const Attrs& attrs) {
  RecurrentParams params = attrs;
  params.gate_order = order_of(attrs.weights_format);
  return params;
}

template <CellKind Kind, bool Sequence, bool FirstLstm = false>
ir::OpSchema schema_of() {
  using Attrs = RecurrentAttrs<Kind, Sequence, FirstLstm>;
  constexpr int kStates = Kind == CellKind::lstm ? 2 : 1;
  constexpr int kMost = 4 + kStates + (Sequence ? 1 : 0) + (FirstLstm ? 1 : 0);
  ir::OpSchema schema;
  schema.arity = {3 + kStates + (Sequence ? 1 : 0), kMost, kStates + (Sequence ? 1 : 0)};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = [](ir::InferContext& ctx) { infer(ctx, ctx.attrs<Attrs>(), Sequence); };
  schema.reference = [](const ir::EvalContext& ctx) {
    const RecurrentParams params = params_of(ctx.attrs<Attrs>());
    Sequence ? reference::recurrent_sequence(ctx, params) : reference::recurrent_cell(ctx, params);
  };
  return schema;
}

template <CellKind Kind, bool FirstLstm = false>
RecurrentParams params_of(const ir::Node& node, bool sequence) {
  return sequence ? params_of(node.attrs<RecurrentAttrs<Kind, true, FirstLstm>>())
                  : params_of(node.attrs<RecurrentAttrs<Kind, false, FirstLstm>>());
}

}  // namespace

RecurrentParams recurrent_params(const ir::Node& node) {
  const bool sequence = node.schema->type.ends_with("Sequence");
  if (node.schema->type.starts_with("RNN")) return params_of<CellKind::rnn>(node, sequence);
  if (node.schema->type.starts_with("GRU")) return params_of<CellKind::gru>(node, sequence);
  return node.schema->opset == "opset1" ? params_of<CellKind::lstm, true>(node, sequence)
                                        : params_of<CellKind::lstm>(node, sequence);
}

ir::OpSchema rnn_cell_1() { return schema_of<CellKind::rnn, false>(); }
ir::OpSchema gru_cell_3() { return schema_of<CellKind::gru, false>(); }
ir::OpSchema lstm_cell_1() { return schema_of<CellKind::lstm, false, true>(); }
ir::OpSchema lstm_cell_4() { return schema_of<CellKind::lstm, false>(); }
ir::OpSchema rnn_sequence_5() { return schema_of<CellKind::rnn, true>(); }
ir::OpSchema gru_sequence_5() { return schema_of<CellKind::gru, true>(); }
ir::OpSchema lstm_sequence_1() { return schema_of<CellKind::lstm, true, true>(); }
ir::OpSchema lstm_sequence_5() { return schema_of<CellKind::lstm, true>(); }

}  // namespace terroir::ops
