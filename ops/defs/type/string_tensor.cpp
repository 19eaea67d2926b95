// What: strings from and to their bytes, laid one after the other.
// Formula: string i = symbols[begins[i] .. ends[i] - 1].
// Shapes: begins and ends have the shape of the strings; symbols is a vector.
// Types: strings; integer begins and ends (i32 when unpacked); u8 symbols.
// Threads: strings. Edge cases: ranges may overlap or leave bytes out; a range outside of the symbols is refused.
// Source: operation pages StringTensorPack-15, StringTensorUnpack-15.
#include <algorithm>
#include <limits>
#include <string>

#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// Strings that one thread takes at a time: an allocation each where they are long.
constexpr int64_t kTaskStrings = 512;

void infer_pack(ir::InferContext& ctx) {
  ctx.require(ctx.type(2).compatible(element::u8), "symbols must be u8, got ", ctx.type(2).get_type_name());
  require_rank(ctx, 2, "symbols", 1, 1);
  PartialShape shape = ctx.shape(0);
  ctx.require(PartialShape::merge_into(shape, ctx.shape(1)), "begins and ends must have one shape, got ", ctx.shape(0),
              " and ", ctx.shape(1));
  ctx.set_output(0, element::string, shape);
}

void pack(const ir::EvalContext& ctx) {
  const auto begins = ir::to_integers(ctx.inputs[0]);
  const auto ends = ir::to_integers(ctx.inputs[1]);
  const auto* symbols = static_cast<const char*>(ctx.inputs[2].data);
  const int64_t size = ctx.inputs[2].count();
  if (begins.size() != ends.size() || static_cast<int64_t>(begins.size()) != ctx.outputs[0].count())
    throw_error(ErrorCode::shape_mismatch, begins.size(), " begins, ", ends.size(), " ends");
  auto* strings = static_cast<std::string*>(ctx.outputs[0].data);
  reference::parallel_ranges(static_cast<int64_t>(begins.size()), kTaskStrings, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      if (begins[i] < 0 || begins[i] > ends[i] || ends[i] > size)
        throw_error(ErrorCode::invalid_argument, "string ", i, " would be [", begins[i], ", ", ends[i], ") of ", size,
                    " symbols");
      strings[i].assign(symbols + begins[i], symbols + ends[i]);
    }
  });
}

int64_t total_size(const ir::TensorView& strings) {
  const auto* data = static_cast<const std::string*>(strings.data);
  int64_t total = 0;
  for (int64_t i = 0; i < strings.count(); ++i) total += static_cast<int64_t>(data[i].size());
  if (total > std::numeric_limits<int32_t>::max())
    throw_error(ErrorCode::out_of_memory, "the strings have ", total, " bytes, begins and ends count to 2^31 - 1");
  return total;
}

void infer_unpack(ir::InferContext& ctx) {
  ctx.set_output(0, element::i32, ctx.shape(0));
  ctx.set_output(1, element::i32, ctx.shape(0));
  const auto strings = ctx.value(0);
  ctx.set_output(2, element::u8, PartialShape{strings ? Dimension(total_size(*strings)) : Dimension()});
}

void unpack(const ir::EvalContext& ctx) {
  const ir::TensorView& src = ctx.inputs[0];
  require_dims(ctx.outputs[2], {total_size(src)}, "StringTensorUnpack");
  const auto* strings = static_cast<const std::string*>(src.data);
  auto* symbols = static_cast<char*>(ctx.outputs[2].data);
  auto *begins = ctx.outputs[0].as<int32_t>(), *ends = ctx.outputs[1].as<int32_t>();
  int32_t at = 0;
  for (int64_t i = 0; i < src.count(); ++i) {
    begins[i] = at;
    at += static_cast<int32_t>(strings[i].size());
    ends[i] = at;
  }
  reference::parallel_ranges(src.count(), kTaskStrings, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) std::copy(strings[i].begin(), strings[i].end(), symbols + begins[i]);
  });
}

ir::OpSchema string_schema(int inputs, int outputs, ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {inputs, inputs, outputs};
  schema.infer = infer;
  schema.reference = reference;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema string_tensor_pack_15() { return string_schema(3, 1, &infer_pack, &pack); }
ir::OpSchema string_tensor_unpack_15() { return string_schema(1, 3, &infer_unpack, &unpack); }

}  // namespace terroir::ops
