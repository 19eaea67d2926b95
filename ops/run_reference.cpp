#include "ops/run_reference.hpp"

#include <algorithm>

#include "ir/base/aligned_buffer.hpp"
#include "ops/data_types.hpp"
#include "ops/op_rows.hpp"
#include "ops/reference/type/convert.hpp"

namespace terroir::ops {
namespace {

bool is_narrow(element::Type type) {
  if (type.is_dynamic() || type == element::string || type == element::boolean) return false;
  return type.bitwidth() < 8 || (type.is_real() && type.bitwidth() == 8);
}

element::Type wide_type(element::Type type) {
  if (!is_narrow(type)) return type;
  return type.is_real() ? element::f32 : element::i32;
}

/// The widened integers to what `type` holds.
void clamp(const ir::MutableTensorView& tensor, element::Type type) {
  if (tensor.type != element::i32) return;
  const int lowest = type.is_signed() ? -(1 << (type.bitwidth() - 1)) : 0;
  const int highest = lowest + (1 << type.bitwidth()) - 1;
  auto* numbers = tensor.as<int32_t>();
  std::transform(numbers, numbers + tensor.count(), numbers, [&](int x) { return std::clamp(x, lowest, highest); });
}

void run_wide(const ir::OpSchema& schema, bool clamps, const ir::EvalContext& context) {
  std::vector<AlignedBuffer> buffers;
  const auto allocate = [&](element::Type type, const ir::Dims& dims) -> ir::MutableTensorView {
    buffers.emplace_back(ir::byte_size(type, ir::element_count(dims)));
    return {type, dims, buffers.back().data()};
  };
  std::vector<ir::TensorView> inputs(context.inputs.begin(), context.inputs.end());
  for (ir::TensorView& input : inputs) {
    if (!is_narrow(input.type)) continue;
    const ir::MutableTensorView wide = allocate(wide_type(input.type), input.dims);
    reference::convert(input, wide);
    input = wide;
  }
  std::vector<ir::MutableTensorView> outputs(context.outputs.begin(), context.outputs.end());
  for (ir::MutableTensorView& output : outputs)
    if (is_narrow(output.type)) output = allocate(wide_type(output.type), output.dims);
  schema.reference({context.attributes, inputs, outputs});
  for (size_t i = 0; i < outputs.size(); ++i) {
    context.outputs[i].dims = outputs[i].dims;  // it may have found its size
    if (outputs[i].type == context.outputs[i].type) continue;
    if (clamps) clamp(outputs[i], context.outputs[i].type);
    reference::convert(outputs[i], context.outputs[i]);
  }
}

}  // namespace

void run_reference(const ir::OpSchema& schema, const ir::EvalContext& context) {
  const auto narrow = [](const auto& tensor) { return is_narrow(tensor.type); };
  const bool any = std::any_of(context.inputs.begin(), context.inputs.end(), narrow) ||
                   std::any_of(context.outputs.begin(), context.outputs.end(), narrow);
  const Narrow narrow_elements = any ? data_types(schema).narrow : Narrow::moved;
  if (narrow_elements == Narrow::moved) return schema.reference(context);
  run_wide(schema, narrow_elements == Narrow::clamped, context);
}

bool sizes_itself(const ir::OpSchema& schema) {
  const OpRow* const row = find_row(schema);
  return row && row->sizes_itself && !schema.from_extension;
}

}  // namespace terroir::ops
