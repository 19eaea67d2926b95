#include "ops/shape/broadcast.hpp"

#include <algorithm>

#include "ir/base/error.hpp"

namespace terroir::ops {
namespace {

op::AutoBroadcastSpec spec_of(const BroadcastRule& rule) {
  switch (rule.kind) {
    case AutoBroadcast::numpy:
      return op::AutoBroadcastType::NUMPY;
    case AutoBroadcast::pdpd:
      return {op::AutoBroadcastType::PDPD, rule.axis};
    default:
      return op::AutoBroadcastType::NONE;
  }
}

}  // namespace

PartialShape broadcast_shape(const PartialShape& a, const PartialShape& b, const BroadcastRule& rule) {
  PartialShape result = a;
  if (!PartialShape::broadcast_merge_into(result, b, spec_of(rule))) {
    constexpr auto& names = ir::EnumSpellings<AutoBroadcast>::names;
    throw_error(ErrorCode::shape_mismatch, "the shapes ", a, " and ", b,
                " do not fit together with auto_broadcast=", names[static_cast<size_t>(rule.kind)]);
  }
  return result;
}

ir::Dims align_operand(const ir::Dims& a_dims, const ir::Dims& b_dims, const BroadcastRule& rule) {
  if (rule.kind != AutoBroadcast::pdpd) return b_dims;
  const auto a_rank = static_cast<int64_t>(a_dims.size());
  const auto b_rank = static_cast<int64_t>(b_dims.size());
  const int64_t axis = rule.axis == -1 ? a_rank - b_rank : rule.axis;
  if (axis < 0 || axis > a_rank) throw_error(ErrorCode::shape_mismatch, "axis ", axis, " is outside of shape ", a_dims);
  size_t kept = b_dims.size();
  while (kept > 0 && b_dims[kept - 1] == 1) --kept;
  if (axis + static_cast<int64_t>(kept) > a_rank)
    throw_error(ErrorCode::shape_mismatch, "shape ", b_dims, " does not fit into ", a_dims, " at axis ", axis);
  ir::Dims aligned(a_dims.size(), 1);
  std::copy_n(b_dims.begin(), kept, aligned.begin() + axis);
  return aligned;
}

ir::Dims align_prelu_slope(const ir::Dims& data, const ir::Dims& slope) {
  const size_t channel = data.size() > 1 ? 1 : 0;
  if (slope.size() != 1 || data.empty() || slope[0] != data[channel]) return slope;
  ir::Dims aligned(data.size(), 1);
  aligned[channel] = slope[0];
  return aligned;
}

BroadcastWalk::BroadcastWalk(const ir::Dims& dims, std::initializer_list<ir::Dims> operands)
    : count_(ir::element_count(dims)) {
  TERROIR_ASSERT(operands.size() <= kMaxOperands, operands.size());
  const size_t rank = dims.size();
  std::vector<Axis> all(rank);
  for (size_t i = 0; i < rank; ++i) all[i].extent = dims[i];
  size_t operand = 0;
  for (const ir::Dims& own : operands) {
    if (own.size() > rank)
      throw_error(ErrorCode::shape_mismatch, "an operand of shape ", own, " does not broadcast to ", dims);
    int64_t stride = 1;
    for (size_t from_end = 1; from_end <= rank; ++from_end) {
      Axis& axis = all[rank - from_end];
      const int64_t extent = from_end <= own.size() ? own[own.size() - from_end] : 1;
      if (extent != 1 && extent != axis.extent)
        throw_error(ErrorCode::shape_mismatch, "an operand of shape ", own, " does not broadcast to ", dims);
      axis.strides[operand] = extent == 1 ? 0 : stride;
      // Extents of an empty operand may be huge beside the zero; nothing is visited then.
      if (count_ > 0) stride *= extent;
    }
    ++operand;
  }
  if (count_ == 0) return;
  for (const Axis& axis : all) {
    if (axis.extent == 1) continue;
    bool joins = !axes_.empty();
    for (size_t k = 0; joins && k < operand; ++k) joins = axes_.back().strides[k] == axis.strides[k] * axis.extent;
    if (joins) {
      axes_.back().extent *= axis.extent;
      axes_.back().strides = axis.strides;
    } else {
      axes_.push_back(axis);
    }
  }
  if (!axes_.empty()) {
    run_ = axes_.back().extent;
    steps_ = axes_.back().strides;
    axes_.pop_back();
  }
  index_.assign(axes_.size(), 0);
}

void BroadcastWalk::next() {
  position_ += run_;
  for (size_t i = axes_.size(); i-- > 0;) {
    const Axis& axis = axes_[i];
    if (++index_[i] < axis.extent) {
      for (size_t k = 0; k < kMaxOperands; ++k) offsets_[k] += axis.strides[k];
      return;
    }
    index_[i] = 0;
    for (size_t k = 0; k < kMaxOperands; ++k) offsets_[k] -= axis.strides[k] * (axis.extent - 1);
  }
}

}  // namespace terroir::ops
