#include "ops/reference/movement/movement.hpp"

#include <algorithm>

#include "ops/reference/element_copy.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {

void transpose(const ir::EvalContext& ctx) {
  const ir::TensorView& data = ctx.inputs[0];
  const size_t rank = data.dims.size();
  std::vector<int64_t> order = ir::to_integers(ctx.inputs[1]);
  if (order.empty())
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  if (order.size() != rank)
    throw_error(ErrorCode::invalid_argument, "Transpose: the order has ", order.size(), " elements, data has rank ",
                rank);
  require_order(order, static_cast<int64_t>(rank), "input_order");
  const ir::Dims data_steps = ir::row_major(data.dims);
  ir::Dims dims(rank), steps(rank);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = data.dims[static_cast<size_t>(order[i])];
    steps[i] = data_steps[static_cast<size_t>(order[i])];
  }
  require_dims(ctx.outputs[0], dims, "Transpose");
  copy_from_strided(data.type, data.data, 0, steps, ctx.outputs[0].data, dims, "Transpose");
}

void concat(const ir::EvalContext& ctx, int64_t axis) {
  const ir::MutableTensorView& output = ctx.outputs[0];
  const auto k = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(output.dims.size())));
  ir::Dims dims = output.dims;
  dims[k] = 0;
  for (const ir::TensorView& input : ctx.inputs) dims[k] += input.dims.at(k);
  require_dims(output, dims, "Concat");
  if (output.count() == 0) return;
  const ir::Dims steps = ir::row_major(output.dims);
  int64_t offset = 0;
  for (const ir::TensorView& input : ctx.inputs) {
    copy_to_strided(input.type, input.data, output.data, offset, steps, input.dims, "Concat");
    offset += input.dims[k] * steps[k];
  }
}

void split(const ir::EvalContext& ctx, int64_t axis, const char* op) {
  const ir::TensorView& data = ctx.inputs[0];
  const auto k = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(data.dims.size())));
  int64_t total = 0;
  for (const ir::MutableTensorView& output : ctx.outputs) {
    ir::Dims dims = data.dims;
    dims[k] = k < output.dims.size() ? output.dims[k] : -1;
    require_dims(output, dims, op);
    total += dims[k];
  }
  if (total != data.dims[k])
    throw_error(ErrorCode::shape_mismatch, op, ": the pieces have ", total, " elements along axis ", k, ", data has ",
                data.dims[k]);
  if (data.count() == 0) return;
  const ir::Dims steps = ir::row_major(data.dims);
  int64_t offset = 0;
  for (const ir::MutableTensorView& output : ctx.outputs) {
    copy_from_strided(data.type, data.data, offset, steps, output.data, output.dims, op);
    offset += output.dims[k] * steps[k];
  }
}

void gather(const ir::EvalContext& ctx, int64_t batch_dims) {
  const ir::TensorView& data = ctx.inputs[0];
  const ir::TensorView& indices = ctx.inputs[1];
  const auto rank = static_cast<int64_t>(data.dims.size());
  const int64_t axis = normalize_axis(read_integer(ctx.inputs[2], "axis"), rank);
  const int64_t batch = batch_dims < 0 ? batch_dims + static_cast<int64_t>(indices.dims.size()) : batch_dims;
  if (batch < 0 || batch > axis || batch > static_cast<int64_t>(indices.dims.size()))
    throw_error(ErrorCode::invalid_argument, "Gather: batch_dims ", batch_dims, " must not exceed axis ", axis,
                " and the rank of indices ", indices.dims.size());
  const auto split_at = [](const ir::Dims& dims, int64_t from, int64_t to) {
    return ir::Dims(dims.begin() + from, dims.begin() + to);
  };
  const ir::Dims batch_extents = split_at(data.dims, 0, batch);
  if (batch_extents != split_at(indices.dims, 0, batch))
    throw_error(ErrorCode::shape_mismatch, "Gather: the first ", batch, " extents of data ", data.dims, " and indices ",
                indices.dims, " differ");
  const ir::Dims index_extents = split_at(indices.dims, batch, static_cast<int64_t>(indices.dims.size()));
  const ir::Dims inner_extents = split_at(data.dims, axis + 1, rank);
  ir::Dims wanted = split_at(data.dims, 0, axis);
  wanted.insert(wanted.end(), index_extents.begin(), index_extents.end());
  wanted.insert(wanted.end(), inner_extents.begin(), inner_extents.end());
  require_dims(ctx.outputs[0], wanted, "Gather");
  if (ctx.outputs[0].count() == 0) return;

  const int64_t extent = data.dims[static_cast<size_t>(axis)];
  const int64_t batches = ir::element_count(batch_extents);
  const int64_t outer = ir::element_count(split_at(data.dims, batch, axis));
  const int64_t count = ir::element_count(index_extents);
  const int64_t inner = ir::element_count(inner_extents);
  const std::vector<int64_t> index = ir::to_integers(indices);
  const ElementCopier copier(data.type, "Gather");
  void* dst = ctx.outputs[0].data;
  int64_t at = 0;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < count; ++i, at += inner) {
        const int64_t given = index[static_cast<size_t>(b * count + i)];
        const int64_t position = given < 0 ? given + extent : given;
        if (position >= 0 && position < extent)
          copier.copy(dst, at, data.data, ((b * outer + o) * extent + position) * inner, inner);
        else
          copier.clear(dst, at, inner);
      }
    }
  }
}

