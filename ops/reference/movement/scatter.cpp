#include "ops/reference/movement/scatter.hpp"

#include <algorithm>
#include <map>

#include "ops/reference/copy.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/movement/scatter_combine.hpp"
#include "ops/reference/movement/scatter_misfit.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// Where the pieces of updates go: piece i, of `length` elements, to element places[i].
struct Places {
  std::vector<int64_t> at;
  int64_t length = 1;
};

/// Calls fn(element of the output, element of updates).
template <class Fn>
void for_each_pair(const Places& places, Fn&& fn) {
  for (size_t i = 0; i < places.at.size(); ++i)
    for (int64_t k = 0; k < places.length; ++k) fn(places.at[i] + k, static_cast<int64_t>(i) * places.length + k);
}

void combine_bool(const Places& places, const ir::TensorView& updates, uint8_t* dst, ScatterReduction reduction,
                  bool use_init_val) {
  const auto* src = updates.as<uint8_t>();
  if (!use_init_val) {
    const bool start = reduction == ScatterReduction::prod || reduction == ScatterReduction::min;
    for_each_pair(places, [&](int64_t to, int64_t) { dst[to] = start; });
  }
  for_each_pair(places, [&](int64_t to, int64_t from) { dst[to] = combined_bool(reduction, dst[to], src[from]); });
}

template <class T>
void combine_numbers(const Places& places, const ir::TensorView& updates, T* dst, ScatterReduction reduction,
                     bool use_init_val) {
  using C = compute_t<T>;
  const T* src = updates.as<T>();
  if (reduction == ScatterReduction::mean) {
    using Sum = ScatterSum<T>;
    std::map<int64_t, std::pair<Sum, int64_t>> sums;
    for_each_pair(places, [&](int64_t to, int64_t from) {
      auto [entry, fresh] = sums.try_emplace(to, Sum{0}, int64_t{0});
      if (fresh && use_init_val) entry->second = {static_cast<Sum>(static_cast<C>(dst[to])), 1};
      entry->second.first =
          combined(ScatterReduction::sum, entry->second.first, static_cast<Sum>(static_cast<C>(src[from])));
      ++entry->second.second;
    });
    for (const auto& [to, sum] : sums) dst[to] = mean_of<T>(sum.first, sum.second);
    return;
  }
  if (!use_init_val)
    for_each_pair(places, [&](int64_t to, int64_t) { dst[to] = static_cast<T>(neutral<C>(reduction)); });
  for_each_pair(places, [&](int64_t to, int64_t from) {
    dst[to] = static_cast<T>(combined<C>(reduction, static_cast<C>(dst[to]), static_cast<C>(src[from])));
  });
}

/// Writes the updates into the output, which holds a copy of data.
void apply(const ir::EvalContext& ctx, const Places& places, ScatterReduction reduction, bool use_init_val,
           const char* op) {
  const ir::TensorView& updates = ctx.inputs[2];
  const ir::MutableTensorView& output = ctx.outputs[0];
  if (updates.type != output.type)
    throw_error(ErrorCode::type_mismatch, op, ": updates of type ", updates.type.get_type_name(), " for data of type ",
                output.type.get_type_name());
  if (updates.count() != static_cast<int64_t>(places.at.size()) * places.length)
    throw_error(ErrorCode::shape_mismatch, op, ": updates ", updates.dims, " do not fit indices ", ctx.inputs[1].dims,
                " of data ", output.dims);
  if (reduction == ScatterReduction::none) {
    const ElementCopier copier(output.type, op);
    for (size_t i = 0; i < places.at.size(); ++i)
      copier.copy(output.data, places.at[i], updates.data, static_cast<int64_t>(i) * places.length, places.length);
  } else if (output.type == element::boolean) {
    if (reduction == ScatterReduction::mean)
      throw_error(ErrorCode::unsupported, op, ": there is no mean of boolean elements");
    combine_bool(places, updates, static_cast<uint8_t*>(output.data), reduction, use_init_val);
  } else {
    dispatch_type<TERROIR_NUMBERS>(output.type, op, [&](auto tag) {
      combine_numbers(places, updates, output.as<decltype(tag)>(), reduction, use_init_val);
    });
  }
}

}  // namespace

