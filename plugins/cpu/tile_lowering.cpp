#include "plugins/cpu/tile_lowering.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/defs/elementwise/activation.hpp"
#include "ops/defs/elementwise/binary.hpp"
#include "ops/defs/elementwise/comparison.hpp"
#include "ops/defs/normalization/batch_norm_inference.hpp"
#include "ops/defs/quantization/fake_convert.hpp"
#include "ops/defs/quantization/fake_quantize.hpp"
#include "ops/reference/type/convert.hpp"
#include "plugins/cpu/kernels/convert/convert.hpp"
#include "plugins/cpu/kernels/functions/functions.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

using enum NumberType;
using Lowered = std::variant<int, Reject>;

/// What lowering one op needs.
struct Site {
  const StepView& op;
  std::span<const int> in;
  Isa isa;
  TileProgram& program;

  element::Type type(size_t input) const { return op.inputs[input].type; }
  size_t width(size_t input) const { return type(input).size(); }
  const std::string& name() const { return op.schema.type; }

  std::optional<int> step(TileOp what, NumberType number, std::initializer_list<int> operands, size_t result) const {
    const TileFn fn = typed_loop(what, number, isa);
    if (!fn) return std::nullopt;
    return program.add_step(fn, operands, result);
  }
};

Reject no_loop(const Site& site) {
  return {"no loop for " + site.name() + " of " + site.type(site.op.inputs.size() - 1).get_type_name()};
}
Lowered or_reject(const Site& site, std::optional<int> found) {
  if (found) return *found;
  return no_loop(site);
}

// ---- f32

const PostOpRow* binary_row(const std::string& type, int data_input) {
  for (const PostOpRow& row : post_op_rows())
    if (row.binary && row.type == type && row.data_input == data_input) return &row;
  return nullptr;
}

/// Whether an operand may be the value of a step: it has the result's shape, and the step is exact either way.
bool may_be_data(const Site& site, int input) {
  if (site.op.inputs[static_cast<size_t>(input)].shape != site.op.output.shape) return false;
  const PostOpRow* row = binary_row(site.name(), input);
  using enum PostOpKind;
  return row && (row->kind == add || row->kind == sub || row->kind == rsub || row->kind == mul ||
                 row->kind == PostOpKind::div || row->kind == rdiv);
}

std::optional<Function> function_of(const std::string& type) {
  constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"Acos", Function::acos}, {"Acosh", Function::acosh}, {"Asin", Function::asin}, {"Asinh", Function::asinh},
      {"Atan", Function::atan}, {"Atanh", Function::atanh}, {"Cos", Function::cos},   {"Cosh", Function::cosh},
      {"Sin", Function::sin},   {"Sinh", Function::sinh},   {"Tan", Function::tan}};
  for (const auto& [name, function] : kFunctions)
    if (name == type) return function;
  return std::nullopt;
}

/// Through the steps of chains, or functions that these do not have.
std::optional<int> lower_f32(const Site& site) {
  if (site.op.output.type != element::f32 || site.type(0) != element::f32) return std::nullopt;
  if (binary_row(site.name(), 0)) {
    for (int data = 0; data < 2; ++data) {
      const ir::Constant* other = site.op.constants[static_cast<size_t>(1 - data)];
      const PostOpRow* row = binary_row(site.name(), data);
      if (row && other && other->view.count() == 1)
        return site.program.add_step(with_scalar(row->kind, *other->view.as<float>()),
                                     site.in[static_cast<size_t>(data)]);
    }
    // An operand that broadcasts need not be laid out where it is the second one.
    const bool swapped = !may_be_data(site, 0) && may_be_data(site, 1);
    const PostOp op{.kind = binary_row(site.name(), swapped ? 1 : 0)->kind, .mode = OperandMode::tensor};
    return site.program.add_step(op, site.in[swapped ? 1 : 0], site.in[swapped ? 0 : 1]);
  }
  if (const auto function = function_of(site.name()))
    return site.program.add_step(function_loop(*function, site.isa), {site.in[0]}, sizeof(float));
  int axis = -1;
  const auto step = as_post_op(site.op, 0, axis);
  if (!step) return std::nullopt;
  return site.program.add_step(PostOp{.kind = step->kind, .alpha = step->alpha, .beta = step->beta}, site.in[0]);
}

// ---- conversions

