#include "ops/reference/sequence/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/base/error.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"

namespace terroir::ops::reference {
namespace {

constexpr const char* kAttention = "ScaledDotProductAttention";

/// Steps of an operand along the axes of `wanted` (its own last axes), 0 where it is repeated.
ir::Dims broadcast_steps(const ir::Dims& dims, const ir::Dims& wanted) {
  const ir::Dims own = ir::row_major(dims);
  ir::Dims steps(wanted.size(), 0);
  const bool fits = dims.size() <= wanted.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const size_t at = wanted.size() - dims.size() + i;
    if (dims[i] != 1 && dims[i] != wanted[at])
      throw_error(ErrorCode::shape_mismatch, kAttention, ": ", dims, " cannot be broadcast to ", wanted);
    if (dims[i] != 1) steps[at] = own[i];
  }
  if (!fits) throw_error(ErrorCode::shape_mismatch, kAttention, ": ", dims, " cannot be broadcast to ", wanted);
  return steps;
}

}  // namespace

void scaled_dot_product_attention(const ir::EvalContext& ctx, bool causal) {
  const ir::Dims& q = ctx.inputs[0].dims;
  const ir::Dims& k = ctx.inputs[1].dims;
  const ir::Dims& v = ctx.inputs[2].dims;
  const ir::Dims& out = ctx.outputs[0].dims;
  if (q.size() < 2 || k.size() < 2 || v.size() < 2 || out.size() < 2 || q.back() != k.back() ||
      k[k.size() - 2] != v[v.size() - 2] || out.back() != v.back() || out[out.size() - 2] != q[q.size() - 2])
    throw_error(ErrorCode::shape_mismatch, kAttention, ": query ", q, ", key ", k, " and value ", v,
                " do not fit the output ", out);
  const int64_t targets = out[out.size() - 2], sources = k[k.size() - 2], depth = q.back(), width = v.back();
  // All operands over one set of axes: the batch, then two of their own.
  const ir::Dims batch(out.begin(), out.end() - 2);
  const auto over_batch = [&](int64_t rows, int64_t columns) {
    ir::Dims dims = batch;
    dims.insert(dims.end(), {rows, columns});
    return dims;
  };
  const ir::Dims q_steps = broadcast_steps(q, over_batch(targets, depth));
  const ir::Dims k_steps = broadcast_steps(k, over_batch(sources, depth));
  const ir::Dims v_steps = broadcast_steps(v, over_batch(sources, width));
  const bool masked = !causal && ctx.inputs.size() > 3;
  const std::vector<float> mask = masked ? to_floats(ctx.inputs[3]) : std::vector<float>{};
  const bool boolean_mask = masked && ctx.inputs[3].type == element::boolean;
  const ir::Dims mask_steps =
      masked ? broadcast_steps(ctx.inputs[3].dims, over_batch(targets, sources)) : ir::Dims(out.size(), 0);
  const bool sinks = ctx.inputs.size() > 5;
  const std::vector<float> sink = sinks ? to_floats(ctx.inputs[5]) : std::vector<float>{};
  const ir::Dims sink_steps =
      sinks ? broadcast_steps(ctx.inputs[5].dims, over_batch(targets, 1)) : ir::Dims(out.size(), 0);
  const std::vector<float> query = to_floats(ctx.inputs[0]);
  const std::vector<float> key = to_floats(ctx.inputs[1]);
  const std::vector<float> value = to_floats(ctx.inputs[2]);
  float scale = 1.0f / std::sqrt(static_cast<float>(depth));
  if (ctx.inputs.size() > 4) {
    const std::vector<float> given = to_floats(ctx.inputs[4]);
    if (given.size() != 1)
      throw_error(ErrorCode::shape_mismatch, kAttention, ": scale has ", given.size(), " elements");
    scale = given.front();
  }

  constexpr float kNever = -std::numeric_limits<float>::infinity();
  // Finite: where nothing is allowed (padding in front of a sequence), NaN would spread to all that reads this row.
  constexpr float kForbidden = std::numeric_limits<float>::lowest();
  std::vector<float> result(static_cast<size_t>(ctx.outputs[0].count()), 0.0f);
  std::vector<float> weights(static_cast<size_t>(sources));
  float* dst = result.data();
  for_each_position(batch, [&](const ir::Dims& at) {
    int64_t q_at = 0, k_at = 0, v_at = 0, mask_at = 0, sink_at = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      q_at += at[i] * q_steps[i];
      k_at += at[i] * k_steps[i];
      v_at += at[i] * v_steps[i];
      mask_at += at[i] * mask_steps[i];
      sink_at += at[i] * sink_steps[i];
    }
    for (int64_t l = 0; l < targets; ++l, dst += width) {
      const float unused = sinks ? sink[static_cast<size_t>(sink_at + l * sink_steps[at.size()])] : kNever;
      float most = unused;
      for (int64_t s = 0; s < sources; ++s) {
        float dot = 0;
        for (int64_t e = 0; e < depth; ++e)
          dot += query[static_cast<size_t>(q_at + l * depth + e)] * key[static_cast<size_t>(k_at + s * depth + e)];
        float& weight = weights[static_cast<size_t>(s)];
        weight = dot * scale;
        if (causal && s > l) weight = kNever;
        if (masked) {
          const float bias =
              mask[static_cast<size_t>(mask_at + l * mask_steps[at.size()] + s * mask_steps[at.size() + 1])];
          weight += boolean_mask ? (bias != 0 ? 0.0f : kForbidden) : bias;
        }
        most = std::max(most, weight);
      }
      float sum = sinks ? std::exp(unused - most) : 0;
      for (float& weight : weights) {
        weight = std::exp(weight - most);
        sum += weight;
      }
      for (int64_t s = 0; s < sources; ++s)
        for (int64_t e = 0; e < width; ++e)
          dst[e] += weights[static_cast<size_t>(s)] / sum * value[static_cast<size_t>(v_at + s * width + e)];
    }
  });
  from_floats(result, ctx.outputs[0], kAttention);
}

}  // namespace terroir::ops::reference
