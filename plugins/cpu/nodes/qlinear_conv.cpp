// QLinearConv with everything but its data constant: 8-bit data, 16-bit packed weights, exact 32-bit sums.
// Layouts: plain. Zero points of weights are folded into them when they are packed, that of the data into the samples.
// Groups of one or two output channels go band by band of output rows, others tile by tile of output positions.
// Threads: bands, or tiles, cut by blocks of output channels too where there are few; integers do not depend on the
// cut.
#include <algorithm>
#include <limits>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/terroir1/qlinear_conv.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/qconv/qconv.hpp"
#include "plugins/cpu/nodes/window_args.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

using ops::ConvGeometry;

ConvGeometry geometry_of(const NodeContext& context) {
  return ops::qlinear_conv_geometry(context.node.attrs<ops::QLinearConvAttrs>(), context.inputs[ops::kQX].dims,
                                    context.inputs[ops::kQW].dims);
}

const ir::TensorView& constant(const NodeContext& context, int input) {
  return context.constants[static_cast<size_t>(input)]->view;
}
const ir::Constant* bias_of(const NodeContext& context) {
  return context.constants.size() > ops::kQBias ? context.constants[ops::kQBias] : nullptr;
}

/// The geometry as the kernel wants it: axes a 1x1 window does not look across become one row.
struct Axes {
  std::array<ops::WindowAxis, 3> axis;

  explicit Axes(const ConvGeometry& geometry) : axis(ops::three_axes(geometry.axes)) {
    const auto pointwise = [](const ops::WindowAxis& a) {
      return a.kernel == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
    };
    for (int outer : {1, 0}) {
      ops::WindowAxis &a = axis[static_cast<size_t>(outer)], &last = axis[2];
      if (!pointwise(a) || !pointwise(last)) return;
      last.input *= a.input;
      last.output *= a.output;
      a.input = a.output = 1;
    }
  }
  int64_t positions() const { return axis[0].output * axis[1].output * axis[2].output; }
  int64_t inputs() const { return axis[0].input * axis[1].input * axis[2].input; }
  int64_t taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
};

/// Weights less their zero points, of output channels [0, M), in the order of [O, I, taps].
struct CentredWeights {
  explicit CentredWeights(const NodeContext& context)
      : view(constant(context, ops::kQW)),
        zero(ops::reference::qlinear_zero_points(constant(context, ops::kQWZero), view.dims[0])) {}
  int32_t at(int64_t channel, int64_t index) const {
    const auto stored = static_cast<const uint8_t*>(view.data)[index];
    const int32_t value = view.type == element::i8 ? static_cast<int8_t>(stored) : static_cast<int32_t>(stored);
    return value - zero[static_cast<size_t>(channel)];
  }
  ir::TensorView view;
  std::vector<int32_t> zero;
};

/// Whether no data at all can take a sum out of 32 bits.
bool sums_fit(const NodeContext& context, const ConvGeometry& geometry) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int64_t kMostDifference = 255;
  const int64_t channels = geometry.groups * geometry.out_channels;
  const int64_t depth = geometry.in_channels * Axes(geometry).taps();
  const int32_t* bias = bias_of(context) ? bias_of(context)->view.as<int32_t>() : nullptr;
  const CentredWeights weights(context);
  for (int64_t o = 0; o < channels; ++o) {
    const int64_t room = kMost - (bias ? std::abs(static_cast<int64_t>(bias[o])) : 0);
    if (depth * kMostDifference * kMostDifference <= room) continue;
    int64_t sum = 0;
    for (int64_t i = o * depth; i < (o + 1) * depth; ++i) sum += std::abs(weights.at(o, i));
    if (sum * kMostDifference > room) return false;
  }
  return true;
}

class QLinearConvExecutor final : public Executor {
 public:
  explicit QLinearConvExecutor(const NodeContext& context)
      : kernels_(qconv_kernels(context.isa)),
        geometry_(geometry_of(context)),
        channels_(geometry_.groups * geometry_.out_channels) {
    const Axes axes(geometry_);
    depth_ = axes.taps() * ceil_div(geometry_.in_channels, 2);
    args_.channels = geometry_.in_channels;
    args_.out_channels = geometry_.out_channels;
    args_.blocks = ceil_div(geometry_.out_channels, kernels_.rows);
    for (size_t i = 0; i < 3; ++i) set_axis(args_, i, axes.axis[i]);
    image_ = geometry_.in_channels * axes.inputs();
    positions_ = axes.positions();
    plan_bands();
    if (band_ == 0) args_.tile = tile_of(positions_);
    name_ = concat(context.inputs[ops::kQX].type, context.inputs[ops::kQW].type, context.outputs[0].type,
                   band_ > 0 ? "_qconv_bands__" : "_qconv_unfolded__", isa_name(context.isa));
    set_quantisation(context);
    pack(context);
  }