Lowered convert(const Site& site, int x, element::Type from, element::Type to) {
  const NumberType source = number_type(from), target = number_type(to);
  if (source == none || target == none) return no_loop(site);
  const auto found = [&](std::optional<int> step) { return or_reject(site, step); };
  if (source == boolean) {
    const auto truth = site.step(TileOp::truth, u8, {x}, 1);
    return to.size() == 1 && to.is_integral() ? found(truth) : convert(site, *truth, element::u8, to);
  }
  if (target == boolean) {
    if (const auto truth = site.step(TileOp::truth, source, {x}, 1);
        truth && !(source == f16 || source == bf16 || source == f8e4m3 || source == f8e5m2))
      return *truth;
    const Lowered wide = convert(site, x, from, element::f32);
    return std::holds_alternative<Reject>(wide) ? wide : convert(site, std::get<int>(wide), element::f32, to);
  }
  if (from == to || (from.is_integral() && to.is_integral() && from.size() == to.size()))
    return found(site.step(TileOp::copy, source, {x}, to.size()));
  if (const TileFn fn = conversion_loop(source, target, site.isa)) return site.program.add_step(fn, {x}, to.size());
  // Eight bits would be rounded twice.
  if (source == f32 || target == f32 || (source == f64 && to.size() == 1)) return no_loop(site);
  const Lowered wide = convert(site, x, from, element::f32);
  return std::holds_alternative<Reject>(wide) ? wide : convert(site, std::get<int>(wide), element::f32, to);
}

// ---- integers, boolean, f64

/// `value` as a constant register of the type of input 0; it is representable or beyond the type's ends.
int constant(const Site& site, double value) {
  const element::Type type = site.type(0);
  std::array<char, 8> bytes{};
  ops::reference::convert({element::f64, {}, &value}, {type, {}, bytes.data()});
  return site.program.add_constant(bytes.data(), type.size());
}

struct TypedRow {
  std::string_view type;
  TileOp op;
  bool swapped = false;
};
constexpr TypedRow kArithmetic[] = {{"Abs", TileOp::abs},
                                    {"Add", TileOp::add},
                                    {"BitwiseAnd", TileOp::bit_and},
                                    {"BitwiseLeftShift", TileOp::shift_left},
                                    {"BitwiseNot", TileOp::bit_not},
                                    {"BitwiseOr", TileOp::bit_or},
                                    {"BitwiseRightShift", TileOp::shift_right},
                                    {"BitwiseXor", TileOp::bit_xor},
                                    {"FloorMod", TileOp::floor_mod},
                                    {"Maximum", TileOp::max},
                                    {"Minimum", TileOp::min},
                                    {"Mod", TileOp::mod},
                                    {"Multiply", TileOp::mul},
                                    {"Negative", TileOp::neg},
                                    {"PReLU", TileOp::prelu},
                                    {"Power", TileOp::pow},
                                    {"Sign", TileOp::sign},
                                    {"SquaredDifference", TileOp::squared_difference},
                                    {"Subtract", TileOp::sub}};
constexpr TypedRow kTests[] = {
    {"Equal", TileOp::equal},          {"Greater", TileOp::less, true}, {"GreaterEqual", TileOp::less_equal, true},
    {"IsFinite", TileOp::is_finite},   {"IsNaN", TileOp::is_nan},       {"Less", TileOp::less},
    {"LessEqual", TileOp::less_equal}, {"NotEqual", TileOp::not_equal}};
/// Of boolean operands, whatever bytes stand for true.
constexpr TypedRow kLogical[] = {{"BitwiseAnd", TileOp::logical_and}, {"BitwiseNot", TileOp::logical_not},
                                 {"BitwiseOr", TileOp::logical_or},   {"BitwiseXor", TileOp::logical_xor},
                                 {"LogicalAnd", TileOp::logical_and}, {"LogicalNot", TileOp::logical_not},
                                 {"LogicalOr", TileOp::logical_or},   {"LogicalXor", TileOp::logical_xor},
                                 {"NotEqual", TileOp::logical_xor},   {"Xor", TileOp::logical_xor}};

template <size_t kCount>
const TypedRow* row_of(const TypedRow (&rows)[kCount], const std::string& type) {
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const TypedRow& r) { return r.type == type; });
  return row == std::end(rows) ? nullptr : row;
}

std::optional<int> apply(const Site& site, const TypedRow& row, NumberType number, std::span<const int> in,
                         size_t width) {
  if (in.size() == 1) return site.step(row.op, number, {in[0]}, width);
  return row.swapped ? site.step(row.op, number, {in[1], in[0]}, width)
                     : site.step(row.op, number, {in[0], in[1]}, width);
}

std::optional<int> lower_boolean(const Site& site) {
  if (const TypedRow* row = row_of(kLogical, site.name())) return apply(site, *row, boolean, site.in, 1);
  const TypedRow* test = row_of(kTests, site.name());
  if (!test || site.in.size() != 2) return std::nullopt;
  const int truths[] = {*site.step(TileOp::truth, u8, {site.in[0]}, 1), *site.step(TileOp::truth, u8, {site.in[1]}, 1)};
  return apply(site, *test, u8, truths, 1);
}

