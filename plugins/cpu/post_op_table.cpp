#include "plugins/cpu/post_op_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "ir/schema/attribute_text.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

using enum PostOpKind;

constexpr std::array kRows = {
    PostOpRow{.type = "ReLU", .kind = relu},
    PostOpRow{.type = "Clamp", .kind = clamp, .alpha_attribute = "min", .beta_attribute = "max"},
    PostOpRow{.type = "Sigmoid", .kind = sigmoid},
    PostOpRow{.type = "Tanh", .kind = PostOpKind::tanh},
    PostOpRow{.type = "Elu", .kind = elu, .alpha_attribute = "alpha"},
    PostOpRow{.type = "HSwish", .kind = hswish},
    PostOpRow{.type = "HSigmoid", .kind = hsigmoid},
    PostOpRow{.type = "HardSigmoid", .kind = hard_sigmoid},
    PostOpRow{.type = "Selu", .kind = selu},
    PostOpRow{.type = "Swish", .kind = swish, .alpha = 1},
    PostOpRow{.type = "Mish", .kind = mish},
    PostOpRow{.type = "SoftPlus", .kind = softplus},
    PostOpRow{.type = "SoftSign", .kind = softsign},
    PostOpRow{.type = "Gelu", .kind = gelu_erf, .condition = "approximation_mode", .condition_value = 0},
    PostOpRow{.type = "Gelu", .kind = gelu_tanh, .condition = "approximation_mode", .condition_value = 1},
    PostOpRow{.type = "Exp", .kind = PostOpKind::exp},
    PostOpRow{.type = "Log", .kind = PostOpKind::log},
    PostOpRow{.type = "Erf", .kind = PostOpKind::erf},
    PostOpRow{.type = "Abs", .kind = PostOpKind::abs},
    PostOpRow{.type = "Negative", .kind = neg},
    PostOpRow{.type = "Sqrt", .kind = PostOpKind::sqrt},
    PostOpRow{.type = "Sign", .kind = sign},
    PostOpRow{.type = "Floor", .kind = PostOpKind::floor},
    PostOpRow{.type = "Ceiling", .kind = PostOpKind::ceil},
    PostOpRow{.type = "Round", .kind = round_even, .condition = "mode", .condition_value = 0},
    PostOpRow{.type = "Round", .kind = round_away, .condition = "mode", .condition_value = 1},
    PostOpRow{.type = "PReLU", .kind = prelu, .binary = true, .data_input = 0},
    PostOpRow{.type = "Add", .kind = add, .binary = true, .data_input = 0},
    PostOpRow{.type = "Add", .kind = add, .binary = true, .data_input = 1},
    PostOpRow{.type = "Subtract", .kind = sub, .binary = true, .data_input = 0},
    PostOpRow{.type = "Subtract", .kind = rsub, .binary = true, .data_input = 1},
    PostOpRow{.type = "Multiply", .kind = mul, .binary = true, .data_input = 0},
    PostOpRow{.type = "Multiply", .kind = mul, .binary = true, .data_input = 1},
    PostOpRow{.type = "Divide", .kind = PostOpKind::div, .binary = true, .data_input = 0},
    PostOpRow{.type = "Divide", .kind = rdiv, .binary = true, .data_input = 1},
    PostOpRow{.type = "Maximum", .kind = PostOpKind::max, .binary = true, .data_input = 0},
    PostOpRow{.type = "Maximum", .kind = PostOpKind::max, .binary = true, .data_input = 1},
    PostOpRow{.type = "Minimum", .kind = PostOpKind::min, .binary = true, .data_input = 0},
    PostOpRow{.type = "Minimum", .kind = PostOpKind::min, .binary = true, .data_input = 1},
    PostOpRow{.type = "SquaredDifference", .kind = squared_difference, .binary = true, .data_input = 0},
    PostOpRow{.type = "SquaredDifference", .kind = squared_difference, .binary = true, .data_input = 1},
    PostOpRow{.type = "Power", .kind = PostOpKind::pow, .binary = true, .data_input = 0},
    PostOpRow{.type = "Power", .kind = rpow, .binary = true, .data_input = 1},
};

bool all_static_f32(const ir::PortType& port) { return port.type == element::f32 && port.shape.is_static(); }

/// How a scalar or a channel vector lines up with `result`; per_channel sets `axis`.
std::optional<OperandMode> operand_mode(const PartialShape& operand, const PartialShape& result, int& axis,
                                        bool along_channels) {
  const Shape from = operand.to_shape(), to = result.to_shape();
  if (from.size() > to.size()) return std::nullopt;
  int varying = -1;
  // PReLU's 1-D slope runs along the channels instead of being aligned at the last axis.
  if (along_channels && from.size() == 1 && from[0] != 1) {
    if (to.size() < 2 || from[0] != to[1]) return std::nullopt;
    varying = 1;
  } else {
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t position = i + to.size() - from.size();
      if (from[i] == 1) continue;
      if (from[i] != to[position] || varying >= 0) return std::nullopt;
      varying = static_cast<int>(position);
    }
  }
  if (varying < 0) return OperandMode::scalar;
  if (axis >= 0 && axis != varying) return std::nullopt;
  axis = varying;
  return OperandMode::per_channel;
}

}  // namespace

