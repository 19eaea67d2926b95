// DeformableConvolution in f32 with constant weights: samples of a tile of positions as rows of a matrix, times packed
// weights.
// Layouts: channel blocks or channels-last, so that the four pixels around a sample are read as vectors of channels;
// offsets and mask are plain.
// Threads: tiles of output positions; every element is one chain of multiply-adds over taps, then channels, so the
// tiles do not show in the result.
#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/convolution/deformable_convolution.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/deform/deform.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/nodes/window_args.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

enum Input { kData, kOffsets, kWeights, kMask };

const ops::DeformableConvolutionAttrs& attributes_of(const NodeContext& context) {
  if (context.node.schema->opset == "opset1") return context.node.attrs<ops::DeformableConvolutionAttrs>();
  return context.node.attrs<ops::DeformableConvolution8Attrs>();
}

class DeformableExecutor final : public Executor {
 public:
  explicit DeformableExecutor(const NodeContext& context)
      : kernels_(deform_kernels(context.isa)),
        products_(matmul_kernels(context.isa)),
        geometry_(ops::deformable_geometry(attributes_of(context), context.inputs[kData].dims,
                                           context.inputs[kWeights].dims)),
        block_(context.outputs[0].layout.channel_block()),
        name_(concat("f32_deform_gemm_", context.outputs[0].layout.name(), "__", isa_name(context.isa))) {
    const ops::DeformableConvolutionAttrs& attrs = attributes_of(context);
    inputs_ = geometry_.groups * geometry_.in_channels;
    outputs_ = geometry_.groups * geometry_.out_channels;
    args_.groups = attrs.deformable_group;
    args_.padded = attrs.bilinear_interpolation_pad;
    for (size_t i = 0; i < 2; ++i) set_axis(args_, i, geometry_.axes[i]);
    taps_ = args_.kernel[0] * args_.kernel[1];
    positions_ = args_.out[0] * args_.out[1];
    depth_ = taps_ * geometry_.in_channels;
    panels_ = ceil_div(geometry_.out_channels, products_.panel);
    image_floats_ = context.inputs[kData].padded_count() / geometry_.batch;
    result_floats_ = context.outputs[0].padded_count() / geometry_.batch;
    args_.pixel = block_ > 0 ? block_ : inputs_;
    args_.row_stride = depth_;
    args_.tap_stride = geometry_.in_channels;
    tile_ = tile_of(positions_);
    cut_channels();
    pack(context);
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t tiles = ceil_div(positions_, tile_), tasks = geometry_.batch * tiles;
    const int64_t slices = slices_of(args.arena.threads());
    args.arena.parallel_for(slices, [&](int64_t slice) {
      float* columns = static_cast<float*>(args.scratch) + slice * slice_floats();
      for (int64_t task = tasks * slice / slices; task < tasks * (slice + 1) / slices; ++task) {
        const int64_t begin = task % tiles * tile_;
        run_tile(args, task / tiles, begin, std::min(tile_, positions_ - begin), columns);
      }
    });
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(slices_of(threads) * slice_floats()) * sizeof(float);
  }
  size_t table_bytes() const override {
    return segments_.size() * sizeof(DeformSegment) + first_segment_.size() * sizeof(int64_t);
  }
  std::string kernel_name() const override { return name_; }

 private:
  void run_tile(const RunArgs& args, int64_t image, int64_t begin, int64_t count, float* columns) const noexcept {
    const int64_t samples = args_.groups * taps_ * positions_;
    DeformArgs mine = args_;
    mine.segments = segments_.data();
    mine.first_segment = first_segment_.data();
    mine.src = static_cast<const float*>(args.inputs[kData]) + image * image_floats_;
    mine.offsets = static_cast<const float*>(args.inputs[kOffsets]) + image * 2 * samples;
    if (has_mask_) mine.mask = static_cast<const float*>(args.inputs[kMask]) + image * samples;
    mine.columns = columns;
    kernels_.sample(mine, begin, count);

    float* dst = static_cast<float*>(args.outputs[0]) + image * result_floats_;
    float* rows = block_ > 0 ? columns + columns_floats() : dst + begin * outputs_;
    GemmArgs gemm;
    gemm.lda = gemm.k = depth_;
    gemm.n = geometry_.out_channels;
    gemm.ldc = outputs_;
    gemm.scratch = columns + columns_floats() + rows_floats();
    for (int64_t group = 0; group < geometry_.groups; ++group) {
      gemm.a = columns + group * tile_ * depth_;
      gemm.b = packed_->as<float>() + group * group_floats();
      gemm.c = rows + group * geometry_.out_channels;
      products_.gemm(gemm, 0, count, 0, panels_);
    }
    if (block_ > 0) store_blocks(rows, dst, begin, count);
  }

  /// Rows of channels to channel blocks; the last block is filled up with zeros.
  void store_blocks(const float* rows, float* dst, int64_t begin, int64_t count) const noexcept {
    for (int64_t c = 0; c < outputs_; c += block_) {
      float* out = dst + (c / block_ * positions_ + begin) * block_;
      const int64_t lanes = std::min(block_, outputs_ - c);
      for (int64_t m = 0; m < count; ++m, out += block_) {
        std::memcpy(out, rows + m * outputs_ + c, static_cast<size_t>(lanes) * sizeof(float));
        std::fill(out + lanes, out + block_, 0.0f);
      }
    }
  }