std::optional<int> lower_is_inf(const Site& site, NumberType number) {
  const auto& attrs = ir::attributes_as<ops::IsInfAttrs>(site.op.attributes);
  if (!attrs.detect_negative && !attrs.detect_positive) return std::nullopt;
  const TileOp op = !attrs.detect_negative   ? TileOp::is_positive_inf
                    : !attrs.detect_positive ? TileOp::is_negative_inf
                                             : TileOp::is_inf;
  return site.step(op, number, {site.in[0]}, 1);
}

/// Ops which are a choice between integers and floating point, or take parameters.
std::optional<int> lower_special(const Site& site, NumberType number) {
  const size_t width = site.width(0);
  const bool whole = number != f64;
  const int x = site.in[0];
  if (site.name() == "Divide")
    return site.step(
        ir::attributes_as<ops::DivideAttrs>(site.op.attributes).m_pythondiv ? TileOp::floor_div : TileOp::div, number,
        {x, site.in[1]}, width);
  if (site.name() == "Clamp") {
    const auto& attrs = ir::attributes_as<ops::ClampAttrs>(site.op.attributes);
    const double low = whole ? std::ceil(attrs.min) : attrs.min, high = whole ? std::floor(attrs.max) : attrs.max;
    if (low > high) return std::nullopt;  // no integer lies between: no order of two steps gives what the op does
    const auto raised = site.step(TileOp::max, number, {x, constant(site, low)}, width);
    return site.step(TileOp::min, number, {*raised, constant(site, high)}, width);
  }
  if (site.name() == "ReLU") return site.step(TileOp::max, number, {x, constant(site, 0)}, width);
  if (site.name() == "Round" && !whole)
    return site.step(ir::number_attribute(site.op.attributes, "mode") == 0 ? TileOp::round_even : TileOp::round_away,
                     number, {x}, width);
  if (site.name() == "Floor") return site.step(whole ? TileOp::copy : TileOp::floor, number, {x}, width);
  if (site.name() == "Ceiling") return site.step(whole ? TileOp::copy : TileOp::ceil, number, {x}, width);
  if (site.name() == "Round") return site.step(TileOp::copy, number, {x}, width);
  if (site.name() == "Sqrt" && !whole) return site.step(TileOp::sqrt, number, {x}, width);
  // What is not negative is its own magnitude, and no slope applies to it.
  if ((site.name() == "Abs" || site.name() == "PReLU") && !site.type(0).is_signed())
    return site.step(TileOp::copy, number, {x}, width);
  return std::nullopt;
}

std::optional<int> lower_typed(const Site& site) {
  const NumberType number = number_type(site.type(0));
  if (number == none || number >= f16) return std::nullopt;
  if (number == boolean) return lower_boolean(site);
  if (const TypedRow* row = row_of(kTests, site.name())) return apply(site, *row, number, site.in, 1);
  if (site.name() == "IsInf") return lower_is_inf(site, number);
  const bool remainder = site.name() == "Mod" || site.name() == "FloorMod";
  if (number == f32 && !remainder) return std::nullopt;
  if (const auto special = lower_special(site, number)) return special;
  if (const TypedRow* row = row_of(kArithmetic, site.name())) return apply(site, *row, number, site.in, site.width(0));
  return std::nullopt;
}

// ---- ops with operands of their own kind, f32

Lowered fake_quantize(const Site& site) {
  const int64_t levels = ir::attributes_as<ops::FakeQuantizeAttrs>(site.op.attributes).levels;
  if (site.type(0) != element::f32 || levels > (1 << 22)) return no_loop(site);
  const int steps = constant(site, static_cast<double>(levels - 1));
  return or_reject(site, site.step(TileOp::fake_quantize, f32,
                                   {site.in[0], site.in[1], site.in[2], site.in[3], site.in[4], steps}, sizeof(float)));
}

Lowered dequantize(const Site& site) {
  const auto& attrs = ir::attributes_as<DequantizeAttrs>(site.op.attributes);
  const TileFn widen = conversion_loop(u8, f32, site.isa);
  if (!widen) return no_loop(site);
  return site.program.add_step(
      PostOp{.kind = PostOpKind::linear, .alpha = attrs.scale, .beta = -attrs.scale * attrs.zero},
      site.program.add_step(widen, {site.in[0]}, sizeof(float)));
}

Lowered fake_convert(const Site& site) {
  if (site.type(0) != element::f32) return no_loop(site);
  const auto& attrs = ir::attributes_as<ops::FakeConvertAttrs>(site.op.attributes);
  const int shift = site.in.size() > 2 ? site.in[2] : constant(site, 0);
  return site.program.add_step(fake_conversion_loop(number_type(attrs.destination_type), site.isa),
                               {site.in[0], site.in[1], shift}, sizeof(float));
}

ops::BatchNormInputs batch_norm_inputs(const StepView& op) {
  return op.schema.opset == "opset1" ? ops::batch_norm_1_inputs(op.inputs[0].shape.rank(), op.inputs[2].shape.rank())
                                     : ops::kDataFirst;
}

