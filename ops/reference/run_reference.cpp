#include "ops/reference/run_reference.hpp"

#include <algorithm>

#include "ir/base/aligned_buffer.hpp"
#include "ops/reference/type/convert.hpp"

namespace terroir::ops::reference {
namespace {

bool is_narrow(element::Type type) {
  if (type.is_dynamic() || type == element::string || type == element::boolean) return false;
  return type.bitwidth() < 8 || (type.is_real() && type.bitwidth() == 8);
}

element::Type wide_type(element::Type type) {
  if (!is_narrow(type)) return type;
  return type.is_real() ? element::f32 : element::i32;
}

void run_wide(ir::ReferenceFn reference, const ir::EvalContext& context) {
  std::vector<AlignedBuffer> buffers;
  const auto allocate = [&](element::Type type, const ir::Dims& dims) -> ir::MutableTensorView {
    buffers.emplace_back(ir::byte_size(type, ir::element_count(dims)));
    return {type, dims, buffers.back().data()};
  };
  std::vector<ir::TensorView> inputs(context.inputs.begin(), context.inputs.end());
  for (ir::TensorView& input : inputs) {
    if (!is_narrow(input.type)) continue;
    const ir::MutableTensorView wide = allocate(wide_type(input.type), input.dims);
    convert(input, wide);
    input = wide;
  }
  std::vector<ir::MutableTensorView> outputs(context.outputs.begin(), context.outputs.end());
  for (ir::MutableTensorView& output : outputs)
    if (is_narrow(output.type)) output = allocate(wide_type(output.type), output.dims);
  reference({context.attributes, inputs, outputs});
  for (size_t i = 0; i < outputs.size(); ++i) {
    context.outputs[i].dims = outputs[i].dims;  // it may have found its size
    if (outputs[i].type != context.outputs[i].type) convert(outputs[i], context.outputs[i]);
  }
}

}  // namespace

void run_reference(ir::ReferenceFn reference, const ir::EvalContext& context) {
  const auto narrow = [](const auto& tensor) { return is_narrow(tensor.type); };
  if (std::none_of(context.inputs.begin(), context.inputs.end(), narrow) &&
      std::none_of(context.outputs.begin(), context.outputs.end(), narrow))
    return reference(context);
  try {
    return reference(context);
  } catch (const Exception& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  run_wide(reference, context);
}

}  // namespace terroir::ops::reference