  void run(const RunArgs& args) const noexcept override {
    const Grid grid = grid_of(args.arena.threads());
    args.arena.parallel_for(grid.slices, [&](int64_t slice) {
      QConvArgs mine = args_;
      mine.columns = static_cast<int32_t*>(args.scratch) + slice * columns();
      mine.tap_offsets = tap_offsets_.data();
      const int64_t begin = grid.tasks * slice / grid.slices, end = grid.tasks * (slice + 1) / grid.slices;
      int64_t unfolded = -1;
      for (int64_t task = begin; task < end; ++task) {
        const int64_t unit = task / grid.cuts, image = unit / grid.units, part = unit % grid.units;
        aim(args, image, mine);
        if (band_ > 0)
          run_band(mine, part);
        else
          run_tile(mine, part, unit != unfolded, task % grid.cuts, grid.cuts);
        unfolded = unit;
      }
    });
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(grid_of(threads).slices * columns()) * sizeof(int32_t);
  }
  std::string kernel_name() const override { return name_; }

 private:
  struct Grid {
    int64_t units, cuts, tasks, slices;  // units: tiles or bands of one image of one group
  };

  /// At an image of a group.
  void aim(const RunArgs& args, int64_t image, QConvArgs& mine) const noexcept {
    const int64_t group = image % geometry_.groups, outputs = geometry_.out_channels;
    mine.src = static_cast<const uint8_t*>(args.inputs[ops::kQX]) + image * image_;
    mine.dst = static_cast<uint8_t*>(args.outputs[0]) + image * outputs * positions_;
    mine.weights = packed_->as<int32_t>() + group * outputs * depth_;
    mine.bias = bias_.data() + group * outputs;
    mine.multipliers = multipliers_.data() + group * outputs;
  }

  void run_tile(const QConvArgs& mine, int64_t tile, bool fresh, int64_t cut, int64_t cuts) const noexcept {
    const int64_t begin = tile * mine.tile, count = std::min(mine.tile, positions_ - begin);
    if (fresh) kernels_.unfold(mine, begin, count);
    kernels_.multiply(mine, begin, count, mine.blocks * cut / cuts, mine.blocks * (cut + 1) / cuts);
  }

  void run_band(const QConvArgs& mine, int64_t band) const noexcept {
    const int64_t per_slice = ceil_div(mine.out[1], band_), d = band / per_slice, begin = band % per_slice * band_;
    const int64_t end = std::min(begin + band_, mine.out[1]);
    kernels_.spread(mine, d, begin, end);
    kernels_.multiply_band(mine, d, begin, end);
  }

  /// Bands whose source rows stay in half of L1, for groups of so few outputs that unfolding would cost more than the
  /// products; none where not even one row stays in half of L2.
  void plan_bands() {
    constexpr int64_t kFewOutputs = 2;
    QConvArgs& a = args_;
    if (a.out_channels > kFewOutputs) return;
    const int64_t pairs = ceil_div(a.channels, 2), phases = a.stride[2], reach = (a.kernel[1] - 1) * a.dilation[1];
    a.band_columns = kernels_.most_columns(a.out[2]) + (a.kernel[2] - 1) * a.dilation[2] / phases;
    const int64_t row = pairs * a.kernel[0] * phases * a.band_columns * static_cast<int64_t>(sizeof(int32_t));
    if (reach >= cache_sizes().l2 / 2 / row) return;
    const int64_t fitting = (cache_sizes().l1d / 2 / row - reach - 1) / a.stride[1] + 1;
    band_ = std::clamp<int64_t>(fitting, 1, a.out[1]);
    a.band_rows = (band_ - 1) * a.stride[1] + reach + 1;
    for (int64_t kd = 0; kd < a.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < a.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < a.kernel[2]; ++kw)
          for (int64_t pair = 0; pair < pairs; ++pair) {
            const int64_t at = kw * a.dilation[2],
                          source = (pair * a.kernel[0] + kd) * a.band_rows + kh * a.dilation[1];
            tap_offsets_.push_back((source * phases + at % phases) * a.band_columns + at / phases);
          }
  }

  /// Whole cache lines, so that slices do not write to each other's.
  int64_t columns() const {
    const int64_t spread = depth_ / (args_.kernel[1] * args_.kernel[2]) * args_.band_rows * args_.stride[2];
    return ceil_div(band_ > 0 ? spread * args_.band_columns : depth_ * args_.tile, 16) * 16;
  }

  /// As many positions as let the samples under them stay in the L1 cache while all channels pass.
  int64_t tile_of(int64_t positions) const {
    const int64_t fitting =
        cache_sizes().l1d / 2 / std::max<int64_t>(1, depth_ * static_cast<int64_t>(sizeof(int32_t)));
    const int64_t most = std::min({fitting, positions, kernels_.most_positions});
    return std::clamp(ceil_div(most, kernels_.step) * kernels_.step, kernels_.step, kernels_.most_positions);
  }

