// Gather along a known axis: units of bytes picked by index, any element of whole bytes, any batch_dims. Indices known
// when compiling make a copy plan, or a view where they are neighbours.
// Layouts: plain; with known 1-D indices those of axis_copy.hpp. Threads: slices of the result.
// Edge cases: negative indices count from the end; an index out of range gives zeros.
#include <atomic>
#include <cstring>
#include <span>

#include "ops/defs/movement/gather.hpp"
#include "plugins/cpu/kernels/image/image.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kTaskBytes = 65536;

/// output[b, o, i] = data[b, o, indices[b, i]], units of bytes.
struct GatherShape {
  int64_t batches = 1, outer = 1, extent = 0, indices = 1, unit = 1;
};

class GatherExecutor final : public Executor {
 public:
  GatherExecutor(const GatherShape& shape, element::Type index_type) : shape_(shape), index_type_(index_type) {
    const int64_t row = shape_.indices * shape_.unit;  // of one batch and outer index
    if (row == 0) return;
    indices_per_task_ = std::clamp<int64_t>(kTaskBytes / shape_.unit, 1, shape_.indices);
    pieces_ = ceil_div(shape_.indices, indices_per_task_);
    rows_per_task_ = std::max<int64_t>(1, kTaskBytes / row);
    parts_ = std::max<int64_t>(1, shape_.unit / (2 * kTaskBytes));
  }

  void run(const RunArgs& args) const override {
    auto* offsets = static_cast<int64_t*>(args.scratch);
    const bool all_inside = find_offsets(args, offsets);
    const int64_t rows = shape_.batches * shape_.outer;
    const int64_t blocks = ceil_div(rows, rows_per_task_);
    args.arena.parallel_for(blocks * pieces_ * parts_, [&](int64_t task) {
      const int64_t part = task % parts_, piece = task / parts_ % pieces_, block = task / parts_ / pieces_;
      const int64_t first = piece * indices_per_task_, count = std::min(indices_per_task_, shape_.indices - first);
      const int64_t begin = shape_.unit * part / parts_, bytes = shape_.unit * (part + 1) / parts_ - begin;
      for (int64_t row = block * rows_per_task_; row < std::min(rows, (block + 1) * rows_per_task_); ++row) {
        const char* src = static_cast<const char*>(args.inputs[0]) + row * shape_.extent * shape_.unit + begin;
        char* dst = static_cast<char*>(args.outputs[0]) + (row * shape_.indices + first) * shape_.unit + begin;
        const int64_t* from = offsets + row / shape_.outer * shape_.indices + first;
        if (all_inside && parts_ == 1) {
          copy_indexed(src, from, dst, shape_.unit, count);
          continue;
        }
        for (int64_t i = 0; i < count; ++i, dst += shape_.unit) {
          if (from[i] == kFill)
            std::memset(dst, 0, static_cast<size_t>(bytes));
          else
            std::memcpy(dst, src + from[i], static_cast<size_t>(bytes));
        }
      }
    });
  }
  size_t scratch_bytes(int) const override {
    return static_cast<size_t>(shape_.batches * shape_.indices) * sizeof(int64_t);
  }
  std::string kernel_name() const override { return "gather_rows"; }

 private:
  /// Bytes from the begin of a row to each unit that is asked for; whether there is one for each.
  bool find_offsets(const RunArgs& args, int64_t* offsets) const {
    constexpr int64_t kTaskIndices = 16384;
    const int64_t count = shape_.batches * shape_.indices;
    std::atomic<bool> all_inside = true;
    args.arena.parallel_for(ceil_div(count, kTaskIndices), [&](int64_t task) {
      with_indices(index_type_, args.inputs[1], [&](const auto* indices) {
        for (int64_t i = task * kTaskIndices; i < std::min(count, (task + 1) * kTaskIndices); ++i) {
          const int64_t index = indices[i], position = index < 0 ? index + shape_.extent : index;
          const bool inside = position >= 0 && position < shape_.extent;
          if (!inside) all_inside.store(false, std::memory_order_relaxed);
          offsets[i] = inside ? position * shape_.unit : kFill;
        }
      });
    });
    return all_inside;
  }

  GatherShape shape_;
  element::Type index_type_;
  int64_t indices_per_task_ = 1, pieces_ = 0, rows_per_task_ = 1, parts_ = 1;
};

/// Few small units side by side, as the channels of a pixel are, each taken from the same place of its pixel.
class PixelGatherExecutor final : public Executor {
 public:
  PixelGatherExecutor(const GatherShape& shape, const std::vector<int64_t>& places, Isa isa)
      : kernels_(image_kernels(isa)), shape_(shape), places_(places.begin(), places.end()), isa_(isa) {
    order_.from = shape.extent * shape.unit;
    order_.to = shape.indices * shape.unit;
    if (!is_small()) return;
    for (int64_t i = 0; i < order_.to; ++i)
      order_.places[i] =
          static_cast<uint8_t>(places_[static_cast<size_t>(i / shape.unit)] * shape.unit + i % shape.unit);
  }