void slice(const ir::TensorView& data, const std::vector<SliceRange>& ranges, const ir::MutableTensorView& output,
           const char* op) {
  std::vector<ResolvedSlice> parts;
  ir::Dims dims;
  for (size_t i = 0; i < data.dims.size(); ++i) {
    parts.push_back(resolve(ranges[i], data.dims[i]));
    dims.push_back(parts.back().count);
  }
  if (ir::element_count(dims) != output.count())
    throw_error(ErrorCode::shape_mismatch, op, ": the output was planned as ", output.dims, ", but the inputs ask for ",
                dims);
  if (output.count() == 0) return;
  const ir::Dims data_steps = ir::row_major(data.dims);
  ir::Dims steps;
  int64_t offset = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    steps.push_back(parts[i].step * data_steps[i]);
    offset += parts[i].first * data_steps[i];
  }
  copy_from_strided(data.type, data.data, offset, steps, output.data, dims, op);
}

void broadcast(const ir::TensorView& data, std::span<const int64_t> mapping, const ir::MutableTensorView& output) {
  const ir::Dims data_steps = ir::row_major(data.dims);
  ir::Dims steps(output.dims.size(), 0);
  for (size_t i = 0; i < data.dims.size(); ++i) {
    const auto axis = static_cast<size_t>(mapping[i]);
    if (axis >= steps.size())
      throw_error(ErrorCode::shape_mismatch, "Broadcast: axis ", mapping[i], " is outside of the output ", output.dims);
    if (data.dims[i] != 1 && data.dims[i] != output.dims[axis])
      throw_error(ErrorCode::shape_mismatch, "Broadcast: extent ", data.dims[i], " of axis ", i,
                  " cannot be broadcast to ", output.dims[axis]);
    if (data.dims[i] != 1) steps[axis] = data_steps[i];
  }
  copy_from_strided(data.type, data.data, 0, steps, output.data, output.dims, "Broadcast");
}

void tile(const ir::EvalContext& ctx) {
  const ir::TensorView& data = ctx.inputs[0];
  const ir::MutableTensorView& output = ctx.outputs[0];
  ir::Dims repeats = ir::to_integers(ctx.inputs[1]);
  for (int64_t& times : repeats) times = std::max<int64_t>(times, 0);
  ir::Dims extents = data.dims;
  while (repeats.size() < extents.size()) repeats.insert(repeats.begin(), 1);
  while (extents.size() < repeats.size()) extents.insert(extents.begin(), 1);
  // A tiled axis is two axes of the output: the repeat, which does not move in data, and the position inside data.
  ir::Dims dims, steps, wanted;
  const ir::Dims data_steps = ir::row_major(extents);
  for (size_t i = 0; i < extents.size(); ++i) {
    dims.push_back(repeats[i]);
    steps.push_back(0);
    dims.push_back(extents[i]);
    steps.push_back(data_steps[i]);
    wanted.push_back(ir::element_count({repeats[i], extents[i]}));
  }
  require_dims(output, wanted, "Tile");
  copy_from_strided(data.type, data.data, 0, steps, output.data, dims, "Tile");
}

}  // namespace terroir::ops::reference