std::span<const PostOpRow> post_op_rows() { return kRows; }

PostOp with_scalar(PostOpKind kind, float value) {
  if (kind == PostOpKind::pow) {
    if (value == 2.0f) return {.kind = square};
    if (value == 3.0f) return {.kind = cube};
    if (value == 0.5f) return {.kind = root};
    if (value == -0.5f) return {.kind = inverse_root};
    if (value == 1.0f) return {.kind = mul, .alpha = 1};
    if (value == -1.0f) return {.kind = rdiv, .alpha = 1};
  }
  return {.kind = kind, .alpha = value};
}

std::optional<FusedOp> as_post_op(const StepView& op, int data_input, int& channel_axis) {
  if (op.schema.from_extension || !all_static_f32(op.output)) return std::nullopt;
  const PartialShape& shape = op.output.shape;
  if (op.inputs[static_cast<size_t>(data_input)].shape != shape) return std::nullopt;
  for (const PostOpRow& row : kRows) {
    if (row.type != op.schema.type || row.data_input != data_input) continue;
    if (!row.condition.empty()) {
      // An older version without the attribute has the first row's meaning.
      double value = 0;
      for (const ir::AttributeText& text : ir::to_text(op.attributes))
        if (text.name == row.condition) value = ir::number_attribute(op.attributes, row.condition);
      if (value != row.condition_value) continue;
    }
    FusedOp step{.kind = row.kind, .alpha = row.alpha, .beta = row.beta};
    if (!row.alpha_attribute.empty())
      step.alpha = static_cast<float>(ir::number_attribute(op.attributes, row.alpha_attribute));
    if (!row.beta_attribute.empty())
      step.beta = static_cast<float>(ir::number_attribute(op.attributes, row.beta_attribute));
    if (!row.binary) {
      if (op.inputs.size() == 1) return step;
      // The parameters are inputs: alpha, then beta.
      float* const parameters[] = {&step.alpha, &step.beta};
      for (size_t i = 1; i < op.inputs.size(); ++i) {
        const ir::Constant* value = op.constants[i];
        if (!value || value->view.count() != 1 || value->view.type != element::f32) return std::nullopt;
        *parameters[i - 1] = *value->view.as<float>();
      }
      return step;
    }
    if (ir::broadcasts_from_an_axis(op.attributes)) return std::nullopt;
    const auto other = static_cast<size_t>(1 - data_input);
    if (!all_static_f32(op.inputs[other])) return std::nullopt;
    int axis = channel_axis;
    // Scalars and channel vectors are taken at compile time; only whole tensors may come at run time. A constant that
    // is as large as the result by chance, because that is one image of one position, is a channel vector still: the
    // same layer of a batch must round alike.
    std::optional<OperandMode> mode;
    if (op.constants[other]) mode = operand_mode(op.inputs[other].shape, shape, axis, row.kind == prelu);
    if (!mode && op.inputs[other].shape == shape) mode = OperandMode::tensor;
    if (!mode) return std::nullopt;
    step.mode = *mode;
    if (*mode == OperandMode::scalar) {
      const PostOp known = with_scalar(row.kind, *op.constants[other]->view.as<float>());
      step.kind = known.kind;
      step.alpha = known.alpha;
    } else {
      step.operand = static_cast<int>(other);
    }
    channel_axis = axis;
    return step;
  }
  return std::nullopt;
}

std::optional<FusedOp> as_post_op(const ir::Graph& graph, const ir::Node& node, int data_input, int& channel_axis) {
  if (is_cpu_op(node) || node.outputs.size() != 1) return std::nullopt;
  // A node of thousands of inputs, as Concat may be, would be looked at for each of them.
  if (std::none_of(std::begin(kRows), std::end(kRows),
                   [&](const PostOpRow& row) { return row.type == node.schema->type && row.data_input == data_input; }))
    return std::nullopt;
  StepView view{*node.schema, *node.attributes, {}, {}, {node.outputs[0].type, node.outputs[0].shape}};
  for (const ir::Value& input : node.inputs) {
    view.inputs.push_back({graph.port(input).type, graph.port(input).shape});
    view.constants.push_back(ir::constant_of(graph, input));
  }
  return as_post_op(view, data_input, channel_axis);
}

