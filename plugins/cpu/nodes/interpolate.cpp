// Interpolate in f32 over spatial axes: nearest (1-D to 3-D) and the linear modes where every position draws on at most
// two rows and two columns (2-D); with a fused chain, which follows row by row. Nearest of bytes, as floats of four.
// Layouts: channels-last, channel blocks; nearest also plain; of bytes channel blocks. Threads: rows of the output of
// every image (and channel block). Padding: blends of zeros are zeros; a chain that does not map zero to zero keeps out
// of blocks.
#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "ops/defs/image/interpolate.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/interpolate/interpolate.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/interpolate_geometry.hpp"
#include "plugins/cpu/nodes/row_table.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

/// Positions of one spatial axis: dst[o] = (1 - weight[o]) * src[low[o]] + weight[o] * src[high[o]].
struct AxisMap {
  int64_t input = 1;
  std::vector<int32_t> low = {0}, high = {0};
  std::vector<float> weight = {0.0f};
  int64_t output() const { return static_cast<int64_t>(low.size()); }
};

struct Maps {
  std::array<AxisMap, 3> axes;  // D, H, W
  bool nearest = true;
};

AxisMap identity(int64_t extent) {
  AxisMap map;
  map.input = extent;
  map.low.resize(static_cast<size_t>(extent));
  std::iota(map.low.begin(), map.low.end(), 0);
  map.high = map.low;
  map.weight.assign(map.low.size(), 0.0f);
  return map;
}

std::variant<AxisMap, Reject> to_map(const ops::ResampleTable& table, int64_t input) {
  AxisMap map;
  map.input = input;
  map.low.clear(), map.high.clear(), map.weight.clear();
  for (int64_t o = 0; o < table.outputs(); ++o) {
    const int64_t first = table.first[static_cast<size_t>(o)], last = table.first[static_cast<size_t>(o) + 1];
    if (last - first < 1 || last - first > 2) return Reject{"positions that draw on none or on more than two others"};
    const ops::ResampleTap& low = table.taps[static_cast<size_t>(first)];
    const ops::ResampleTap& high = table.taps[static_cast<size_t>(last) - 1];
    const double sum = last - first == 1 ? low.weight : low.weight + high.weight;
    if (std::abs(sum - 1) > 1e-6) return Reject{"weights that do not add up to one"};
    map.low.push_back(static_cast<int32_t>(low.index));
    map.high.push_back(static_cast<int32_t>(high.index));
    map.weight.push_back(last - first == 1 ? 0.0f : static_cast<float>(high.weight));
  }
  return map;
}

std::variant<Maps, Reject> maps_of(const NodeContext& context) {
  const ir::Dims& data = context.inputs[0].dims;
  if (data.size() < 3 || data.size() > 5) return Reject{"only 3 to 5 axes"};
  auto geometry = geometry_of(context);
  if (auto* reject = std::get_if<Reject>(&geometry)) return *reject;
  const auto& known = std::get<ops::InterpolateGeometry>(geometry);
  Maps maps;
  maps.nearest = known.rule.mode == ops::ResampleMode::nearest;
  if (!maps.nearest && known.rule.mode != ops::ResampleMode::linear &&
      known.rule.mode != ops::ResampleMode::linear_onnx)
    return Reject{"a mode other than nearest and linear"};
  const size_t missing = 5 - data.size();  // D and H where there are fewer spatial axes
  for (size_t i = 2; i < data.size(); ++i) maps.axes[i - 2 + missing] = identity(data[i]);
  for (size_t i = 0; i < known.axes.size(); ++i) {
    const ops::InterpolatedAxis& axis = known.axes[i];
    if (axis.axis < 2) {
      if (axis.input == axis.output && axis.padded() == axis.input) continue;
      return Reject{"resizes images or channels"};
    }
    auto map = to_map(known.table(i), axis.input);
    if (auto* reject = std::get_if<Reject>(&map)) return *reject;
    maps.axes[axis.axis - 2 + missing] = std::get<AxisMap>(std::move(map));
  }
  const AxisMap& depth = maps.axes[0];
  if (!maps.nearest && std::any_of(depth.weight.begin(), depth.weight.end(), [](float w) { return w != 0; }))
    return Reject{"blends along depth"};
  return maps;
}

class InterpolateExecutor final : public Executor {
 public:
  InterpolateExecutor(const NodeContext& context, Maps maps)
      : maps_(std::move(maps)),
        kernels_(interpolate_kernels(context.isa)),
        chain_(context, 0, std::max(1, context.outputs[0].layout.channel_block())),
        run_chain_(post_op_kernels(context.isa).run),
        name_(context.outputs[0].type.get_type_name() + (maps_.nearest ? "_nearest_" : "_linear_") +
              context.outputs[0].layout.name() + "__" + isa_name(context.isa)) {
    const TensorDesc& src = context.inputs[0];
    const int64_t block = src.layout.channel_block(), channels = src.dims[1];
    width_ = block > 0 ? block : src.layout.is_channels_last() ? channels : 1;
    images_ = src.dims[0];
    planes_ = ceil_div(channels, width_);
    width_ = width_ * static_cast<int64_t>(src.type.size()) / kBytesOfFloat;
    if (!picks()) return;
    const AxisMap& columns = maps_.axes[2];
    row_ = RowTable(columns.output(), 1, kernels_.lanes);
    for (int64_t o = 0; o < columns.output(); ++o) row_.set(0, o, columns.low[static_cast<size_t>(o)], 1);
    row_.finish(columns.input);
  }