/// (x - mean) * (gamma / sqrt(variance + eps)) + beta, the parameters laid out like x.
Lowered batch_norm(const Site& site) {
  if (site.op.output.type != element::f32) return no_loop(site);
  const ops::BatchNormInputs at = batch_norm_inputs(site.op);
  const auto in = [&](int input) { return site.in[static_cast<size_t>(input)]; };
  const auto eps = static_cast<float>(ir::number_attribute(site.op.attributes, "epsilon"));
  const auto step = [&](PostOpKind kind, int a, int b) {
    return site.program.add_step(PostOp{.kind = kind, .mode = OperandMode::tensor}, a, b);
  };
  const int above_zero = site.program.add_step(PostOp{.kind = PostOpKind::add, .alpha = eps}, in(at.variance));
  const int factor =
      step(PostOpKind::div, in(at.gamma), site.program.add_step(PostOp{.kind = PostOpKind::sqrt}, above_zero));
  return step(PostOpKind::add, step(PostOpKind::mul, step(PostOpKind::sub, in(at.data), in(at.mean)), factor),
              in(at.beta));
}

/// Per channel, whatever the rank of the data.
ir::Dims along_channels(const StepView& op) {
  ir::Dims dims(op.output.shape.size(), 1);
  dims[1] = op.output.shape[1].get_length();
  return dims;
}

}  // namespace

size_t operands_read(const StepView& op) { return op.schema.type == "ConvertLike" ? 1 : op.inputs.size(); }

NumberType number_type(element::Type type) {
  switch (type) {
#define TERROIR_CASE(name)    \
  case element::Type_t::name: \
    return NumberType::name;
    TERROIR_CASE(i8)
    TERROIR_CASE(i16)
    TERROIR_CASE(i32)
    TERROIR_CASE(i64)
    TERROIR_CASE(u8)
    TERROIR_CASE(u16)
    TERROIR_CASE(u32)
    TERROIR_CASE(u64)
    TERROIR_CASE(f32)
    TERROIR_CASE(f64)
    TERROIR_CASE(boolean)
    TERROIR_CASE(f16)
    TERROIR_CASE(bf16)
    TERROIR_CASE(f8e4m3)
    TERROIR_CASE(f8e5m2)
#undef TERROIR_CASE
    default:
      return none;
  }
}

ir::Dims aligned_operand(const StepView& op, size_t input) {
  const auto dims_of = [&op](size_t i) { return ir::to_dims(op.inputs[i].shape.to_shape()); };
  ir::Dims dims = dims_of(input);
  const std::string& type = op.schema.type;
  if (type == "BatchNormInference" && static_cast<int>(input) != batch_norm_inputs(op).data) return along_channels(op);
  if (type == "FakeQuantize" && input > 0) {
    dims = ops::align_limit(ir::attributes_as<ops::FakeQuantizeAttrs>(op.attributes), dims_of(0), dims);
  } else if (type == "PReLU" && input == 1) {
    dims = ops::align_prelu_slope(dims_of(0), dims);
  } else if (type == "Select" && input != 1) {
    dims = ops::align_operand(dims_of(1), dims, ir::attributes_as<ops::BinaryAttrs>(op.attributes).broadcast);
  } else if (type == "Divide" && input == 1) {
    dims = ops::align_operand(dims_of(0), dims, ir::attributes_as<ops::DivideAttrs>(op.attributes).broadcast);
  } else if (op.inputs.size() == 2 && input == 1 && type != "PReLU" && type != "FakeConvert" && type != "Swish") {
    dims = ops::align_operand(dims_of(0), dims, ir::attributes_as<ops::BinaryAttrs>(op.attributes).broadcast);
  }
  const size_t rank = op.output.shape.size();
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  // The one value that some operations take for all elements may have more axes than the result.
  if (dims.size() > rank && ir::element_count(dims) == 1) dims.resize(rank);
  return dims;
}

std::variant<int, Reject> lower(const StepView& op, std::span<const int> operands, Isa isa, TileProgram& program) {
  const Site site{op, operands, isa, program};
  const std::string& type = op.schema.type;
  if (type == "Convert" || type == "ConvertLike") return convert(site, operands[0], site.type(0), op.output.type);
  if (type == "FakeQuantize") return fake_quantize(site);
  if (type == kDequantizeType) return dequantize(site);
  if (type == "FakeConvert") return fake_convert(site);
  if (type == "BatchNormInference") return batch_norm(site);
  if (type == "Select")
    return or_reject(site, site.step(TileOp::select, number_type(site.type(1)), {operands[0], operands[1], operands[2]},
                                     site.width(1)));
  if (const auto step = lower_f32(site)) return *step;
  return or_reject(site, lower_typed(site));
}

}  // namespace terroir::cpu
