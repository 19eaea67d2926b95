#include "ops/reference/movement/rearrange.hpp"

#include <algorithm>

#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/movement/scatter.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

ir::Dims part(const ir::Dims& dims, size_t from, size_t to) {
  return ir::Dims(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.begin() + static_cast<std::ptrdiff_t>(to));
}

int64_t offset_of(const ir::Dims& position, const ir::Dims& steps) {
  int64_t offset = 0;
  for (size_t i = 0; i < position.size(); ++i) offset += position[i] * steps[i];
  return offset;
}

/// Of any type of numbers, truncated.
std::vector<int64_t> lengths_of(const ir::TensorView& lengths) {
  if (!lengths.type.is_real()) return ir::to_integers(lengths);
  std::vector<int64_t> result;
  for (const float length : to_floats(lengths)) result.push_back(saturate<int64_t>(static_cast<double>(length)));
  return result;
}

}  // namespace

void gather_elements(const ir::EvalContext& ctx, int64_t axis) {
  constexpr const char* kOp = "GatherElements";
  const ir::TensorView& data = ctx.inputs[0];
  const ir::TensorView& indices = ctx.inputs[1];
  const auto k = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(data.dims.size())));
  ir::Dims wanted = data.dims;
  if (k < indices.dims.size()) wanted[k] = indices.dims[k];
  if (indices.dims != wanted)
    throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", indices.dims, " must be as data ", data.dims,
                " but for axis ", k);
  require_dims(ctx.outputs[0], indices.dims, kOp);
  const std::vector<int64_t> values = ir::to_integers(indices);
  const ElementCopier copier(data.type, kOp);
  const ir::Dims steps = ir::row_major(data.dims);
  int64_t at = 0;
  for_each_position(indices.dims, [&](const ir::Dims& position) {
    const int64_t index = checked_index(values[static_cast<size_t>(at)], data.dims[k], kOp);
    copier.copy(ctx.outputs[0].data, at++, data.data, offset_of(position, steps) + (index - position[k]) * steps[k], 1);
  });
}

void gather_nd(const ir::EvalContext& ctx, int64_t batch_dims) {
  constexpr const char* kOp = "GatherND";
  const ir::TensorView& data = ctx.inputs[0];
  const ir::TensorView& indices = ctx.inputs[1];
  const auto batch = static_cast<size_t>(batch_dims);
  if (indices.dims.size() <= batch || data.dims.size() < batch ||
      indices.dims.back() > static_cast<int64_t>(data.dims.size() - batch) ||
      part(data.dims, 0, batch) != part(indices.dims, 0, batch))
    throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", indices.dims, " do not fit data ", data.dims,
                " with batch_dims ", batch_dims);
  const auto depth = static_cast<size_t>(indices.dims.back());
  const int64_t batches = ir::element_count(data.dims, 0, batch);
  const int64_t per_batch = ir::element_count(indices.dims, batch, indices.dims.size() - 1);
  const int64_t length = ir::element_count(data.dims, batch + depth, data.dims.size());
  if (ir::element_count({batches, per_batch, length}) != ctx.outputs[0].count())
    throw_error(ErrorCode::shape_mismatch, kOp, ": the output was planned as ", ctx.outputs[0].dims, " for indices ",
                indices.dims, " of data ", data.dims);
  if (ctx.outputs[0].count() == 0) return;
  const std::vector<int64_t> values = ir::to_integers(indices);
  const ElementCopier copier(data.type, kOp);
  const ir::Dims steps = ir::row_major(data.dims);
  const int64_t batch_step = ir::element_count(data.dims, batch, data.dims.size());
  for (int64_t i = 0; i < batches * per_batch; ++i) {
    int64_t from = i / per_batch * batch_step;
    for (size_t k = 0; k < depth; ++k)
      from += steps[batch + k] * checked_index(values[static_cast<size_t>(i) * depth + k], data.dims[batch + k], kOp);
    copier.copy(ctx.outputs[0].data, i * length, data.data, from, length);
  }
}