  Grid grid_of(int64_t threads) const {
    Grid grid{};
    grid.units = band_ > 0 ? args_.out[0] * ceil_div(args_.out[1], band_) : ceil_div(positions_, args_.tile);
    const int64_t units = geometry_.batch * geometry_.groups * grid.units;
    // Several tasks per slice, so that uneven slices cost little; a cut unit is unfolded once per slice that has a
    // part.
    const int64_t wanted = threads == 1 ? 1 : 4 * threads;
    grid.cuts =
        units >= wanted || band_ > 0 ? 1 : std::min(args_.blocks, ceil_div(wanted, std::max<int64_t>(units, 1)));
    grid.tasks = units * grid.cuts;
    grid.slices = std::min(threads, grid.tasks);
    return grid;
  }

  void set_quantisation(const NodeContext& context) {
    const bool is_signed = context.inputs[ops::kQX].type == element::i8;
    args_.src_flip = is_signed ? 0x80 : 0;
    args_.src_zero = ops::reference::qlinear_zero_points(constant(context, ops::kQXZero), 1)[0] + args_.src_flip;
    args_.dst_zero = ops::reference::qlinear_zero_points(constant(context, ops::kQYZero), 1)[0];
    const int32_t least = context.outputs[0].type == element::i8 ? -128 : 0;
    args_.low = static_cast<float>(least - args_.dst_zero);
    args_.high = static_cast<float>(least + 255 - args_.dst_zero);
    multipliers_ =
        ops::reference::qlinear_multipliers(constant(context, ops::kQXScale), constant(context, ops::kQWScale),
                                            constant(context, ops::kQYScale), channels_);
    if (const ir::Constant* bias = bias_of(context))
      bias_.assign(bias->view.as<int32_t>(), bias->view.as<int32_t>() + channels_);
    else
      bias_.assign(static_cast<size_t>(channels_), 0);
  }

  void pack(const NodeContext& context) {
    const ir::Constant& zero = *context.constants[ops::kQWZero];
    // The packing is known by the address of the zero points, which nothing else may get while it is shared.
    zero_owner_ = zero.owner;
    Packing packing;
    packing.key = concat("qconv", kernels_.rows, "g", geometry_.groups);
    packing.with = zero;
    packing.bytes = static_cast<size_t>(channels_ * depth_) * sizeof(int32_t);
    packing.pieces = geometry_.groups * args_.blocks;
    // A piece is a block of one group.
    packing.pack = [weights = CentredWeights(context), blocks = args_.blocks, depth = depth_,
                    inputs = geometry_.in_channels, outputs = geometry_.out_channels,
                    taps = Axes(geometry_).taps()](const void*, void* packed, int64_t begin, int64_t end) {
      const auto half = [&](int64_t o, int64_t c, int64_t tap) {
        return c < inputs ? static_cast<uint32_t>(weights.at(o, (o * inputs + c) * taps + tap)) & 0xffff : 0;
      };
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t group = piece / blocks, block = piece % blocks, larger = outputs % blocks;
        const int64_t rows = outputs / blocks + (block < larger ? 1 : 0);
        const int64_t first = group * outputs + block * (outputs / blocks) + std::min(block, larger);
        uint32_t* out = static_cast<uint32_t*>(packed) + first * depth;
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < inputs; c += 2)
            for (int64_t o = first; o < first + rows; ++o) *out++ = half(o, c, tap) | half(o, c + 1, tap) << 16;
      }
    };
    packed_ = context.weights.get(*context.constants[ops::kQW], std::move(packing));
  }

  const QConvKernels& kernels_;
  ConvGeometry geometry_;
  int64_t channels_;
  std::string name_;
  QConvArgs args_;
  int64_t depth_ = 0, image_ = 0, positions_ = 0;
  int64_t band_ = 0;  // output rows per band; 0: tiles
  std::vector<int64_t> tap_offsets_;
  std::vector<float> multipliers_;
  std::vector<int32_t> bias_;
  std::shared_ptr<const void> zero_owner_;
  PackedWeights packed_;
};

Proposal propose(const NodeContext& context) {
  constexpr const char* kNames[] = {"x_scale", "x_zero_point", "w", "w_scale", "w_zero_point",
                                    "y_scale", "y_zero_point", "B"};
  for (size_t i = 1; i < context.constants.size(); ++i)
    if (!context.constants[i]) return Reject{concat(kNames[i - 1], " is known at run time only")};
  if (context.outputs[0].count() == 0) return Reject{"the result has no elements"};
  const ConvGeometry geometry = geometry_of(context);
  if (geometry.in_channels == 0) return Reject{"there are no input channels"};
  if (!sums_fit(context, geometry)) return Reject{"these weights and this bias may take a sum out of 32 bits"};
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = context.inputs[0].layout;
  choice.outputs = {context.outputs[0].layout};
  const double products = static_cast<double>(context.outputs[0].count()) *
                          static_cast<double>(geometry.in_channels * Axes(geometry).taps());
  choice.cost = compute_ns(2 * products, context.isa);
  return std::vector{choice};
}

constexpr Impl kQLinearConv[] = {
    {"qlinear_conv", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<QLinearConvExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> qlinear_conv_impls() { return kQLinearConv; }

}  // namespace terroir::cpu