const char* post_op_name(PostOpKind kind) {
  switch (kind) {
    case relu:
      return "relu";
    case clamp:
      return "clamp";
    case sigmoid:
      return "sigmoid";
    case PostOpKind::tanh:
      return "tanh";
    case elu:
      return "elu";
    case selu:
      return "selu";
    case hswish:
      return "hswish";
    case hsigmoid:
      return "hsigmoid";
    case hard_sigmoid:
      return "hard_sigmoid";
    case swish:
      return "swish";
    case mish:
      return "mish";
    case softplus:
      return "softplus";
    case softsign:
      return "softsign";
    case gelu_erf:
      return "gelu_erf";
    case gelu_tanh:
      return "gelu_tanh";
    case PostOpKind::exp:
      return "exp";
    case PostOpKind::log:
      return "log";
    case PostOpKind::erf:
      return "erf";
    case PostOpKind::abs:
      return "abs";
    case neg:
      return "neg";
    case PostOpKind::sqrt:
      return "sqrt";
    case square:
      return "square";
    case sign:
      return "sign";
    case PostOpKind::floor:
      return "floor";
    case PostOpKind::ceil:
      return "ceil";
    case round_even:
      return "round_even";
    case round_away:
      return "round_away";
    case linear:
      return "linear";
    case scale_shift:
      return "scale_shift";
    case prelu:
      return "prelu";
    case add:
      return "add";
    case sub:
      return "sub";
    case rsub:
      return "rsub";
    case mul:
      return "mul";
    case PostOpKind::div:
      return "div";
    case rdiv:
      return "rdiv";
    case PostOpKind::max:
      return "max";
    case PostOpKind::min:
      return "min";
    case squared_difference:
      return "squared_difference";
    case PostOpKind::pow:
      return "pow";
    case rpow:
      return "rpow";
    case cube:
      return "cube";
    case root:
      return "root";
    case inverse_root:
      return "inverse_root";
  }
  return "?";
}

float apply_post_op(const FusedOp& op, float x, float b) {
  const double v = x;
  const auto narrow = [](double value) { return static_cast<float>(value); };
  switch (op.kind) {
    case relu:
      return x < 0 ? 0.0f : x;
    case clamp:
      return std::min(std::max(x, op.alpha), op.beta);
    case sigmoid:
      return narrow(1 / (1 + std::exp(-v)));
    case PostOpKind::tanh:
      return narrow(std::tanh(v));
    case elu:
      return x > 0 ? x : narrow(op.alpha * std::expm1(v));
    case selu:
      return narrow(op.beta * (x > 0 ? v : op.alpha * std::expm1(v)));
    case hswish:
      return x * std::min(std::max(x + 3, 0.0f), 6.0f) / 6;
    case hsigmoid:
      return std::min(std::max(x + 3, 0.0f), 6.0f) / 6;
    case hard_sigmoid:
      return std::min(std::max(op.alpha * x + op.beta, 0.0f), 1.0f);
    case swish:
      return narrow(v / (1 + std::exp(-op.alpha * v)));
    case mish:
      return narrow(v * std::tanh(std::log1p(std::exp(v))));
    case softplus:
      return narrow(v > 20 ? v : std::log1p(std::exp(v)));
    case softsign:
      return narrow(v / (1 + std::abs(v)));
    case gelu_erf:
      return narrow(v * (1 + std::erf(v / std::numbers::sqrt2)) / 2);
    case gelu_tanh:
      return narrow(v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v))) / 2);
    case PostOpKind::exp:
      return narrow(std::exp(v));
    case PostOpKind::log:
      return narrow(std::log(v));
    case PostOpKind::erf:
      return narrow(std::erf(v));
    case PostOpKind::abs:
      return std::abs(x);
    case neg:
      return -x;
    case PostOpKind::sqrt:
      return std::sqrt(x);
    case square:
      return x * x;
    case sign:
      return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
    case PostOpKind::floor:
      return std::floor(x);
    case PostOpKind::ceil:
      return std::ceil(x);
    case round_even:
      return std::nearbyint(x);
    case round_away:
      return std::round(x);
    case linear:
      return op.alpha * x + op.beta;
    case scale_shift:
      return x * b;
    case prelu:
      return x < 0 ? b * x : x;
    case add:
      return x + b;
    case sub:
      return x - b;
    case rsub:
      return b - x;
    case mul:
      return x * b;
    case PostOpKind::div:
      return x / b;
    case rdiv:
      return b / x;
    case PostOpKind::max:
      return std::max(x, b);
    case PostOpKind::min:
      return std::min(x, b);
    case squared_difference:
      return (x - b) * (x - b);
    case PostOpKind::pow:
      return std::pow(x, b);
    case rpow:
      return std::pow(b, x);
    case cube:
      return narrow(v * v * v);
    case root:
      return narrow(std::pow(v, 0.5));
    case inverse_root:
      return narrow(std::pow(v, -0.5));
  }
  return x;
}

}  // namespace terroir::cpu
