// GridSample in f32, every mode.
// How: the pixels and weights of a point are those of the reference, for bilinear and nearest up to rounding: there
//   they arise for a vector of points at once. They are summed for all channels at once, so the image is read with the
//   channels of a pixel adjacent. Some points at a time gather in scratch and are transposed into the destination,
//   unless that has its channels adjacent too. Of few channels points are summed at once instead, plane by plane.
// Layouts: image channels-last; result channels-last or plain; or both plain. Threads: ranges of points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ops/defs/image/grid_sample.hpp"
#include "ops/reference/image/grid_taps.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/kernels/sample/sample.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

using ops::reference::GridTaps;

/// Whether the taps of a vector of points are computed at once.
bool has_grid_taps(const NodeContext& context) {
  const ir::Dims& src = context.inputs[0].dims;
  constexpr int64_t kMostExtent = int64_t{1} << 21, kMostOffset = std::numeric_limits<int32_t>::max();
  return sample_kernels(context.isa).grid_taps != nullptr &&
         context.node.attrs<ops::GridSampleAttrs>().mode != ops::reference::GridSampleMode::bicubic &&
         src[2] <= kMostExtent && src[3] <= kMostExtent && src[2] * src[3] <= kMostOffset / src[1];
}

class GridSampleExecutor final : public Executor {
 public:
  explicit GridSampleExecutor(const NodeContext& context)
      : kernels_(sample_kernels(context.isa)),
        reorder_(reorder_kernels(context.isa)),
        src_(context.inputs[0].dims),
        points_(context.outputs[0].dims[2] * context.outputs[0].dims[3]),
        plain_(!context.outputs[0].layout.is_channels_last()),
        vectors_(has_grid_taps(context)),
        planes_(vectors_ && (src_[1] == 1 || !context.inputs[0].layout.is_channels_last())),
        name_("f32_grid_sample_" + context.outputs[0].layout.name() + "__" + isa_name(context.isa)) {
    const auto& attrs = context.node.attrs<ops::GridSampleAttrs>();
    parameters_ = {attrs.align_corners, attrs.mode, attrs.padding_mode};
    constexpr int64_t kTileFloats = 4096;
    together_ = planes_ ? kMostTogether : std::clamp<int64_t>(kTileFloats / channels(), 16, kMostTogether);
    if (!vectors_) return;
    using ops::reference::GridPadding;
    plane_.height = static_cast<int32_t>(src_[2]);
    plane_.width = static_cast<int32_t>(src_[3]);
    plane_.pixel = planes_ ? 1 : static_cast<int32_t>(channels());
    plane_.edge = attrs.padding_mode == GridPadding::zeros    ? GridEdge::zeros
                  : attrs.padding_mode == GridPadding::border ? GridEdge::border
                                                              : GridEdge::reflection;
    plane_.align_corners = attrs.align_corners;
    plane_.nearest = attrs.mode == ops::reference::GridSampleMode::nearest;
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t groups = ceil_div(points_, together_), units = src_[0] * groups;
    const int64_t slices = slice_count(args.arena.threads());
    args.arena.parallel_for(slices, [&](int64_t slice) {
      float* tile = static_cast<float*>(args.scratch) + slice * tile_floats();
      for (int64_t unit = slice * units / slices; unit < (slice + 1) * units / slices; ++unit)
        run_points(args, unit / groups, unit % groups * together_, tile);
    });
  }
  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(slice_count(threads) * tile_floats()) * sizeof(float);
  }
  std::string kernel_name() const override { return name_; }

 private:
  static constexpr int64_t kMostTogether = 256;

  int64_t channels() const { return src_[1]; }
  int64_t slice_count(int threads) const {
    return std::min<int64_t>(src_[0] * points_, 4 * static_cast<int64_t>(threads));
  }
  int64_t tile_floats() const { return plain_ && !planes_ ? (together_ * channels() + 15) / 16 * 16 : 0; }

  void run_points(const RunArgs& args, int64_t image, int64_t first, float* tile) const {
    const int64_t n = std::min(together_, points_ - first);
    const float* src = static_cast<const float*>(args.inputs[0]) + image * src_[2] * src_[3] * channels();
    const float* point = static_cast<const float*>(args.inputs[1]) + (image * points_ + first) * 2;
    float* dst = static_cast<float*>(args.outputs[0]) + image * points_ * channels();
    if (planes_) return sample_planes(src, point, n, dst + first);
    float* out = plain_ ? tile : dst + first * channels();
    if (vectors_)
      sample_pixels(src, point, n, out);
    else
      for (int64_t p = 0; p < n; ++p) sample(src, point[2 * p], point[2 * p + 1], out + p * channels());
    if (plain_) reorder_.transpose_2d(tile, channels(), dst + first, points_, n, channels(), n);
  }

  /// Tap t of point p at t * kMostTogether + p.
  struct PointTaps {
    int32_t offsets[4 * kMostTogether];
    float weights[4 * kMostTogether];
  };
  int64_t taps_per_point() const { return plane_.nearest ? 1 : 4; }

  void find_taps(const float* point, int64_t n, PointTaps& taps) const {
    if (!kernels_.grid_taps(plane_, point, n, taps.offsets, taps.weights, kMostTogether)) return;
    for (int64_t p = 0; p < n; ++p) {
      if (!std::isnan(taps.weights[p])) continue;
      const GridTaps columns = ops::reference::grid_taps(point[2 * p], src_[3], parameters_);
      const GridTaps rows = ops::reference::grid_taps(point[2 * p + 1], src_[2], parameters_);
      for (int64_t t = 0; t < taps_per_point(); ++t) {
        const auto i = static_cast<size_t>(t / 2), j = static_cast<size_t>(t % 2);
        taps.offsets[t * kMostTogether + p] =
            static_cast<int32_t>((rows.pixels[i] * src_[3] + columns.pixels[j]) * plane_.pixel);
        taps.weights[t * kMostTogether + p] = static_cast<float>(rows.weights[i] * columns.weights[j]);
      }
    }
  }

  void sample_planes(const float* src, const float* point, int64_t n, float* dst) const {
    PointTaps taps;
    find_taps(point, n, taps);
    for (int64_t c = 0; c < channels(); ++c)
      kernels_.gather_taps(src + c * src_[2] * src_[3], taps.offsets, taps.weights, kMostTogether, taps_per_point(),
                           dst + c * points_, n);
  }

  void sample_pixels(const float* src, const float* point, int64_t n, float* out) const {
    PointTaps taps;
    find_taps(point, n, taps);
    if (plane_.nearest) {
      for (int64_t p = 0; p < n; ++p, out += channels())
        if (taps.weights[p] == 0)
          std::fill_n(out, channels(), 0.0f);
        else
          std::copy_n(src + taps.offsets[p], channels(), out);
      return;
    }
    int64_t offsets[4 * kMostTogether];
    float weights[4 * kMostTogether];
    int32_t ends[kMostTogether], count = 0;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t t = p; t < p + 4 * kMostTogether; t += kMostTogether) {
        offsets[count] = taps.offsets[t];
        weights[count] = taps.weights[t];
        count += taps.weights[t] != 0 ? 1 : 0;
      }
      ends[p] = count;
    }
    kernels_.sum_cells({src, offsets, weights, ends, n}, out, channels());
  }

  void sample(const float* src, float x, float y, float* out) const {
    const GridTaps columns = ops::reference::grid_taps(x, src_[3], parameters_);
    const GridTaps rows = ops::reference::grid_taps(y, src_[2], parameters_);
    const auto offset = [&](size_t i, size_t j) { return (rows.pixels[i] * src_[3] + columns.pixels[j]) * channels(); };
    if (parameters_.mode == ops::reference::GridSampleMode::nearest) {
      if (rows.pixels[0] < 0 || columns.pixels[0] < 0)
        std::fill_n(out, channels(), 0.0f);
      else
        std::copy_n(src + offset(0, 0), channels(), out);
      return;
    }
    int64_t offsets[16];
    float weights[16];
    int64_t count = 0;
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 4; ++j) {
        if (rows.weights[i] == 0 || columns.weights[j] == 0 || rows.pixels[i] < 0 || columns.pixels[j] < 0) continue;
        offsets[count] = offset(i, j);
        weights[count++] = static_cast<float>(rows.weights[i] * columns.weights[j]);
      }
    kernels_.sum({src, offsets, weights, count}, out, channels(), true);
  }

  ops::reference::GridSampleParameters parameters_;
  const SampleKernels& kernels_;
  const ReorderKernels& reorder_;
  ir::Dims src_;
  int64_t points_;
  bool plain_, vectors_, planes_;
  std::string name_;
  int64_t together_ = 0;
  GridPlane plane_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &grid = context.inputs[1], &dst = context.outputs[0];
  if (src.type != element::f32 || grid.type != element::f32)
    return Reject{"only f32 is vectorised, not " + src.type.get_type_name() + " at points of " +
                  grid.type.get_type_name()};
  if (src.count() == 0 || dst.count() == 0) return Reject{"a tensor has no elements"};
  LayoutChoice choice;
  choice.inputs = {Layout::channels_last(4), grid.layout};
  choice.outputs = {Layout::channels_last(4)};
  choice.cost =
      compute_ns(8 * static_cast<double>(dst.count()) + 200 * static_cast<double>(grid.count()), context.isa) +
      stream_ns(static_cast<double>(src.bytes() + dst.bytes()));
  std::vector<LayoutChoice> choices(2, choice);
  choices[1].outputs = {dst.layout};
  choices[1].cost += stream_ns(static_cast<double>(dst.bytes()));
  if (has_grid_taps(context)) {
    choice.inputs[0] = src.layout;
    choice.outputs = {dst.layout};
    choice.cost =
        compute_ns(200 * static_cast<double>(dst.count()) + 50 * static_cast<double>(grid.count()), context.isa) +
        stream_ns(static_cast<double>(src.bytes() + dst.bytes()));
    choices.push_back(choice);
  }
  return choices;
}

constexpr Impl kGridSample[] = {
    {"grid_sample", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<GridSampleExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> grid_sample_impls() { return kGridSample; }

}  // namespace terroir::cpu