int64_t checked_index(int64_t index, int64_t extent, const char* op) {
  if (index < -extent || index >= extent)
    throw_error(ErrorCode::invalid_argument, op, ": index ", index, " is out of range [", -extent, ", ", extent - 1,
                "]");
  return index < 0 ? index + extent : index;
}

void scatter_update(const ir::EvalContext& ctx) {
  copy(ctx);
  const ir::Dims& dims = ctx.inputs[0].dims;
  const auto axis =
      static_cast<size_t>(normalize_axis(read_integer(ctx.inputs[3], "axis"), static_cast<int64_t>(dims.size())));
  const int64_t outer = ir::element_count(dims, 0, axis);
  Places places;
  places.length = ir::element_count(dims, axis + 1, dims.size());
  const std::vector<int64_t> indices = ir::to_integers(ctx.inputs[1]);
  for (const int64_t index : indices)
    if (index < 0 || index >= dims[axis])
      throw_error(ErrorCode::invalid_argument, "ScatterUpdate: index ", index, " is out of range [0, ", dims[axis] - 1,
                  "]");
  ir::Dims fitting = ctx.inputs[1].dims;
  fitting.insert(fitting.begin(), dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis));
  fitting.insert(fitting.end(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end());
  const ir::TensorView& updates = ctx.inputs[2];
  if (updates.dims != fitting && updates.dims.size() == fitting.size() && updates.type == ctx.outputs[0].type) {
    scatter_misfit(ctx.outputs[0], indices, ctx.inputs[1].dims.size(), updates, axis);
    return;
  }
  for (int64_t o = 0; o < outer; ++o)
    for (const int64_t index : indices) places.at.push_back((o * dims[axis] + index) * places.length);
  apply(ctx, places, ScatterReduction::none, true, "ScatterUpdate");
}

void scatter_elements_update(const ir::EvalContext& ctx, ScatterReduction reduction, bool use_init_val) {
  constexpr const char* kOp = "ScatterElementsUpdate";
  copy(ctx);
  const ir::Dims& dims = ctx.inputs[0].dims;
  const ir::TensorView& indices = ctx.inputs[1];
  const auto rank = static_cast<int64_t>(dims.size());
  const auto axis = static_cast<size_t>(normalize_axis(read_integer(ctx.inputs[3], "axis"), rank));
  if (indices.dims.size() != dims.size())
    throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", indices.dims, " must have the rank of data ", dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != axis && indices.dims[i] > dims[i])
      throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", indices.dims, " reach beyond data ", dims, " on axis ",
                  i);
  const std::vector<int64_t> values = ir::to_integers(indices);
  const ir::Dims steps = ir::row_major(dims);
  Places places;
  places.at.reserve(values.size());
  for_each_position(indices.dims, [&](const ir::Dims& position) {
    int64_t at = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      at += steps[i] * (i == axis ? checked_index(values[places.at.size()], dims[axis], kOp) : position[i]);
    places.at.push_back(at);
  });
  apply(ctx, places, reduction, use_init_val, kOp);
}

void scatter_nd_update(const ir::EvalContext& ctx, ScatterReduction reduction) {
  constexpr const char* kOp = "ScatterNDUpdate";
  copy(ctx);
  const ir::Dims& dims = ctx.inputs[0].dims;
  const ir::TensorView& indices = ctx.inputs[1];
  const int64_t depth = indices.dims.empty() ? -1 : indices.dims.back();
  if (depth < 0 || depth > static_cast<int64_t>(dims.size()))
    throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", indices.dims, " for data ", dims);
  const auto axes = static_cast<size_t>(depth);
  const std::vector<int64_t> values = ir::to_integers(indices);
  const int64_t count = ir::element_count(indices.dims, 0, indices.dims.size() - 1);
  const ir::Dims steps = ir::row_major(dims);
  Places places;
  places.length = ir::element_count(dims, axes, dims.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t k = 0; k < axes; ++k)
      at += steps[k] * checked_index(values[static_cast<size_t>(i) * axes + k], dims[k], kOp);
    places.at.push_back(at);
  }
  apply(ctx, places, reduction, true, kOp);
}

}  // namespace terroir::ops::reference