void reverse(const ir::EvalContext& ctx, const std::vector<bool>& axes) {
  const ir::TensorView& data = ctx.inputs[0];
  require_dims(ctx.outputs[0], data.dims, "Reverse");
  if (data.count() == 0) return;
  ir::Dims steps = ir::row_major(data.dims);
  int64_t offset = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!axes[i]) continue;
    offset += (data.dims[i] - 1) * steps[i];
    steps[i] = -steps[i];
  }
  copy_from_strided(data.type, data.data, offset, steps, ctx.outputs[0].data, data.dims, "Reverse");
}

void reverse_sequence(const ir::EvalContext& ctx, int64_t batch_axis, int64_t seq_axis) {
  constexpr const char* kOp = "ReverseSequence";
  const ir::TensorView& data = ctx.inputs[0];
  const auto rank = static_cast<int64_t>(data.dims.size());
  const auto batch = static_cast<size_t>(normalize_axis(batch_axis, rank, "batch_axis"));
  const auto seq = static_cast<size_t>(normalize_axis(seq_axis, rank, "seq_axis"));
  const std::vector<int64_t> lengths = lengths_of(ctx.inputs[1]);
  if (static_cast<int64_t>(lengths.size()) != data.dims[batch])
    throw_error(ErrorCode::shape_mismatch, kOp, ": ", lengths.size(), " seq_lengths for a batch of ", data.dims[batch]);
  for (const int64_t length : lengths)
    if (length < 0 || length > data.dims[seq])
      throw_error(ErrorCode::invalid_argument, kOp, ": seq_lengths must be in [0, ", data.dims[seq], "], got ", length);
  require_dims(ctx.outputs[0], data.dims, kOp);
  const size_t outer = std::max(batch, seq) + 1;
  const int64_t length = ir::element_count(data.dims, outer, data.dims.size());
  const ir::Dims steps = ir::row_major(part(data.dims, 0, outer));
  const ElementCopier copier(data.type, kOp);
  int64_t at = 0;
  for_each_position(part(data.dims, 0, outer), [&](const ir::Dims& position) {
    const int64_t reversed = lengths[static_cast<size_t>(position[batch])];
    int64_t from = at;
    if (position[seq] < reversed) from += (reversed - 1 - 2 * position[seq]) * steps[seq];
    copier.copy(ctx.outputs[0].data, at * length, data.data, from * length, length);
    ++at;
  });
}

void roll(const ir::EvalContext& ctx, const std::vector<int64_t>& shifts) {
  const ir::TensorView& data = ctx.inputs[0];
  require_dims(ctx.outputs[0], data.dims, "Roll");
  if (data.count() == 0) return;
  size_t outer = shifts.size();
  while (outer > 0 && shifts[outer - 1] == 0) --outer;
  const ir::Dims extents = part(data.dims, 0, outer);
  const ir::Dims steps = ir::row_major(extents);
  const int64_t length = ir::element_count(data.dims, outer, data.dims.size());
  const ElementCopier copier(data.type, "Roll");
  int64_t at = 0;
  for_each_position(extents, [&](const ir::Dims& position) {
    int64_t from = 0;
    for (size_t i = 0; i < outer; ++i)
      from += steps[i] * (position[i] >= shifts[i] ? position[i] - shifts[i] : position[i] - shifts[i] + extents[i]);
    copier.copy(ctx.outputs[0].data, at * length, data.data, from * length, length);
    ++at;
  });
}

void permute(const ir::EvalContext& ctx, const ir::Dims& split, const std::vector<int64_t>& order, const char* op) {
  const ir::TensorView& data = ctx.inputs[0];
  if (ir::element_count(split) != data.count() || ctx.outputs[0].count() != data.count())
    throw_error(ErrorCode::shape_mismatch, op, ": data ", data.dims, " cannot be divided into ", split);
  const ir::Dims split_steps = ir::row_major(split);
  ir::Dims dims, steps;
  for (const int64_t axis : order) {
    dims.push_back(split[static_cast<size_t>(axis)]);
    steps.push_back(split_steps[static_cast<size_t>(axis)]);
  }
  copy_from_strided(data.type, data.data, 0, steps, ctx.outputs[0].data, dims, op);
}

namespace {

/// block_shape and the two lists after it, checked against the rank.
struct Blocks {
  std::vector<int64_t> shape, begin, end;