  /// Runs of channels that are neighbours in the source and in the columns, of one deformable group each.
  void cut_channels() {
    const int64_t per_sampling = inputs_ / args_.groups, per_group = geometry_.in_channels;
    const int64_t plane = args_.in[0] * args_.in[1];
    for (int64_t c = 0; c < inputs_;) {
      if (c % per_sampling == 0) first_segment_.push_back(static_cast<int64_t>(segments_.size()));
      int64_t end = std::min((c / per_sampling + 1) * per_sampling, (c / per_group + 1) * per_group);
      if (block_ > 0) end = std::min(end, (c / block_ + 1) * block_);
      const int64_t src = block_ > 0 ? c / block_ * plane * block_ + c % block_ : c;
      segments_.push_back({src, c / per_group * tile_ * depth_ + c % per_group, end - c});
      c = end;
    }
    first_segment_.push_back(static_cast<int64_t>(segments_.size()));
  }

  void pack(const NodeContext& context) {
    has_mask_ = context.inputs.size() > kMask;
    Packing packing;
    packing.key = concat("deform", isa_name(context.isa), "g", geometry_.groups);
    packing.bytes = static_cast<size_t>(geometry_.groups * group_floats()) * sizeof(float);
    packing.pieces = geometry_.groups * panels_;
    packing.pack = [width = products_.panel, channels = geometry_.in_channels, outputs = geometry_.out_channels,
                    taps = taps_, depth = depth_,
                    panels = panels_](const void* stored, void* packed, int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece % panels * width, count = std::min(width, outputs - first);
        const float* wei = static_cast<const float*>(stored) + (piece / panels * outputs + first) * depth;
        float* out = static_cast<float*>(packed) + piece * width * depth;
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < channels; ++c, out += width) {
            for (int64_t o = 0; o < count; ++o) out[o] = wei[o * depth + c * taps + tap];
            std::fill(out + count, out + width, 0.0f);
          }
      }
    };
    packed_ = context.weights.get(*context.constants[kWeights], std::move(packing));
  }

  /// Positions whose columns take half of L2, in whole register tiles.
  int64_t tile_of(int64_t positions) const {
    const int64_t row_bytes = std::max<int64_t>(1, geometry_.groups * depth_) * static_cast<int64_t>(sizeof(float));
    const int64_t fitting = cache_sizes().l2 / 2 / row_bytes / products_.tile_m;
    const int64_t most = std::clamp<int64_t>(fitting, 1, 8) * products_.tile_m;
    return std::min(positions, most);
  }

  int64_t slices_of(int64_t threads) const { return std::min(threads, geometry_.batch * ceil_div(positions_, tile_)); }
  static int64_t whole_lines(int64_t floats) { return ceil_div(floats, 16) * 16; }
  int64_t group_floats() const { return panels_ * products_.panel * depth_; }
  int64_t columns_floats() const { return whole_lines(geometry_.groups * tile_ * depth_); }
  int64_t rows_floats() const { return block_ > 0 ? whole_lines(tile_ * outputs_) : 0; }
  int64_t slice_floats() const {
    return columns_floats() + rows_floats() + whole_lines(products_.scratch_floats(tile_, depth_));
  }

  const DeformKernels& kernels_;
  const MatmulKernels& products_;
  ops::ConvGeometry geometry_;
  int64_t block_;  // channels per block; 0: channels last
  std::string name_;
  DeformArgs args_;
  int64_t inputs_ = 0, outputs_ = 0, taps_ = 0, positions_ = 0, depth_ = 0, panels_ = 0, tile_ = 1;
  int64_t image_floats_ = 0, result_floats_ = 0;
  bool has_mask_ = false;
  std::vector<DeformSegment> segments_;
  std::vector<int64_t> first_segment_;
  PackedWeights packed_;
};

Proposal propose(const NodeContext& context) {
  constexpr int64_t kMostExtent = int64_t{1} << 29;
  const TensorDesc &data = context.inputs[kData], &dst = context.outputs[0];
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  if (!context.constants[kWeights]) return Reject{"the weights are known at run time only"};
  if (dst.count() == 0 || data.count() == 0) return Reject{"there are no elements"};
  if (data.dims[2] > kMostExtent || data.dims[3] > kMostExtent) return Reject{"an extent above 2^29"};
  const ir::Dims& weights = context.inputs[kWeights].dims;
  const double samples = static_cast<double>(dst.dims[0] * dst.dims[2] * dst.dims[3] * weights[2] * weights[3]);
  const double products = samples * static_cast<double>(dst.dims[1] * weights[1]);
  std::vector<LayoutChoice> choices;
  for (const Layout& layout :
       {Layout::blocked(4, static_cast<int>(channel_block(context.isa))), Layout::channels_last(4)}) {
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[kData] = layout;
    choice.inputs[kOffsets] = Layout::plain(4);
    if (context.inputs.size() > kMask) choice.inputs[kMask] = Layout::plain(4);
    choice.outputs = {layout};
    // A sample of a channel is four multiply-adds and a store.
    choice.cost = compute_ns(2 * products + 16 * samples * static_cast<double>(data.dims[1]), context.isa);
    choices.push_back(std::move(choice));
  }
  return choices;
}

constexpr Impl kDeformable[] = {
    {"deformable_convolution", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<DeformableExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> deformable_convolution_impls() { return kDeformable; }

}  // namespace terroir::cpu
