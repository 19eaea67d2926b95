#include "plugins/cpu/attention_op.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/reference/sequence/attention.hpp"

namespace terroir::cpu {
namespace {

const std::vector<int64_t>& order_of(const FusedAttentionAttrs& attrs, int operand) {
  return operand == 0 ? attrs.q_order : operand == 1 ? attrs.k_order : attrs.v_order;
}

int64_t groups_of(const FusedAttentionAttrs& attrs, int operand) {
  return operand == 0 ? 1 : operand == 1 ? attrs.k_groups : attrs.v_groups;
}

void infer_attention(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<FusedAttentionAttrs>();
  std::vector<ir::Dims> dims;
  for (int i = 0; i < 3; ++i)
    dims.push_back(
        with_groups(permuted(ir::to_dims(ctx.shape(i).to_shape()), order_of(attrs, i)), groups_of(attrs, i)));
  ir::Dims result = dims[0];
  const size_t rank = result.size();
  TERROIR_ASSERT(dims[1].size() == rank && dims[2].size() == rank && dims[0].back() == dims[1].back() &&
                     dims[1][rank - 2] == dims[2][rank - 2] && attrs.k_groups > 0 && attrs.v_groups > 0,
                 dims[0], dims[1], dims[2], attrs.k_groups, attrs.v_groups);
  for (size_t i = 0; i + 2 < rank; ++i)
    for (const ir::Dims& operand : dims)
      if (operand[i] != 1) result[i] = operand[i];
  result.back() = dims[2].back();
  ctx.set_output(0, ctx.type(0), PartialShape(ir::to_shape(permuted(result, attrs.dst_order))));
}

struct Permuted {
  AlignedBuffer memory;
  ir::MutableTensorView view;

  Permuted(const ir::TensorView& source, const std::vector<int64_t>& order, int64_t groups = 1)
      : memory(source.bytes() * static_cast<size_t>(groups)),
        view{source.type, permuted(source.dims, order), memory.data()} {
    transpose(source, order, view);
    const size_t rank = view.dims.size(), each = static_cast<size_t>(groups);
    const auto bytes = static_cast<size_t>(view.dims[rank - 2] * view.dims[rank - 1]) * sizeof(float);
    auto* const matrices = static_cast<std::byte*>(view.data);
    // In place, from the end: what is read has not been written yet.
    for (size_t to = groups == 1 || bytes == 0 ? 0 : source.bytes() / bytes * each; to-- > 0;)
      std::memmove(matrices + to * bytes, matrices + to / each * bytes, bytes);
    view.dims = with_groups(std::move(view.dims), groups);
  }
  static void transpose(const ir::TensorView& source, const std::vector<int64_t>& order, ir::MutableTensorView target) {
    const ir::TensorView inputs[] = {source, {element::i64, {static_cast<int64_t>(order.size())}, order.data()}};
    ops::reference::transpose({*ir::make_attributes<ir::NoAttrs>(), inputs, {&target, 1}});
  }
};

void compute_attention(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<FusedAttentionAttrs>();
  const Permuted q(ctx.inputs[0], attrs.q_order), k(ctx.inputs[1], attrs.k_order, attrs.k_groups),
      v(ctx.inputs[2], attrs.v_order, attrs.v_groups);
  const float no_mask = 0, scale = static_cast<float>(attrs.scale);
  std::vector<ir::TensorView> inputs = {
      q.view, k.view, v.view, {element::f32, {}, &no_mask}, {element::f32, {}, &scale}};
  std::vector<float> added;
  if (ctx.inputs.size() > 3 + static_cast<size_t>(attrs.sink)) {
    inputs[3] = ctx.inputs[3];
    ir::Dims& dims = inputs[3].dims;
    if (inputs[3].type == element::boolean) {
      const auto* allowed = inputs[3].as<uint8_t>();
      for (int64_t i = 0; i < inputs[3].count(); ++i)
        added.push_back((allowed[i] != 0) == attrs.forbids ? static_cast<float>(attrs.forbidden) : 0.0f);
      inputs[3] = {element::f32, dims, added.data()};
    }
    if (attrs.bias) {
      const ir::TensorView mask = inputs[3], &bias = ctx.inputs[4];
      ir::Dims full(std::max(dims.size(), bias.dims.size()), 1);
      for (const ir::Dims& own : {mask.dims, bias.dims})
        for (size_t back = 1; back <= own.size(); ++back)
          if (own[own.size() - back] != 1) full[full.size() - back] = own[own.size() - back];
      for (int64_t i = 0; i < ir::element_count(full); ++i)
        added.push_back(mask.as<float>()[broadcast_index(i, mask.dims, full)] +
                        bias.as<float>()[broadcast_index(i, bias.dims, full)]);
      inputs[3] = {element::f32, std::move(full), added.data()};
    }
    if (dims.size() > q.view.dims.size()) dims.erase(dims.begin(), dims.end() - std::ssize(q.view.dims));
  }
  if (attrs.sink) inputs.push_back(ctx.inputs.back());
  std::vector<int64_t> back(attrs.dst_order.size());
  for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(attrs.dst_order[i])] = static_cast<int64_t>(i);
  AlignedBuffer memory(ctx.outputs[0].bytes());
  ir::MutableTensorView result{element::f32, permuted(ctx.outputs[0].dims, back), memory.data()};
  ops::reference::scaled_dot_product_attention({ctx.attributes, inputs, {&result, 1}}, attrs.causal);
  Permuted::transpose(result, attrs.dst_order, ctx.outputs[0]);
}

}  // namespace

ir::Dims permuted(const ir::Dims& dims, const std::vector<int64_t>& order) {
  TERROIR_ASSERT(dims.size() == order.size(), dims, order.size());
  ir::Dims result;
  for (int64_t axis : order) result.push_back(dims[static_cast<size_t>(axis)]);
  return result;
}

int64_t broadcast_index(int64_t index, const ir::Dims& own, const ir::Dims& full) {
  int64_t result = 0, stride = 1;
  for (size_t back = 1; back <= full.size(); ++back) {
    const int64_t extent = full[full.size() - back], at = index % extent;
    index /= extent;
    if (back > own.size()) continue;
    const int64_t mine = own[own.size() - back];
    if (mine != 1) result += at * stride;
    stride *= mine;
  }
  return result;
}

ir::Dims with_groups(ir::Dims dims, int64_t groups) {
  if (groups != 1) dims.at(dims.size() - 3) *= groups;
  return dims;
}

ir::OpSchema attention_schema() {
  ir::OpSchema schema;
  schema.type = kAttentionType;
  schema.opset = "cpu";
  schema.arity = {3, 6, 1};
  schema.make_attributes = &ir::make_attributes<FusedAttentionAttrs>;
  schema.infer = &infer_attention;
  schema.reference = &compute_attention;
  return schema;
}

}  // namespace terroir::cpu
