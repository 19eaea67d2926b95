#include "ops/reference/sparse/embedding.hpp"

#include <algorithm>
#include <utility>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/reference/results.hpp"
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

namespace {

/// A sparse matrix of `rows` x `columns`: the entries' rows and columns, two numbers each.
template <class Index>
struct Entries {
  const Index* at;
  int64_t count, rows, columns;

  int64_t row(int64_t i) const { return static_cast<int64_t>(at[2 * i]); }
  int64_t column(int64_t i) const { return static_cast<int64_t>(at[2 * i + 1]); }
};

/// How many entries each row has. Exception for one outside of the matrix.
template <class Index>
std::vector<int64_t> entries_of_rows(const Entries<Index>& entries, const char* op) {
  std::vector<int64_t> counts(static_cast<size_t>(entries.rows));
  for (int64_t i = 0; i < entries.count; ++i) {
    const int64_t row = entries.row(i), column = entries.column(i);
    if (row < 0 || row >= entries.rows || column < 0 || column >= entries.columns)
      throw_error(ErrorCode::invalid_argument, op, ": index [", row, ",", column, "] is outside of [", entries.rows,
                  ",", entries.columns, "]");
    ++counts[static_cast<size_t>(row)];
  }
  return counts;
}

/// Entries by row, in the order they have there; one in column 0 where a row has none. The entry that each is, or -1.
template <class Index>
std::vector<int64_t> fill_rows(const Entries<Index>& entries, std::vector<int64_t>& begins, Index* result) {
  int64_t filled = 0;
  for (int64_t& begin : begins) filled += std::max<int64_t>(1, std::exchange(begin, filled));
  std::vector<int64_t> sources(static_cast<size_t>(filled), -1);
  for (size_t row = 0; row < begins.size(); ++row) {
    result[2 * begins[row]] = static_cast<Index>(row);
    result[2 * begins[row] + 1] = 0;
  }
  for (int64_t i = 0; i < entries.count; ++i) {
    const int64_t at = begins[static_cast<size_t>(entries.row(i))]++;
    sources[static_cast<size_t>(at)] = i;
    result[2 * at] = entries.at[2 * i];
    result[2 * at + 1] = entries.at[2 * i + 1];
  }
  return sources;
}

template <class Word>
void pick(const std::vector<int64_t>& sources, const void* values, const void* missing, void* result) {
  const auto* from = static_cast<const Word*>(values);
  const Word none = *static_cast<const Word*>(missing);
  auto* to = static_cast<Word*>(result);
  constexpr int64_t kTaskElements = 16384;
  parallel_ranges(static_cast<int64_t>(sources.size()), kTaskElements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t source = sources[static_cast<size_t>(i)];
      to[i] = source < 0 ? none : from[source];
    }
  });
}

}  // namespace

void sparse_fill_empty_rows(const ir::EvalContext& ctx) {
  constexpr const char* kOp = "SparseFillEmptyRows";
  const ir::TensorView& values = ctx.inputs[0];
  const std::vector<int64_t> shape = ir::to_integers(ctx.inputs[1]);
  const int64_t count = values.count();
  if (shape.size() != 2 || ctx.inputs[2].count() != count * 2 || ctx.inputs[3].count() != 1)
    throw_error(ErrorCode::shape_mismatch, kOp, ": indices ", ctx.inputs[2].dims, " for values ", values.dims);
  require_dims(ctx.outputs[2], {shape[0]}, kOp);
  std::vector<int64_t> sources;
  dispatch_type<int64_t, int32_t>(ctx.inputs[2].type, kOp, [&](auto tag) {
    using Index = decltype(tag);
    const Entries<Index> entries{ctx.inputs[2].as<Index>(), count, shape[0], shape[1]};
    std::vector<int64_t> counts = entries_of_rows(entries, kOp);
    const auto empty = std::count(counts.begin(), counts.end(), 0);
    std::transform(counts.begin(), counts.end(), static_cast<uint8_t*>(ctx.outputs[2].data),
                   [](int64_t n) { return n == 0; });
    if (ctx.outputs[1].count() < count + empty)
      throw_error(ErrorCode::shape_mismatch, kOp, ": the outputs have no room for ", count + empty, " values");
    settle(ctx, 0, {count + empty, 2});
    sources = fill_rows(entries, counts, ctx.outputs[0].as<Index>());
  });
  settle(ctx, 1, {static_cast<int64_t>(sources.size())});
  const void* const missing = ctx.inputs[3].data;
  void* const result = ctx.outputs[1].data;
  const size_t bits = values.type.bitwidth();
  if (values.type != element::string && bits == 32) return pick<uint32_t>(sources, values.data, missing, result);
  if (values.type != element::string && bits == 64) return pick<uint64_t>(sources, values.data, missing, result);
  const ElementCopier copier(values.type, kOp);
  for (size_t i = 0; i < sources.size(); ++i)
    copier.copy(result, static_cast<int64_t>(i), sources[i] < 0 ? missing : values.data,
                std::max<int64_t>(0, sources[i]), 1);
}

}  // namespace terroir::ops::reference