  void run(const RunArgs& args) const noexcept override {
    const auto& [d, h, w] = maps_.axes;
    const int64_t rows = d.output() * h.output(), src_row = w.input * width_, dst_row = w.output() * width_;
    constexpr int64_t kTaskElements = 16384;
    const int64_t most = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, dst_row));
    const RowTasks tasks(images_, planes_, rows, most, args.arena.threads());
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    args.arena.parallel_for(tasks.count(), [&](int64_t task) {
      const auto [plane, first, end] = tasks[task];
      // What has been written of it is in the cache still.
      const auto finish = [&, plane = plane](int64_t row, int64_t count) {
        if (!chain_.empty()) run_chain(static_cast<float*>(args.outputs[0]), plane * rows + row, count, plane, ops);
      };
      const float* src = static_cast<const float*>(args.inputs[0]) + plane * d.input * h.input * src_row;
      float* dst = static_cast<float*>(args.outputs[0]) + plane * rows * dst_row;
      const auto plane_of = [&](int64_t row) { return src + d.low[at(row / h.output())] * h.input * src_row; };
      const auto upper_of = [&](int64_t row) { return plane_of(row) + h.low[at(row % h.output())] * src_row; };
      for (int64_t row = first; picks() && row < end; row += kInterpolatedRows) {
        const int64_t count = std::min<int64_t>(kInterpolatedRows, end - row);
        const float* from[kInterpolatedRows];
        for (int64_t r = 0; r < count; ++r) from[r] = upper_of(row + r);
        kernels_.picked_rows(from, row_.taps(), dst + row * dst_row, count, w.output());
        finish(row, count);
      }
      for (int64_t row = first; !picks() && row < end; ++row) {
        const size_t oh = at(row % h.output());
        if (maps_.nearest)
          kernels_.nearest_row(upper_of(row), dst + row * dst_row, w.low.data(), w.output(), width_);
        else
          kernels_.linear_row(upper_of(row), plane_of(row) + h.high[oh] * src_row, h.weight[oh], dst + row * dst_row,
                              w.low.data(), w.high.data(), w.weight.data(), w.output(), width_);
        finish(row, 1);
      }
    });
  }
  size_t table_bytes() const override {
    size_t bytes = row_.bytes();
    for (const AxisMap& axis : maps_.axes) bytes += axis.low.size() * (2 * sizeof(int32_t) + sizeof(float));
    return bytes;
  }
  std::string kernel_name() const override { return name_; }

 private:
  static size_t at(int64_t index) { return static_cast<size_t>(index); }
  /// On `count` rows of the output, from `row` of all planes on, in one plane.
  void run_chain(float* dst, int64_t row, int64_t count, int64_t plane, const PostOpChain::Bound& ops) const noexcept {
    const int64_t columns = maps_.axes[2].output(), at = row * columns * width_, n = count * columns;
    const int64_t unit = plane % planes_;
    const PostOpRows positions{dst + at, dst + at, n,      width_,        width_,
                               width_,   at,       width_, unit * width_, ChannelAxis::lanes};
    const PostOpRows line{dst + at, dst + at, 1, n, n, n, at, n, unit, ChannelAxis::rows};
    run_chain_(width_ == 1 ? line : positions, ops.data(), static_cast<int64_t>(chain_.size()));
  }
  /// Nearest where elements are resized one by one.
  bool picks() const noexcept { return maps_.nearest && width_ == 1; }

  Maps maps_;
  const InterpolateKernels& kernels_;
  PostOpChain chain_;
  decltype(PostOpKernels::run) run_chain_;
  std::string name_;
  RowTable row_;  // if picks()
  static constexpr int64_t kBytesOfFloat = sizeof(float);
  int64_t width_ = 1, images_ = 0, planes_ = 0;  // width_: floats of a position
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  const bool narrow = dst.type != element::f32 && lies_in_blocks(dst, context.isa) && !is_fused(context.node);
  if (dst.type != element::f32 && !narrow)
    return Reject{"only f32, and u8 and bf16 in blocks, are vectorised, not " + dst.type.get_type_name()};
  const auto maps = maps_of(context);
  if (const auto* reject = std::get_if<Reject>(&maps)) return *reject;
  const bool nearest = std::get<Maps>(maps).nearest;
  if (narrow && !nearest) return Reject{"blends of " + dst.type.get_type_name()};
  std::vector<LayoutChoice> choices;
  const PostOpChain chain(context, 0, 1);
  const auto add = [&](const Layout& layout, double slowdown) {
    if (TensorDesc{dst.type, dst.dims, layout}.has_padding() && !chain.maps_zero_to_zero()) return;
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = layout;
    choice.outputs = {layout};
    add_chain_inputs(context, layout, choice);
    choice.cost = slowdown * stream_ns(static_cast<double>(dst.bytes()));
    choices.push_back(std::move(choice));
  };
  add(Layout::blocked(dst.rank(), static_cast<int>(channels_of_block(dst.type, context.isa))), 2);
  if (narrow) return choices;
  if (nearest || dst.dims[1] > 1) add(Layout::channels_last(dst.rank()), 2);
  if (nearest) add(Layout::plain(dst.rank()), 3);
  return choices;
}

constexpr Impl kInterpolate[] = {
    {"interpolate", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<InterpolateExecutor>(context, std::get<Maps>(maps_of(context)));
     }}};

}  // namespace

std::span<const Impl> interpolate_impls() { return kInterpolate; }

}  // namespace terroir::cpu