  Blocks(const ir::EvalContext& ctx, size_t rank, const char* op)
      : shape(ir::to_integers(ctx.inputs[1])),
        begin(ir::to_integers(ctx.inputs[2])),
        end(ir::to_integers(ctx.inputs[3])) {
    if (shape.size() != rank || begin.size() != rank || end.size() != rank)
      throw_error(ErrorCode::shape_mismatch, op, ": lists of ", shape.size(), ", ", begin.size(), " and ", end.size(),
                  " elements for rank ", rank);
    for (size_t i = 0; i < rank; ++i)
      if (shape[i] < 1 || begin[i] < 0 || end[i] < 0)
        throw_error(ErrorCode::invalid_argument, op, ": axis ", i, " has block ", shape[i], " and borders ", begin[i],
                    " and ", end[i]);
  }
};

/// Walks the spatial side of BatchToSpace and SpaceToBatch: fn(spatial offset, batch-side position) for each element of
/// the spatial tensor, `before[i]` of whose elements along axis i lie in front of it.
template <class Fn>
void for_each_block_pair(const ir::Dims& spatial, int64_t batch, const std::vector<int64_t>& blocks,
                         const std::vector<int64_t>& before, Fn&& fn) {
  ir::Dims other(spatial.size());
  int64_t at = 0;
  for_each_position(spatial, [&](const ir::Dims& position) {
    int64_t block = 0;
    for (size_t i = 1; i < position.size(); ++i) {
      const int64_t full = position[i] + before[i];
      block = block * blocks[i] + full % blocks[i];
      other[i] = full / blocks[i];
    }
    if (!other.empty()) other[0] = block * batch + position[0];
    fn(at++, other);
  });
}

}  // namespace

void batch_to_space(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "BatchToSpace";
  const ir::TensorView& data = ctx.inputs[0];
  const Blocks blocks(ctx, data.dims.size(), kOp);
  const int64_t block_count = ir::element_count(blocks.shape);
  ir::Dims wanted = data.dims;
  wanted[0] /= block_count;
  for (size_t i = 1; i < wanted.size(); ++i)
    wanted[i] = ir::element_count({data.dims[i], blocks.shape[i]}) - blocks.begin[i] - blocks.end[i];
  if (blocks.shape[0] != 1 || blocks.begin[0] != 0 || blocks.end[0] != 0 || data.dims[0] % block_count != 0)
    throw_error(ErrorCode::invalid_argument, kOp, ": block_shape ", blocks.shape, " does not fit data ", data.dims);
  require_dims(ctx.outputs[0], wanted, kOp);
  const ElementCopier copier(data.type, kOp);
  const ir::Dims steps = ir::row_major(data.dims);
  for_each_block_pair(wanted, wanted[0], blocks.shape, blocks.begin, [&](int64_t at, const ir::Dims& from) {
    copier.copy(ctx.outputs[0].data, at, data.data, offset_of(from, steps), 1);
  });
}

void space_to_batch(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "SpaceToBatch";
  const ir::TensorView& data = ctx.inputs[0];
  const ir::MutableTensorView& output = ctx.outputs[0];
  const Blocks blocks(ctx, data.dims.size(), kOp);
  ir::Dims wanted = data.dims;
  wanted[0] = ir::element_count({data.dims[0], ir::element_count(blocks.shape)});
  for (size_t i = 1; i < wanted.size(); ++i)
    wanted[i] = (data.dims[i] + blocks.begin[i] + blocks.end[i]) / blocks.shape[i];
  if (blocks.shape[0] != 1 || blocks.begin[0] != 0 || blocks.end[0] != 0)
    throw_error(ErrorCode::invalid_argument, kOp, ": block_shape ", blocks.shape, " does not fit data ", data.dims);
  for (size_t i = 1; i < wanted.size(); ++i)
    if ((data.dims[i] + blocks.begin[i] + blocks.end[i]) % blocks.shape[i] != 0)
      throw_error(ErrorCode::invalid_argument, kOp, ": axis ", i, " of data ", data.dims,
                  " with its padding does not divide by block ", blocks.shape[i]);
  require_dims(output, wanted, kOp);
  const ElementCopier copier(data.type, kOp);
  copier.clear(output.data, 0, output.count());
  const ir::Dims steps = ir::row_major(output.dims);
  for_each_block_pair(data.dims, data.dims[0], blocks.shape, blocks.begin, [&](int64_t at, const ir::Dims& to) {
    copier.copy(output.data, offset_of(to, steps), data.data, at, 1);
  });
}

