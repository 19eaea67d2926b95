#include "ops/reference/sparse/embedding.hpp"

#include <algorithm>
#include <numeric>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

/// Bag i has the entries begins[i] to begins[i + 1] of `rows`.
struct Bags {
  const char* op;
  std::vector<int64_t> rows;    // rows of the table
  std::vector<int64_t> begins;  // one more than there are bags
  int64_t default_row = -1;     // for empty bags; -1: zeros
};

void check_row(const Bags& bags, int64_t row, int64_t count) {
  if (row < 0 || row >= count)
    throw_error(ErrorCode::invalid_argument, bags.op, ": index ", row, " is out of range [0, ", count - 1, "]");
}

void reduce(const ir::EvalContext& ctx, const Bags& bags, const ir::TensorView* weights, BagReduction reduction) {
  const ir::TensorView& table = ctx.inputs[0];
  const int64_t count = table.dims.at(0);
  for (const int64_t row : bags.rows) check_row(bags, row, count);
  if (bags.default_row != -1) check_row(bags, bags.default_row, count);
  ir::Dims wanted = table.dims;
  wanted[0] = static_cast<int64_t>(bags.begins.size()) - 1;
  require_dims(ctx.outputs[0], wanted, bags.op);
  if (weights && (weights->count() != static_cast<int64_t>(bags.rows.size()) || weights->type != table.type))
    throw_error(ErrorCode::shape_mismatch, bags.op, ": weights ", weights->dims, " for ", bags.rows.size(), " indices");
  const int64_t length = ir::element_count({table.dims.begin() + 1, table.dims.end()});
  dispatch_type<TERROIR_NUMBERS>(table.type, bags.op, [&](auto tag) {
    using T = decltype(tag);
    // Integers are added as unsigned 64-bit numbers, which wrap around.
    using C = std::conditional_t<std::is_integral_v<T>, uint64_t, compute_t<T>>;
    const T* src = table.as<T>();
    const T* weight = weights ? weights->as<T>() : nullptr;
    T* dst = ctx.outputs[0].as<T>();
    const auto reduce_bag = [&](size_t bag, std::vector<C>& sum) {
      const int64_t begin = bags.begins[bag], end = bags.begins[bag + 1];
      T* to = dst + static_cast<int64_t>(bag) * length;
      std::fill(sum.begin(), sum.end(), C(0));
      for (int64_t i = begin; i < end; ++i) {
        const T* row = src + bags.rows[static_cast<size_t>(i)] * length;
        const C scale = weight ? static_cast<C>(weight[i]) : C(1);
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += static_cast<C>(row[k]) * scale;
      }
      for (size_t k = 0; k < sum.size(); ++k) {
        T value = static_cast<T>(sum[k]);
        if (begin == end) {
          value = bags.default_row == -1 ? T(0) : src[bags.default_row * length + static_cast<int64_t>(k)];
        } else if (reduction == BagReduction::mean) {
          if constexpr (std::is_integral_v<T>)
            value = static_cast<T>(static_cast<int64_t>(sum[k]) / (end - begin));
          else
            value = static_cast<T>(sum[k] / static_cast<C>(end - begin));
        }
        to[k] = value;
      }
    };
    constexpr int64_t kTaskElements = 16384;
    const int64_t of_bag = length * static_cast<int64_t>(bags.rows.size()) / std::max<int64_t>(1, wanted[0]);
    parallel_ranges(wanted[0], std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, of_bag)),
                    [&](int64_t begin, int64_t end) {
                      std::vector<C> sum(static_cast<size_t>(length));
                      for (int64_t bag = begin; bag < end; ++bag) reduce_bag(static_cast<size_t>(bag), sum);
                    });
  });
}

void require_length(const Bags& bags, const char* name, const ir::TensorView& tensor, int64_t wanted) {
  if (tensor.count() != wanted)
    throw_error(ErrorCode::shape_mismatch, bags.op, ": ", name, " has ", tensor.count(), " elements, not ", wanted);
}

}  // namespace

void embedding_bag_offsets(const ir::EvalContext& ctx, BagReduction reduction) {
  Bags bags{"EmbeddingBagOffsets", ir::to_integers(ctx.inputs[1]), ir::to_integers(ctx.inputs[2])};
  const auto count = static_cast<int64_t>(bags.rows.size());
  bags.begins.push_back(count);
  for (size_t i = 0; i + 1 < bags.begins.size(); ++i)
    if (bags.begins[i] < 0 || bags.begins[i] > bags.begins[i + 1])
      throw_error(ErrorCode::invalid_argument, bags.op, ": offsets must ascend from 0 to ", count, ", got ",
                  bags.begins[i], " before ", bags.begins[i + 1]);
  if (ctx.inputs.size() > 3) bags.default_row = read_integer(ctx.inputs[3], "default_index");
  reduce(ctx, bags, ctx.inputs.size() > 4 ? &ctx.inputs[4] : nullptr, reduction);
}

