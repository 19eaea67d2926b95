// GatherElements and GatherND: elements, or slices, at computed places; any element of whole bytes. Layouts: plain.
// Threads: slices of the result. Edge cases: an index out of range is an Exception.
#include <span>

#include "ops/defs/movement/gather_elements.hpp"
#include "ops/defs/movement/gather_nd.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// output[o, k, i] = data[o, indices[o, k, i], i]
struct ElementShape {
  int64_t outer = 1, extent = 0, indices = 0, inner = 1;
};

using GatherElementsFn = void (*)(const ElementShape& shape, const void* data, const void* indices, void* output,
                                  int64_t begin, int64_t end);

/// Elements [begin, end) of the output.
template <class Word, class Index>
void gather_elements(const ElementShape& shape, const void* data, const void* indices, void* output, int64_t begin,
                     int64_t end) {
  const int64_t slab = shape.indices * shape.inner;
  while (begin < end) {
    const Word* src = static_cast<const Word*>(data) + begin / slab * shape.extent * shape.inner;
    const Index* at = static_cast<const Index*>(indices) + begin;
    Word* dst = static_cast<Word*>(output) + begin;
    int64_t count;
    if (shape.inner == 1) {
      count = std::min(end - begin, slab - begin % slab);
      for (int64_t i = 0; i < count; ++i) dst[i] = src[checked_position(at[i], shape.extent)];
    } else {
      const int64_t column = begin % shape.inner;
      count = std::min(end - begin, shape.inner - column);
      src += column;
      for (int64_t i = 0; i < count; ++i) dst[i] = src[checked_position(at[i], shape.extent) * shape.inner + i];
    }
    begin += count;
  }
}

template <class Word>
GatherElementsFn gather_elements_for(element::Type index_type) {
  return index_type == element::i64 ? &gather_elements<Word, int64_t> : &gather_elements<Word, int32_t>;
}

GatherElementsFn gather_elements_for(const NodeContext& context) {
  const element::Type index_type = context.inputs[1].type;
  switch (context.inputs[0].type.size()) {
    case 1:
      return gather_elements_for<uint8_t>(index_type);
    case 2:
      return gather_elements_for<uint16_t>(index_type);
    case 4:
      return gather_elements_for<uint32_t>(index_type);
    default:
      return gather_elements_for<uint64_t>(index_type);
  }
}

class GatherElementsExecutor final : public Executor {
 public:
  explicit GatherElementsExecutor(const NodeContext& context)
      : gather_(gather_elements_for(context)), count_(context.outputs[0].count()) {
    const ir::Dims& data = context.inputs[0].dims;
    const int64_t given = context.node.attrs<ops::GatherElementsAttrs>().axis;
    const auto axis = static_cast<size_t>(given < 0 ? given + context.inputs[0].rank() : given);
    shape_ = {ir::element_count(data, 0, axis), data[axis], context.inputs[1].dims[axis],
              ir::element_count(data, axis + 1, data.size())};
  }
  void run(const RunArgs& args) const override {
    constexpr int64_t kTaskElements = 16384;
    args.arena.parallel_for(ceil_div(count_, kTaskElements), [&](int64_t task) {
      gather_(shape_, args.inputs[0], args.inputs[1], args.outputs[0], task * kTaskElements,
              std::min(count_, (task + 1) * kTaskElements));
    });
  }
  std::string kernel_name() const override { return "gather_elements"; }

 private:
  GatherElementsFn gather_;
  int64_t count_;
  ElementShape shape_;
};

class GatherNdExecutor final : public Executor {
 public:
  explicit GatherNdExecutor(const NodeContext& context) : index_type_(context.inputs[1].type) {
    const ir::Dims &data = context.inputs[0].dims, &indices = context.inputs[1].dims;
    const auto batch = static_cast<size_t>(context.node.attrs<ops::GatherNdAttrs>().batch_dims);
    depth_ = static_cast<size_t>(indices.back());
    const auto bytes = static_cast<int64_t>(context.inputs[0].type.size());
    for (size_t k = 0; k < depth_; ++k) {
      extents_.push_back(data[batch + k]);
      steps_.push_back(ir::element_count(data, batch + k + 1, data.size()) * bytes);
    }
    unit_ = ir::element_count(data, batch + depth_, data.size()) * bytes;
    batch_step_ = ir::element_count(data, batch, data.size()) * bytes;
    per_batch_ = ir::element_count(indices, batch, indices.size() - 1);
    units_ = context.outputs[0].count() > 0 ? ir::element_count(indices, 0, indices.size() - 1) : 0;
  }

  void run(const RunArgs& args) const override {
    constexpr int64_t kTaskBytes = 65536, kMostUnits = 4096;
    const int64_t per_task = std::clamp<int64_t>(kTaskBytes / std::max<int64_t>(unit_, 1), 1, kMostUnits);
    args.arena.parallel_for(ceil_div(units_, per_task), [&](int64_t task) {
      with_indices(index_type_, args.inputs[1], [&](const auto* indices) {
        const int64_t end = std::min(units_, (task + 1) * per_task);
        constexpr int64_t kAtOnce = 256;
        int64_t sources[kAtOnce];
        for (int64_t first = task * per_task; first < end; first += kAtOnce) {
          const int64_t count = std::min(kAtOnce, end - first);
          for (int64_t i = 0; i < count; ++i) sources[i] = source(indices, first + i);
          copy_indexed(static_cast<const char*>(args.inputs[0]), sources,
                       static_cast<char*>(args.outputs[0]) + first * unit_, unit_, count);
        }
      });
    });
  }
  std::string kernel_name() const override { return "gather_nd"; }

 private:
  template <class Index>
  int64_t source(const Index* indices, int64_t i) const {
    const Index* at = indices + i * static_cast<int64_t>(depth_);
    int64_t from = i / per_batch_ * batch_step_;
    for (size_t k = 0; k < depth_; ++k) from += checked_position(at[k], extents_[k]) * steps_[k];
    return from;
  }

  element::Type index_type_;
  size_t depth_;
  std::vector<int64_t> extents_, steps_;  // of the axes that are indexed
  int64_t unit_, batch_step_, per_batch_, units_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &data = context.inputs[0], &indices = context.inputs[1];
  if (!is_bytewise(data)) return not_bytewise();
  if (!is_index_type(indices.type)) return no_index_type();
  LayoutChoice choice;
  choice.inputs = {data.layout, indices.layout};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = 2 * stream_ns(static_cast<double>(context.outputs[0].bytes()));
  return std::vector{choice};
}

template <class Executor_>
std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<Executor_>(context);
}

constexpr Impl kGatherElements[] = {{"gather_elements", &propose, &create<GatherElementsExecutor>}};
constexpr Impl kGatherNd[] = {{"gather_nd", &propose, &create<GatherNdExecutor>}};

}  // namespace

std::span<const Impl> gather_elements_impls() { return kGatherElements; }
std::span<const Impl> gather_nd_impls() { return kGatherNd; }

}  // namespace terroir::cpu