void extract_image_patches(const ir::EvalContext& ctx, const PatchParams& params) {
  const ir::TensorView& data = ctx.inputs[0];
  const ir::MutableTensorView& output = ctx.outputs[0];
  const ir::Dims& in = data.dims;
  if (in.size() != 4 || output.dims.size() != 4 || output.dims[0] != in[0] ||
      output.dims[1] != ir::element_count({in[1], params.sizes[0], params.sizes[1]}))
    throw_error(ErrorCode::shape_mismatch, "ExtractImagePatches: output ", output.dims, " for data ", in);
  const ElementCopier copier(data.type, "ExtractImagePatches");
  const ir::Dims steps = ir::row_major(in);
  int64_t at = 0;
  for_each_position(output.dims, [&](const ir::Dims& position) {
    const int64_t tap = position[1] / in[1];
    const int64_t c = position[1] % in[1];
    const int64_t y = position[2] * params.strides[0] - params.pads_begin[0] + tap / params.sizes[1] * params.rates[0];
    const int64_t x = position[3] * params.strides[1] - params.pads_begin[1] + tap % params.sizes[1] * params.rates[1];
    if (y >= 0 && y < in[2] && x >= 0 && x < in[3])
      copier.copy(output.data, at, data.data, offset_of({position[0], c, y, x}, steps), 1);
    else
      copier.clear(output.data, at, 1);
    ++at;
  });
}

void gather_tree(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "GatherTree";
  const ir::TensorView& steps = ctx.inputs[0];
  const ir::MutableTensorView& output = ctx.outputs[0];
  if (steps.dims.size() != 3 || ctx.inputs[1].dims != steps.dims || ctx.inputs[2].count() != steps.dims[1] ||
      ctx.inputs[3].count() != 1)
    throw_error(ErrorCode::shape_mismatch, kOp, ": parent_ids ", ctx.inputs[1].dims, ", max_seq_len ",
                ctx.inputs[2].dims, " and end_token ", ctx.inputs[3].dims, " do not fit step_ids ", steps.dims);
  require_dims(output, steps.dims, kOp);
  const int64_t times = steps.dims[0], batches = steps.dims[1], beams = steps.dims[2];
  const std::vector<double> ids = ir::to_reals(steps);
  const std::vector<double> parents = ir::to_reals(ctx.inputs[1]);
  const std::vector<double> lengths = ir::to_reals(ctx.inputs[2]);
  const double end = ir::to_reals(ctx.inputs[3]).front();
  const ElementCopier copier(steps.type, kOp);
  for (int64_t b = 0; b < batches; ++b) {
    const double wanted = lengths[static_cast<size_t>(b)];
    const int64_t length = wanted >= static_cast<double>(times) ? times
                           : wanted >= 1                        ? static_cast<int64_t>(wanted)
                                                                : 0;
    for (int64_t beam = 0; beam < beams; ++beam) {
      const auto at = [&](int64_t time, int64_t which) { return (time * batches + b) * beams + which; };
      // Backwards along the parents; then what follows the first end token is end tokens.
      std::vector<int64_t> from(static_cast<size_t>(length));
      int64_t current = beam;
      for (int64_t time = length; time-- > 0;) {
        from[static_cast<size_t>(time)] = at(time, current);
        if (time == 0) break;
        const double parent = parents[static_cast<size_t>(at(time, current))];
        if (!(parent >= 0 && parent < static_cast<double>(beams)))
          throw_error(ErrorCode::invalid_argument, kOp, ": parent ", parent, " is out of range [0, ", beams - 1, "]");
        current = static_cast<int64_t>(parent);
      }
      bool finished = false;
      for (int64_t time = 0; time < times; ++time) {
        if (time >= length || finished) {
          copier.copy(output.data, at(time, beam), ctx.inputs[3].data, 0, 1);
          continue;
        }
        const int64_t source = from[static_cast<size_t>(time)];
        copier.copy(output.data, at(time, beam), steps.data, source, 1);
        finished = ids[static_cast<size_t>(source)] == end;
      }
    }
  }
}

}  // namespace terroir::ops::reference