void embedding_bag_packed(const ir::EvalContext& ctx, BagReduction reduction) {
  Bags bags{"EmbeddingBagPacked", ir::to_integers(ctx.inputs[1]), {}};
  const ir::Dims& dims = ctx.inputs[1].dims;
  if (dims.size() != 2) throw_error(ErrorCode::shape_mismatch, bags.op, ": indices are ", dims);
  for (int64_t i = 0; i <= dims[0]; ++i) bags.begins.push_back(i * dims[1]);
  reduce(ctx, bags, ctx.inputs.size() > 2 ? &ctx.inputs[2] : nullptr, reduction);
}

void embedding_segments_sum(const ir::EvalContext& ctx) {
  Bags bags{"EmbeddingSegmentsSum", ir::to_integers(ctx.inputs[1]), {}};
  const std::vector<int64_t> segments = ir::to_integers(ctx.inputs[2]);
  require_length(bags, "segment_ids", ctx.inputs[2], static_cast<int64_t>(bags.rows.size()));
  const int64_t count = read_integer(ctx.inputs[3], "num_segments");
  if (ctx.outputs[0].dims.empty() || ctx.outputs[0].dims[0] != count)
    throw_error(ErrorCode::shape_mismatch, bags.op, ": the output was planned as ", ctx.outputs[0].dims, " for ", count,
                " segments");
  size_t next = 0;
  for (int64_t segment = 0; segment < count; ++segment) {
    bags.begins.push_back(static_cast<int64_t>(next));
    while (next < segments.size() && segments[next] == segment) ++next;
  }
  if (next != segments.size())
    throw_error(ErrorCode::invalid_argument, bags.op, ": segment_ids must ascend inside of [0, ", count - 1, "], got ",
                segments[next], " at position ", next);
  bags.begins.push_back(static_cast<int64_t>(next));
  if (ctx.inputs.size() > 4) bags.default_row = read_integer(ctx.inputs[4], "default_index");
  reduce(ctx, bags, ctx.inputs.size() > 5 ? &ctx.inputs[5] : nullptr, BagReduction::sum);
}

void sparse_fill_empty_rows(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "SparseFillEmptyRows";
  const ir::TensorView& values = ctx.inputs[0];
  const std::vector<int64_t> shape = ir::to_integers(ctx.inputs[1]);
  const std::vector<int64_t> indices = ir::to_integers(ctx.inputs[2]);
  const int64_t count = values.count();
  if (shape.size() != 2 || static_cast<int64_t>(indices.size()) != count * 2 || ctx.inputs[3].count() != 1)
    throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", ctx.inputs[2].dims, " for values ", values.dims);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto row_of = [&](int64_t i) { return indices[static_cast<size_t>(i) * 2]; };
  for (const int64_t i : order) {
    const int64_t column = indices[static_cast<size_t>(i) * 2 + 1];
    if (row_of(i) < 0 || row_of(i) >= shape[0] || column < 0 || column >= shape[1])
      throw_error(ErrorCode::invalid_argument, kOp, ": index [", row_of(i), ",", column, "] is outside of ", shape);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return row_of(a) < row_of(b); });
  require_dims(ctx.outputs[2], {shape[0]}, kOp);
  const int64_t room = ctx.outputs[1].count();
  auto* empty = static_cast<uint8_t*>(ctx.outputs[2].data);
  const ElementCopier copier(values.type, kOp);
  std::vector<int64_t> found;
  int64_t rows = 0;
  const auto add = [&](const void* from, int64_t at, int64_t row, int64_t column) {
    if (rows >= room)
      throw_error(ErrorCode::shape_mismatch, kOp, ": the outputs have no room for ", rows + 1, " values");
    copier.copy(ctx.outputs[1].data, rows++, from, at, 1);
    found.insert(found.end(), {row, column});
  };
  size_t next = 0;
  for (int64_t row = 0; row < shape[0]; ++row) {
    empty[row] = next == order.size() || row_of(order[next]) != row;
    if (empty[row]) add(ctx.inputs[3].data, 0, row, 0);
    for (; next < order.size() && row_of(order[next]) == row; ++next)
      add(values.data, order[next], row, indices[static_cast<size_t>(order[next]) * 2 + 1]);
  }
  ctx.outputs[0].dims = {rows, 2};
  ctx.outputs[1].dims = {rows};
  from_indices(found, ctx.outputs[0]);
}

}  // namespace terroir::ops::reference