  /// Whether there is one: then calls of copies would cost more than the copies.
  static bool takes(const GatherShape& shape) {
    const bool is_word = shape.unit == 1 || shape.unit == 2 || shape.unit == 4 || shape.unit == 8;
    return is_word && shape.indices > 0 && shape.indices * shape.unit <= 32;
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t per_task = std::max<int64_t>(1, kTaskBytes / order_.to), pixels = shape_.outer;
    args.arena.parallel_for(ceil_div(pixels, per_task), [&](int64_t task) {
      const int64_t first = task * per_task, count = std::min(per_task, pixels - first);
      const auto* src = static_cast<const uint8_t*>(args.inputs[0]) + first * order_.from;
      auto* dst = static_cast<uint8_t*>(args.outputs[0]) + first * order_.to;
      if (is_small()) return kernels_.permute(order_, src, dst, count);
      switch (shape_.unit) {
        case 1:
          return copy_words<uint8_t>(src, dst, count);
        case 2:
          return copy_words<uint16_t>(src, dst, count);
        case 4:
          return copy_words<uint32_t>(src, dst, count);
        default:
          return copy_words<uint64_t>(src, dst, count);
      }
    });
  }
  std::string kernel_name() const override { return concat("gather_pixels__", is_small() ? isa_name(isa_) : "any"); }

 private:
  bool is_small() const noexcept { return order_.from <= kPermuted && order_.to <= kPermuted; }

  template <class W>
  void copy_words(const void* from, void* to, int64_t count) const noexcept {
    const W* src = static_cast<const W*>(from);
    W* dst = static_cast<W*>(to);
    for (int64_t p = 0; p < count; ++p, src += shape_.extent)
      for (const int64_t place : places_) *dst++ = src[place];
  }

  const ImageKernels& kernels_;
  GatherShape shape_;
  PixelOrder order_{};
  std::vector<int64_t> places_;
  Isa isa_;
};

size_t batch_dims_of(const NodeContext& context) {
  if (context.node.schema->opset == "opset1") return 0;
  const int64_t given = context.node.attrs<ops::GatherAttrs>().batch_dims;
  return static_cast<size_t>(given < 0 ? given + context.inputs[1].rank() : given);
}

GatherShape shape_of(const NodeContext& context, size_t axis) {
  const ir::Dims &data = context.inputs[0].dims, &indices = context.inputs[1].dims;
  const size_t batch = batch_dims_of(context);
  GatherShape shape;
  shape.batches = ir::element_count(data, 0, batch);
  shape.outer = ir::element_count(data, batch, axis);
  shape.extent = data[axis];
  shape.indices = ir::element_count(indices, batch, indices.size());
  shape.unit = ir::element_count(data, axis + 1, data.size()) * static_cast<int64_t>(context.inputs[0].type.size());
  return shape;
}

/// Where the places are known when compiling.
std::optional<AxisCopy> known_copy(const NodeContext& context, size_t axis) {
  const auto indices = known_integers(context, 1);
  if (!indices || batch_dims_of(context) != 0) return std::nullopt;
  AxisCopy copy;
  copy.src_dims = context.inputs[0].dims;
  for (const int64_t extent : copy.src_dims) copy.maps.push_back({extent});
  const int64_t extent = copy.src_dims[axis];
  AxisMap& map = copy.maps[axis];
  map.count = static_cast<int64_t>(indices->size());
  for (const int64_t index : *indices) {
    const int64_t position = index < 0 ? index + extent : index;
    if (position < 0 || position >= extent) return std::nullopt;
    append_run(map.runs, 1, position);
  }
  return copy;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc &data = context.inputs[0], &indices = context.inputs[1];
  const auto axis = known_axis(context, 2);
  if (!axis) return Reject{"the axis is known at run time only"};
  if (!is_bytewise(data)) return not_bytewise();
  if (!is_index_type(indices.type)) return no_index_type();
  if (const auto copy = known_copy(context, *axis)) return propose_axis_copy(context, *copy);
  LayoutChoice choice;
  choice.inputs = {data.layout, indices.layout, std::nullopt};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = 2 * stream_ns(static_cast<double>(context.outputs[0].bytes()));
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const size_t axis = *known_axis(context, 2);
  if (const auto copy = known_copy(context, axis)) {
    const GatherShape shape = shape_of(context, axis);
    const bool plain = context.inputs[0].layout.is_plain() && context.outputs[0].layout.is_plain();
    if (plain && axis + 1 == copy->maps.size() && PixelGatherExecutor::takes(shape))
      return std::make_unique<PixelGatherExecutor>(shape, sources_of(copy->maps[axis].runs), context.isa);
    return create_axis_copy(context, *copy, "gather");
  }
  return std::make_unique<GatherExecutor>(shape_of(context, axis), context.inputs[1].type);
}

constexpr Impl kGather[] = {{"gather", &propose, &create}};

}  // namespace

std::span<const Impl> gather_impls() { return kGather; }

}  // namespace terroir::cpu
