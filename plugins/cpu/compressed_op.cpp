#include "plugins/cpu/compressed_op.hpp"

#include <algorithm>
#include <vector>

#include "ir/base/error.hpp"

namespace terroir::cpu {
namespace {

bool is_compressed_type(element::Type type) {
  return type == element::i8 || type == element::u8 || type == element::i4 || type == element::u4;
}

/// With leading ones, as broadcasting adds them.
ir::Dims of_rank(const ir::Dims& dims, size_t rank) {
  ir::Dims all(rank - std::min(rank, dims.size()), 1);
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

bool is_transposed(const FusedAttrs& fused) { return ir::number_attribute(*fused.base_attributes, "transpose_b") != 0; }

void infer_compressed(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<CompressedAttrs>();
  const auto dims = [&](int input) { return ir::to_dims(ctx.shape(input).to_shape()); };
  const ir::TensorView zeros{element::f32, attrs.has_zeros ? dims(3) : ir::Dims{}};
  const auto matrix = CompressedMatrix::from(is_transposed(attrs.fused), {ctx.type(1), dims(1)},
                                             {element::f32, dims(2)}, attrs.has_zeros ? &zeros : nullptr);
  ctx.require(matrix.has_value(), "scales and zeros do not fit the numbers");
  ir::PortType result =
      infer_fused(ctx, attrs.fused,
                  {{ctx.type(0), ctx.shape(0)}, {element::f32, PartialShape(ir::to_shape(matrix->matrix_dims()))}});
  ctx.set_output(0, result.type, std::move(result.shape));
}

void compute_compressed(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<CompressedAttrs>();
  const auto matrix = CompressedMatrix::from(is_transposed(attrs.fused), ctx.inputs[1], ctx.inputs[2],
                                             attrs.has_zeros ? &ctx.inputs[3] : nullptr);
  TERROIR_ASSERT(matrix, "of a node that was inferred");
  std::vector<float> weights(static_cast<size_t>(matrix->outputs() * matrix->inputs()));
  for (int64_t output = 0; output < matrix->outputs(); ++output)
    for (int64_t input = 0; input < matrix->inputs(); ++input) {
      const int64_t place = matrix->place(output, input), group = input / matrix->group();
      const auto number = static_cast<float>(compressed_number(ctx.inputs[1].data, matrix->type(), place));
      weights[static_cast<size_t>(place)] = (number - matrix->zero(output, group)) * matrix->scale(output, group);
    }
  std::vector<ir::TensorView> inputs(ctx.inputs.begin(), ctx.inputs.end());
  inputs[1] = {element::f32, matrix->matrix_dims(), weights.data()};
  compute_fused(attrs.fused, inputs, ctx.outputs[0]);
}

}  // namespace

std::optional<CompressedMatrix> CompressedMatrix::from(bool in_rows, const ir::TensorView& numbers,
                                                       const ir::TensorView& scales, const ir::TensorView* zeros) {
  CompressedMatrix matrix(in_rows, numbers);
  const ir::Dims& dims = numbers.dims;
  if (!is_compressed_type(numbers.type) || dims.size() < 2 || dims.size() > 3 || ir::element_count(dims) == 0)
    return std::nullopt;
  matrix.outputs_ = in_rows ? dims.front() : dims.back();
  if (dims.size() == 3) matrix.groups_ = in_rows ? dims[1] : dims[0];
  matrix.group_ = in_rows ? dims.back() : dims[dims.size() - 2];
  if (!matrix.fits(scales) || (zeros && !matrix.fits(*zeros))) return std::nullopt;
  matrix.scales_ = scales;
  if (zeros) matrix.zeros_ = *zeros;
  return matrix;
}

bool CompressedMatrix::fits(const ir::TensorView& parameter) const {
  const size_t rank = numbers_.dims.size(), along_group = in_rows_ ? rank - 1 : rank - 2;
  if (parameter.type != element::f32 || parameter.dims.size() > rank) return false;
  const ir::Dims dims = of_rank(parameter.dims, rank);
  for (size_t axis = 0; axis < rank; ++axis)
    if (dims[axis] != 1 && (axis == along_group || dims[axis] != numbers_.dims[axis])) return false;
  return true;
}

float CompressedMatrix::at(const ir::TensorView& parameter, int64_t output, int64_t group) const {
  const size_t rank = numbers_.dims.size();
  const ir::Dims dims = of_rank(parameter.dims, rank);
  const int64_t of_output = in_rows_ ? dims.front() : dims.back();
  const int64_t of_group = rank == 2 ? 1 : in_rows_ ? dims[1] : dims[0];
  const int64_t o = of_output == 1 ? 0 : output, g = of_group == 1 ? 0 : group;
  return parameter.as<float>()[in_rows_ ? o * of_group + g : g * of_output + o];
}

ir::Dims CompressedMatrix::matrix_dims() const {
  return in_rows_ ? ir::Dims{outputs_, inputs()} : ir::Dims{inputs(), outputs_};
}

int32_t compressed_number(const void* numbers, element::Type type, int64_t place) {
  const auto* bytes = static_cast<const uint8_t*>(numbers);
  if (type == element::u8) return bytes[place];
  if (type == element::i8) return static_cast<int8_t>(bytes[place]);
  const int32_t bits = bytes[place / 2] >> (place % 2 * 4) & 0xf;
  return type == element::u4 ? bits : (bits ^ 8) - 8;
}

std::optional<CompressedMatrix> compressed_matrix(const CompressedAttrs& attrs,
                                                  const std::vector<const ir::Constant*>& constants) {
  for (int input = 1; input <= 1 + attrs.parameters(); ++input)
    if (!constants[static_cast<size_t>(input)]) return std::nullopt;
  return CompressedMatrix::from(is_transposed(attrs.fused), constants[1]->view, constants[2]->view,
                                attrs.has_zeros ? &constants[3]->view : nullptr);
}

ir::OpSchema compressed_schema() {
  ir::OpSchema schema;
  schema.type = kCompressedMatMulType;
  schema.opset = "cpu";
  schema.arity = {3, ir::kVariadic, 1};
  schema.make_attributes = &ir::make_attributes<CompressedAttrs>;
  schema.infer = &infer_compressed;
  schema.reference = &compute_compressed;
  return schema;
}

}  // namespace terroir::cpu
