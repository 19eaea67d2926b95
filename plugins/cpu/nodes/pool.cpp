// MaxPool and AvgPool in f32, 1-D to 3-D; MaxPool of bytes on AVX2 and AVX-512.
// Layouts: plain, channels-last, channel blocks; plain where the indices of maxima are wanted; of bytes channel blocks.
// Threads: rows of the output of every image (and channel block). Padding: a maximum or average over padded channels of
// zeros is zero.
#include <algorithm>
#include <span>

#include "ops/shape/inputs.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/pool_places.hpp"
#include "plugins/cpu/nodes/pool_problem.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

bool wants_indices(const NodeContext& context) { return context.outputs.size() > 1 && context.output_used[1]; }

class PoolExecutor final : public Executor {
 public:
  explicit PoolExecutor(const NodeContext& context)
      : dst_(context.outputs[0]), is_max_(is_max_pool(context)), isa_(context.isa) {
    const ops::PoolGeometry geometry = pool_geometry_of(context);
    pool_ = pool_args(geometry);
    for (size_t i = 0; i < 3; ++i) {
      src_positions_ *= pool_.in[i];
      dst_positions_ *= pool_.out[i];
    }
    // Without any pads, a last window that reaches beyond the end is as large as what lies inside.
    if (!is_max_)
      pool_.exclude_pad = ir::number_attribute(*context.node.attributes, "exclude-pad") != 0 || !geometry.padded();
    const int64_t block = dst_.layout.channel_block(), channels = geometry.channels;
    pool_.width = block > 0 ? block : dst_.layout.is_channels_last() ? channels : 1;
    if (wants_indices(context)) {
      const auto& attrs = context.node.attrs<ops::MaxPool8Attrs>();
      const ir::Dims& data = context.inputs[0].dims;
      const auto axis = static_cast<size_t>(ops::normalize_axis(attrs.axis, context.inputs[0].rank()));
      indices_.wide = attrs.index_element_type == element::i64;
      indices_.range = ir::element_count({data.begin() + static_cast<std::ptrdiff_t>(axis), data.end()});
      indices_.wraps = axis > 2;
      with_indices_ = true;
    }
    images_ = geometry.batch;
    planes_ = ceil_div(channels, pool_.width);
  }

  void run(const RunArgs& args) const noexcept override {
    const PoolKernels& kernels = pool_kernels(isa_);
    const auto kernel = is_max_ ? kernels.max : kernels.average;
    const int64_t rows = pool_.out[0] * pool_.out[1];
    constexpr int64_t kTaskBytes = 32768;
    const auto element = static_cast<int64_t>(dst_.type.size());
    const int64_t row_bytes = pool_.out[2] * pool_.width * element;
    const int64_t most = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(1, row_bytes));
    const RowTasks tasks(images_, planes_, rows, most, args.arena.threads());
    args.arena.parallel_for(tasks.count(), [&](int64_t task) {
      PoolArgs pool = pool_;
      const auto [plane, row, end] = tasks[task];
      const auto run_narrow = [&, row = row, end = end, plane = plane](auto number, auto* narrow) {
        using Number = decltype(number);
        narrow(pool, static_cast<const Number*>(args.inputs[0]) + plane * src_positions_ * pool.width,
               static_cast<Number*>(args.outputs[0]) + plane * dst_positions_ * pool.width, row, end);
      };
      if (element == 1) return run_narrow(uint8_t{}, kernels.max_bytes);
      if (element == 2) return run_narrow(uint16_t{}, kernels.max_bf16);
      pool.src = static_cast<const float*>(args.inputs[0]) + plane * src_positions_ * pool.width;
      pool.dst = static_cast<float*>(args.outputs[0]) + plane * dst_positions_ * pool.width;
      if (with_indices_)
        run_with_indices(pool, args.outputs[1], plane, row, end);
      else
        kernel(pool, row, end);
    });
  }
  std::string kernel_name() const override {
    return dst_.type.get_type_name() +
           (with_indices_ ? "_max_pool_places_"
            : is_max_     ? "_max_pool_"
                          : "_avg_pool_") +
           dst_.layout.name() + "__" + isa_name(isa_);
  }

 private:
  void run_with_indices(const PoolArgs& pool, void* output, int64_t plane, int64_t row, int64_t end) const noexcept {
    const int64_t first = plane * dst_positions_ + row * pool.out[2], n = (end - row) * pool.out[2];
    pool_kernels(isa_).max_places(pool, indices_.room(output, first, n) - row * pool.out[2], row, end);
    const int64_t offset = plane * src_positions_;
    indices_.finish(output, first, n, indices_.wraps ? offset : offset % indices_.range);
  }

  TensorDesc dst_;
  bool is_max_;
  Isa isa_;
  PoolArgs pool_;
  bool with_indices_ = false;
  PlaceIndices indices_;
  int64_t images_ = 0, planes_ = 0, src_positions_ = 1, dst_positions_ = 1;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  const PoolKernels& kernels = pool_kernels(context.isa);
  const bool narrow = is_max_pool(context) && ((dst.type == element::u8 && kernels.max_bytes) ||
                                               (dst.type == element::bf16 && kernels.max_bf16));
  if (dst.type != element::f32 && !narrow)
    return Reject{"only f32, and maxima of u8 on AVX2 and AVX-512 and of bf16 on AVX-512, are vectorised, not " +
                  dst.type.get_type_name()};
  const TensorDesc& src = context.inputs[0];
  if (wants_indices(context) &&
      (dst.count() == 0 || src.count() == 0 || src.count() / (src.dims[0] * src.dims[1]) > INT32_MAX))
    return Reject{"indices of an unusual size"};
  const ops::PoolGeometry geometry = pool_geometry_of(context);
  double window = 1;
  for (const ops::WindowAxis& axis : geometry.axes) window *= static_cast<double>(axis.kernel);
  const auto outputs = static_cast<double>(dst.count());
  std::vector<LayoutChoice> choices;
  const auto add = [&](const Layout& layout, double slowdown, double more_ns = 0) {
    LayoutChoice choice;
    choice.inputs = {layout};
    choice.outputs.assign(context.outputs.size(), Layout::plain(dst.rank()));
    choice.outputs[0] = layout;
    choice.cost = slowdown * compute_ns(window * outputs, context.isa) +
                  stream_ns(static_cast<double>(context.inputs[0].bytes() + dst.bytes())) + more_ns;
    choices.push_back(std::move(choice));
  };
  if (wants_indices(context)) {
    if (narrow) return Reject{"indices of maxima of " + dst.type.get_type_name()};
    add(Layout::plain(dst.rank()), 4);
    return choices;
  }
  add(Layout::blocked(dst.rank(), static_cast<int>(channels_of_block(dst.type, context.isa))), narrow ? 0.5 : 2);
  if (narrow) return choices;
  add(Layout::channels_last(dst.rank()), 2.2);
  // Neighbours come by shuffles, or one by one where they lie further apart, and every row is begun for one channel
  // only.
  constexpr double kNear = 0.2, kFar = 1.2, kRow = 50;
  const ops::WindowAxis& row = geometry.axes.back();
  add(Layout::plain(dst.rank()), 2,
      outputs * (window * (row.stride <= 2 ? kNear : kFar) + kRow / std::max(1.0, static_cast<double>(row.output))));
  return choices;
}

constexpr Impl kPool[] = {
    {"pool", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<PoolExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> pool_impls() { return kPool; }

}  // namespace terroir::cpu
