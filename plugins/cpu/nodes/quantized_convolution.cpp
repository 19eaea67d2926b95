// QuantizedConvolution and QuantizedMatMul of the set "cpu": bytes in, sums in 32 bits, and at the store a bias, a sum
// with another tensor, a clamp and the rest of the chain in f32; then f32 or bytes again. Bf16Convolution, Bf16MatMul:
// numbers of bf16 in, or floats that become such in the copies of the windows, sums in f32, and f32 or bf16 out. And
// layers of floats, which become pairs of such numbers there: see nodes/bf16x3.cpp.
// How: units of up to four blocks of outputs by bands of output rows. Where windows reach beyond the source, the rows
//   under a band are copied with zeros beside them; those of a depthwise layer are always, block by block, in words of
//   four positions. Kernels that take 64 bytes at once get copies of all, with the channels of a position side by side;
//   what these read behind the last position is multiplied with zeros, and zero itself where numbers have exponents.
//   These and the depthwise ones get all rows of a band. What a zero stands for where the data's zero is another number
//   is taken back by the bias, of which there is one for each set of taps that an output misses. Of a transposed layer
//   the results of each phase are outputs of their own; a unit has those of one. Kernels of AVX2 without AVX_VNNI get
//   numbers of 16 bits in copies of all windows, of depthwise layers each position with the next one, and where tiles
//   of 2x2 outputs pay, what Winograd's algorithm makes of the windows of a band.
// Layouts: floats and bytes in nChw16c, on AVX2 in nChw8c, of first layers in bf16 also plain sources; numbers of bf16
//   in nChw32c, whose blocks are what kernels take at once: where windows stay inside of the source, they are not
//   copied. Of matrices plain.
// Threads: bands, or units where the weights are more than the source; of tiles see tile_split.hpp. Sums do not depend
//   on that.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/quantized_convolution.hpp"
#include "plugins/cpu/nodes/quantized_packing.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/nodes/quantized_store.hpp"
#include "plugins/cpu/nodes/quantized_weights.hpp"
#include "plugins/cpu/nodes/tile_split.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kLine = 64;
constexpr size_t kMostAhead = size_t{64} << 10;  // of the weights that are read first

bool is_matmul(const NodeContext& context) { return base_schema(context.node).type == "MatMul"; }

bool has_bytes(const NodeContext& context) { return is_quantized(context.node); }
bool has_pairs(const NodeContext& context) { return !has_bytes(context) && !is_bf16(context.node); }

ByteForm form_of(const NodeContext& context) {
  return has_bytes(context) ? form_of_bytes(*byte_conv_kernels(active_byte_products())) : kBf16Form;
}

ByteProblem problem_of(const NodeContext& context) {
  const ByteForm form = form_of(context);
  if (!is_matmul(context)) {
    ByteProblem problem(conv_problem(context), form);
    const ByteConvKernels& kernels = *byte_conv_kernels(active_byte_products());
    if (problem.gathers_well(context.inputs[0].type == element::f32, kernels.tiles_are_whole)) problem.gather();
    if (has_bytes(context) && kernels.winograd_rows && problem.pays_by_tiles()) problem.use_winograd();
    return problem;
  }
  const int64_t inputs = context.inputs[0].dims.back(), outputs = context.outputs[0].dims.back();
  return {context.inputs[0].count() / inputs, inputs, outputs, form};
}

/// What is added to each output, by the classes of its taps along the axes: [classes d][h][w][outputs].
struct BiasTable {
  std::vector<float> values;
  std::array<TapClasses, 3> classes;
};

/// A value by channel, for all outputs.
std::vector<float> for_outputs(const ByChannel& values, int64_t outputs) {
  std::vector<float> all;
  for (int64_t o = 0; o < outputs; ++o) all.push_back(values[std::min(o, std::ssize(values.values) - 1)]);
  return all;
}

/// A box of the work: output rows [begin, end) of slice d of an image (of a line: positions), and units.
struct Band {
  int64_t image, d, begin, end, first_unit, last_unit;
};

class QuantizedConvolutionExecutor final : public Executor {
 public:
  QuantizedConvolutionExecutor(const NodeContext& context, const LayoutChoice& choice)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        isa_(context.isa),
        number_(static_cast<int64_t>(context.inputs[0].type.size())),
        pairs_(has_pairs(context)),
        windows_(pairs_                                   ? kernels_.of_pairs
                 : context.inputs[0].type == element::f32 ? kernels_.of_floats
                                                          : kernels_.of_bf16),
        attrs_(has_bytes(context) ? context.node.attrs<QuantizedAttrs>() : QuantizedAttrs{}),
        bf16_(!has_bytes(context)),
        stores_bf16_(is_bf16(context.node) && context.node.attrs<Bf16Attrs>().stores_bf16),
        problem_(problem_of(context)),
        planar_(!problem_.matrix && choice.inputs[0]->is_plain()),
        places_(problem_, pairs_),
        store_(context, problem_.block),
        packed_(pack_weights(context, problem_)) {
    const ConvAxis &d = problem_.sources[0], &h = problem_.sources[1], &w = problem_.sources[2];
    const element::Type type = context.inputs[0].type;
    const int64_t number = number_, block = number * channels_of_block(type, isa_), positions = d.in * h.in * w.in;
    tensor_ = {h.in * w.in * block, w.in * block, block, positions * number * problem_.block};
    results_ = results_of(context.outputs[0].type);
    operands_ = results_of(element::f32);
    if (planar_) {
      tensor_ = {h.in * w.in * number, w.in * number, number, positions * number};
    } else if (problem_.matrix) {
      tensor_ = {0, 0, problem_.group_inputs * number, number * problem_.block};
    }
    image_ = positions * number *
             (planar_ ? problem_.group_inputs
                      : round_up(problem_.source_blocks * problem_.block, channels_of_block(type, isa_)));
    // Offsets have 32 bits.
    in_place_ = type == element::bf16 && problem_.fits_blocks() && !problem_.gathers &&
                image_ <= std::numeric_limits<int32_t>::max();
    const int64_t at_once = problem_.wide ? kWideBytes : kBytesAtOnce;
    windowed_ = problem_.matrix ? number != problem_.element || problem_.group_inputs * number % at_once != 0
                                : problem_.padded || problem_.element > number || (problem_.wide && !in_place_);
    plan_bands();
    offsets_ = problem_.offsets(windowed_ ? window_ : tensor_, in_place_);
    set_scales(context);
    if (store_.residual) {
      residual_type_ = context.inputs[static_cast<size_t>(store_.residual->operand)].type;
      residuals_ = results_of(residual_type_);
    }
    for (size_t i = 0; i < splits_.size(); ++i) splits_[i] = new_split(static_cast<int64_t>(i) + 1);
  }

  void run(const RunArgs& args) const noexcept override {
    std::call_once(bias_made_, [this] { make_bias(); });
    Ops ops;
    store_.first.bind(args, ops.first);
    store_.rest.bind(args, ops.rest);
    const TileSplit split = split_for(args.arena.threads());
    const int64_t units = static_cast<int64_t>(problem_.units.size());
    const int64_t items = split.count(), threads = std::min<int64_t>(args.arena.threads(), items);
    args.arena.parallel_for_slots(items, [&](int64_t item, int64_t slot) {
      const int64_t thread = item * threads / items;  // whose it is, unless another takes it
      const int64_t begin = ceil_div(thread * items, threads), end = ceil_div((thread + 1) * items, threads);
      LinesAhead ahead(args, thread, 1, item - begin, end - begin);
      const int64_t part = item / split.bands, band = item % split.bands, slice = band / split.per_slice;
      const Stretch rows = split.rows(band, extent());
      const int64_t slices = problem_.axes[0].out;
      run_band(args, ops,
               {slice / slices, slice % slices, rows.begin, rows.end, units * part / split.parts,
                units * (part + 1) / split.parts},
               *ahead.get(), args.slots.of<uint8_t>(slot));
    });
  }

  SlotNeed slot_need(int threads) const override {
    if (!windowed_) return {};
    // The last span may be read beyond its end.
    const int64_t bytes = shifts_taps()       ? taps_at() + taps().room(problem_.spans())
                          : problem_.winograd ? tiles_at() + winograd_bytes(band_)
                                              : rests_at() + window_bytes(band_) + kWideBytes;
    return {static_cast<size_t>(round_up(bytes, kLine)),
            static_cast<size_t>(std::min<int64_t>(threads, split_for(threads).count()))};
  }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const TileSplit split = split_for(threads);
    if (slice >= std::min<int64_t>(threads, split.count())) return {};
    const int64_t part = split.count() * slice / threads / split.bands;
    const ByteUnit& unit =
        problem_.units[static_cast<size_t>(static_cast<int64_t>(problem_.units.size()) * part / split.parts)];
    const auto bytes = static_cast<size_t>(unit.blocks * places_.weights);
    return {std::as_bytes(std::span(packed_->as<int8_t>() + places_.weights_at(unit), std::min(bytes, kMostAhead)))};
  }
  size_t table_bytes() const override {
    return (bias_.values.size() + 5 * scale_.size()) * sizeof(float) +
           (offsets_.size() + bias_offsets_.size() + row_bias_.size()) * sizeof(int32_t);
  }
  std::string kernel_name() const override {
    return concat(pairs_  ? "bf16x3_"
                  : bf16_ ? "bf16_"
                          : "u8_",
                  problem_.matrix      ? "gemm_"
                  : problem_.depthwise ? "depthwise_"
                  : problem_.winograd  ? "conv_winograd_2x2_3x3_"
                                       : "conv_",
                  stores_bf16_         ? "bf16"
                  : !attrs_.store      ? "f32"
                  : attrs_.also_floats ? "f32u8"
                                       : "u8",
                  problem_.matrix ? ""
                  : planar_       ? "_nchw_"
                                  : "_",
                  problem_.matrix ? "" : concat("nChw", results_.halves * problem_.block, "c"), "__",
                  problem_.wide ? kernels_.wide_bucket : kernels_.bucket);
  }

 private:
  struct Ops {
    PostOpChain::Bound first, rest;
  };

  /// Where results lie, or what is added to them, in elements.
  struct Places {
    int64_t channels = 0;            // of a block of outputs
    int64_t halves = 1;              // such blocks of one of the tensor
    int64_t step = 0, position = 0;  // from position to position of a phase, and of any
    int64_t block = 0, image = 0;    // from block to block of the tensor, image to image
    ByteBlocks of(int64_t own) const noexcept { return {step, block, halves, own % halves}; }
    int64_t at(int64_t n, int64_t own, int64_t place) const noexcept {
      return n * image + own / halves * block + own % halves * channels + place * position;
    }
  };
  Places results_of(element::Type type) const noexcept {
    const auto& axes = problem_.results;
    const int64_t own = problem_.block;
    if (problem_.matrix) return {own, 1, problem_.group_outputs, problem_.group_outputs, own, 0};
    const int64_t channels = channels_of_block(type, isa_), halves = channels / own;
    const int64_t block = axes[0].extent * axes[1].extent * axes[2].extent * channels;
    return {own,      halves, axes[2].phases * channels,
            channels, block,  ceil_div(problem_.result_blocks(), halves) * block};
  }

  /// Of a result; of bytes and floats, one of these.
  int64_t stored_bytes() const noexcept { return stores_bf16_ ? kBf16Bytes : attrs_.stores_floats() ? 4 : 1; }

  /// Output rows of a slice, or positions of a line.
  int64_t extent() const noexcept { return problem_.line ? problem_.axes[2].out : problem_.axes[1].out; }
  int64_t slices() const noexcept { return problem_.batch * problem_.axes[0].out; }
  int64_t window_rows(int64_t rows) const noexcept {
    const ConvAxis& h = problem_.axes[1];
    if (problem_.winograd) return round_up(rows, 2) + 2;
    return (rows - 1) * h.stride + (h.kernel - 1) * h.dilation + 1;
  }
  /// Source positions of a row under so many outputs. Behind numbers with exponents come zeros, which are read.
  int64_t window_width(int64_t outputs) const noexcept {
    const ConvAxis& w = problem_.axes[2];
    const int64_t width = (outputs - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
    if (problem_.depthwise) return round_up(width, word_positions());
    if (problem_.winograd) return round_up(outputs, 2) + 2;
    return problem_.bf16 ? width + ceil_div(problem_.overrun(), problem_.position) : width;
  }
  int64_t outputs_of_row() const noexcept { return problem_.line ? band_ : problem_.axes[2].out; }
  /// From position to position of a window, in bytes: where no tap follows the other, an odd number of cache lines, so
  /// that the rows of a tile lie in different sets of the cache.
  int64_t window_step() const noexcept {
    const int64_t position = problem_.position;
    return problem_.wide && problem_.taps() == 1 && position % kLine == 0 ? (position / kLine | 1) * kLine : position;
  }
  /// Of the source rows under so many output rows, or of the positions under so many of a line.
  int64_t window_bytes(int64_t extent) const noexcept {
    const int64_t bytes = problem_.depthwise ? problem_.quad() / word_positions() : window_step();
    return problem_.line ? window_width(extent) * bytes
                         : planes_ * window_rows(extent) * window_width(problem_.axes[2].out) * bytes;
  }
  /// Of depthwise layers: positions of a word of a channel; those of numbers of 16 bits hold one with the next.
  int64_t word_positions() const noexcept { return kernels_.widen ? 1 : kBytesAtOnce; }
  /// Whether the taps of a depthwise layer are shifted to where in a word its windows begin.
  bool shifts_taps() const noexcept { return problem_.depthwise && !kernels_.widen; }
  ByteTaps taps() const noexcept { return {problem_.axes[2].kernel, problem_.axes[2].stride}; }
  /// Where behind a window of a depthwise layer its weights come, in bytes. Some words of the next row are read.
  int64_t taps_at() const noexcept {
    const int64_t outputs = problem_.axes[2].out;
    const int64_t beyond = taps().words_read(outputs) * problem_.quad() - window_width(outputs) * window_.w;
    return window_bytes(band_) + std::max<int64_t>(beyond, 0);
  }

  /// Where behind the window the rests of its numbers are.
  int64_t rests_at() const noexcept { return pairs_ ? round_up(window_bytes(band_) + kWideBytes, kLine) : 0; }

  void plan_bands() {
    const ConvAxis &d = problem_.axes[0], &h = problem_.axes[1], &w = problem_.axes[2];
    planes_ = (d.kernel - 1) * d.dilation + 1;
    // What a band reads stays in L2 while the units pass over it; in L1 while the taps do.
    const int64_t room = problem_.depthwise ? cache_sizes().l1d / 2 : cache_sizes().l2 / 4;
    if (problem_.line) {
      constexpr int64_t kLeast = 28;
      const int64_t most = std::max(room / (window_step() * w.stride), kLeast);
      band_ = std::min(problem_.wide ? round_up(most, kTilePositions) : most, w.out);
    } else {
      // The results, too, where phases store every other one in turn, unless to read the weights again takes longer.
      const int64_t weights = problem_.blocks() * places_.weights, most = cache_sizes().l2 / 4;
      const int64_t stored = problem_.transposed && weights <= most ? problem_.outputs() * w.out : 0;
      band_ = 1;
      while (band_ < h.out && window_bytes(band_ + 1) <= room && stored * stored_bytes() * (band_ + 1) <= most) ++band_;
      if (problem_.winograd) band_ = winograd_band();
    }
    // Planes and blocks of a window lie as far apart for the last band as for the others.
    const bool together = problem_.wide || problem_.matrix;
    const int64_t of_block = problem_.block * problem_.element;
    window_.w = problem_.depthwise ? problem_.quad() / word_positions() : together ? window_step() : of_block;
    window_.h = window_width(outputs_of_row()) * window_.w;
    window_.d = window_rows(problem_.line ? 1 : band_) * window_.h;
    window_.block = together ? of_block : planes_ * window_.d;
  }

  /// Behind the window, in bytes: the numbers of its tiles, and what the kernel needs.
  int64_t tiles_at() const noexcept { return round_up(window_bytes(band_), kLine); }
  int64_t winograd_bytes(int64_t rows) const noexcept {
    return round_up(problem_.winograd_tiles(rows).bytes(), kLine) + WinogradTiles::kRoom;
  }
  /// The numbers of a band stay in L2 while the units pass over them; each band reads the weights.
  int64_t winograd_band() const noexcept {
    const int64_t out = problem_.axes[1].out, row = problem_.winograd_tiles(1).bytes();
    const int64_t rows = std::max<int64_t>(cache_sizes().l2 / 2 / row, 1), all = ceil_div(out, 2);
    return std::min(2 * ceil_div(all, ceil_div(all, rows)), out);
  }

  TileSplit split_for(int threads) const noexcept {
    const auto known = static_cast<size_t>(threads - 1);
    return known < splits_.size() ? splits_[known] : new_split(threads);
  }
  TileSplit new_split(int64_t threads) const noexcept {
    if (problem_.wide) return split_of(work(), threads);
    const auto units = static_cast<int64_t>(problem_.units.size());
    TileSplit split{1, 0, ceil_div(extent(), band_)};
    if (threads > 1) {
      const int64_t items = problem_.winograd ? 1 : 3;  // of a thread; each transforms what it reads
      const int64_t weights = problem_.blocks() * places_.weights, source = problem_.batch * image_;
      // Each part of the units copies the windows, each band reads the weights.
      if (units >= threads && (problem_.depthwise || weights > source)) {
        split.parts = std::min(units, items * threads);
      } else {
        const int64_t least = problem_.line ? 7 : problem_.winograd ? 2 : 1;
        const int64_t most = std::max(split.per_slice, ceil_div(extent(), least));
        split.per_slice = std::clamp(ceil_div(items * threads, slices()), split.per_slice, most);
      }
    }
    split.bands = slices() * split.per_slice;
    if (problem_.winograd) split.cut = 2;
    return split;
  }
  TileWork work() const noexcept {
    const ConvAxis &h = problem_.axes[1], &w = problem_.axes[2];
    const auto bytes = [](auto count) { return static_cast<double>(count); };
    TileWork work{};
    work.slices = slices();
    work.rows = extent();
    work.most_rows = band_;
    work.cut = problem_.line ? kTilePositions : 1;
    work.units = static_cast<int64_t>(problem_.units.size());
    const int64_t pitch = window_width(w.out), whole = round_up(w.out, kTilePositions);
    const bool joined = h.stride == w.stride && pitch < whole;
    work.width = problem_.line ? 1 : joined ? w.out : whole;
    work.pitch = problem_.line ? 1 : joined ? pitch : whole;
    work.others_ns = problem_.matrix ? 0.05 : 0.1;  // in one stretch, or block by block
    const int64_t steps = problem_.depth() * kBytesAtOnce / kWideBytes * (pairs_ ? 3 : 1);
    work.tile_ns = kernels_.tile_ns * bytes(steps * problem_.blocks());
    work.weights = bytes(problem_.blocks() * places_.weights);
    work.near_weights = bytes(cache_sizes().l2 / 4);
    const int64_t number = problem_.position / problem_.element * number_;  // of the source, a position
    const int64_t row = problem_.line ? number : planes_ * window_width(w.out) * number;
    work.read = bytes(slices() * work.rows * h.stride * row);
    if (windowed_) {
      work.copied = work.read;
      const int64_t beside = problem_.line ? window_width(1) - w.stride : (window_rows(1) - h.stride) * row / number;
      work.copied_of_band = bytes(std::max<int64_t>(beside, 0) * number);
    }
    const int64_t stored = slices() * h.out * w.out * problem_.outputs();
    work.stored = bytes(stored * stored_bytes());
    if (store_.residual) work.stored += bytes(stored) * bytes(residual_type_.size());
    return work;
  }

  void set_scales(const NodeContext& context) {
    const float* const steps = bf16_ ? nullptr : context.constants[kQuantizedSteps]->view.as<float>();
    const ir::Constant* const bias = leading_bias(context);
    scale_.assign(static_cast<size_t>(problem_.outputs()), 0);
    own_bias_.assign(static_cast<size_t>(problem_.outputs()), 0);
    for (int64_t o = 0; o < problem_.groups * problem_.group_outputs; ++o) {
      const auto i = static_cast<size_t>(o);  // outputs of several groups are whole blocks
      scale_[i] = steps ? attrs_.scale[o] * steps[o] : 1;
      if (bias) own_bias_[i] = bias->view.as<float>()[o];
    }
    zero_ = for_outputs(attrs_.zero, problem_.outputs());
    const bool is_zero = attrs_.zero == ByChannel(0);
    const QuantizeAttrs levels = attrs_.store.value_or(QuantizeAttrs{0, 1});
    level_low_ = for_outputs(levels.low, problem_.outputs());
    const std::vector<float> high = for_outputs(levels.high, problem_.outputs());
    for (size_t o = 0; o < high.size(); ++o) level_steps_.push_back(levels.most() / (high[o] - level_low_[o]));
    for (size_t axis = 0; axis < 3; ++axis) {
      TapClasses& classes = bias_.classes[axis];
      classes = tap_classes(problem_.axes[axis]);
      if (is_zero) classes.classes.resize(1);
      if (classes.classes.size() == 1) classes.of.clear();
    }
    const auto outputs = static_cast<int32_t>(problem_.outputs());
    for (const int32_t c : bias_.classes[2].of) bias_offsets_.push_back(c * outputs);
    const auto row = static_cast<int32_t>(bias_.classes[2].classes.size()) * outputs;
    for (const int32_t c : bias_.classes[1].of) row_bias_.push_back(c * row);
    size_t tables = 1;
    for (const TapClasses& classes : bias_.classes) tables *= classes.classes.size();
    bias_.values.resize(tables * static_cast<size_t>(problem_.outputs()));
  }

  /// Once the weights are packed. The memory is there: no inference may run out of it.
  void make_bias() const noexcept {
    const auto& classes = bias_.classes;
    const ConvAxis &h = problem_.axes[1], &w = problem_.axes[2];
    float* value = bias_.values.data();
    for (const TapClasses::Taps& in_d : classes[0].classes)
      for (const TapClasses::Taps& in_h : classes[1].classes)
        for (const TapClasses::Taps& in_w : classes[2].classes)
          for (const ByteUnit& unit : problem_.units) {
            const int64_t lanes = unit.blocks * problem_.block;
            if (bf16_) {
              value = std::copy_n(own_bias_.begin() + unit.result * problem_.block, lanes, value);
              continue;
            }
            const auto* const sums =
                reinterpret_cast<const int32_t*>(packed_->as<int8_t>() + places_.sums_at(problem_, unit));
            std::array<int64_t, kByteBlocksMost * kByteBlock> sum{};
            for (int64_t kd = in_d.begin; kd < in_d.end; ++kd)
              for (int64_t kh = in_h.begin; kh < in_h.end; ++kh)
                for (int64_t kw = in_w.begin; kw < in_w.end; ++kw) {
                  const int32_t* const tap = sums + ((kd * h.kernel + kh) * w.kernel + kw) * lanes;
                  for (int64_t o = 0; o < lanes; ++o) sum[static_cast<size_t>(o)] += tap[o];
                }
            for (int64_t o = 0; o < lanes; ++o) {
              const auto i = static_cast<size_t>(unit.result * problem_.block + o);
              *value++ = static_cast<float>(static_cast<double>(own_bias_[i]) -
                                            static_cast<double>(zero_[i]) * static_cast<double>(scale_[i]) *
                                                static_cast<double>(sum[static_cast<size_t>(o)]));
            }
          }
  }

  /// What is on its way while a unit is computed: the weights of the next one, or what comes behind this layer.
  ConvLines lines_behind(int64_t unit, const ConvAhead& ahead) const noexcept {
    const auto next = static_cast<size_t>(unit + 1);
    if (next == problem_.units.size()) return ahead.count > 0 ? *ahead.lines : ConvLines{nullptr, 0};
    if (problem_.depthwise) return {nullptr, 0};
    const auto* const weights = packed_->as<int8_t>() + places_.weights_at(problem_.units[next]);
    return {reinterpret_cast<const float*>(weights), problem_.units[next].blocks * places_.weights / kLine};
  }

  /// Copies the rows of some source blocks under a band, with zeros beyond the source.
  void copy_window(const uint8_t* image, const Band& band, int64_t blocks, uint8_t* window) const noexcept {
    const ConvAxis &d = problem_.axes[0], &h = problem_.axes[1], &w = problem_.axes[2];
    const int64_t first_row = problem_.line ? 0 : band.begin, column = problem_.line ? band.begin : 0;
    const int64_t rows = window_rows(problem_.line ? 1 : band.end - band.begin);
    const int64_t width = window_width(problem_.line ? band.end - band.begin : w.out);
    const int64_t begin = column * w.stride - w.pad, left = std::clamp<int64_t>(-begin, 0, width);
    const int64_t first = std::max<int64_t>(begin, 0);
    const int64_t inside = std::clamp<int64_t>(w.in - first, 0, width - left), right = width - left - inside;
    for (int64_t plane = 0; plane < planes_; ++plane)
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t z = band.d * d.stride - d.pad + plane, y = first_row * h.stride - h.pad + row;
        uint8_t* const to = window + plane * window_.d + row * window_.h;
        const bool within = z >= 0 && z < d.in && y >= 0 && y < h.in;
        clear(to, within ? left : width, blocks);
        if (!within) continue;
        copy_row(image + z * tensor_.d + y * tensor_.h + first * tensor_.w, inside, blocks, to + left * window_.w);
        clear(to + (left + inside) * window_.w, right, blocks);
      }
  }

  /// The same of a block of a depthwise layer, in words. Rows beyond the source stay zero from the first block on.
  void copy_words(const uint8_t* block, const Band& band, bool is_first, uint8_t* window) const noexcept {
    const ConvAxis &d = problem_.axes[0], &h = problem_.axes[1], &w = problem_.axes[2];
    const int64_t width = window_width(w.out), left = std::clamp<int64_t>(w.pad, 0, width);
    const int64_t first = std::max<int64_t>(-w.pad, 0), inside = std::clamp<int64_t>(w.in - first, 0, width - left);
    const int64_t rows = window_rows(band.end - band.begin), y = band.begin * h.stride - h.pad;
    const int64_t top = std::clamp<int64_t>(-y, 0, rows), bottom = std::clamp<int64_t>(h.in - y, top, rows);
    for (int64_t plane = 0; plane < planes_; ++plane, window += window_.d) {
      const int64_t z = band.d * d.stride - d.pad + plane;
      const int64_t end = z >= 0 && z < d.in ? bottom : top;
      kernels_.depthwise_words({block + z * tensor_.d + (y + top) * tensor_.h + first * tensor_.w, tensor_.h, end - top,
                                inside, left, width / word_positions()},
                               window + top * window_.h);
      if (!is_first) continue;
      clear(window, top * width, 1);
      clear(window + end * window_.h, (rows - end) * width, 1);
    }
  }

  /// Zeros at so many positions of a window.
  void clear(uint8_t* to, int64_t positions, int64_t blocks) const noexcept {
    const auto bytes = static_cast<size_t>(positions * window_.w);
    for (int64_t block = 0; block < (problem_.wide ? 1 : blocks); ++block)
      std::memset(to + block * window_.block, 0, bytes);
    if (pairs_) std::memset(to + rests_at(), 0, bytes);
  }

  /// The positions of the source that a band reads, one behind the other.
  void gather_window(const uint8_t* image, const Band& band, uint8_t* window) const noexcept {
    const auto& [d, h, w] = problem_.sources;
    // And those behind, as far as the last ones are read beyond their end: what is read must not depend on the band.
    const int64_t width = window_width(band.end - band.begin);
    const int64_t end = std::min(band.begin + width, problem_.axes[2].out);
    uint8_t* to = window;
    for (int64_t at = band.begin, n; at < end; at += n, to += n * window_.w) {
      const int64_t x = at % w.out, y = at / w.out % h.out, z = at / w.out / h.out;
      n = std::min(w.out - x, end - at);
      copy_row(image + z * d.stride * tensor_.d + y * h.stride * tensor_.h + x * w.stride * tensor_.w, n,
               problem_.source_blocks, to, w.stride);
    }
    clear(to, band.begin + width - end, problem_.source_blocks);
  }

  void copy_row(const uint8_t* from, int64_t positions, int64_t blocks, uint8_t* to, int64_t step = 1) const noexcept {
    if (bf16_ && problem_.matrix) {
      for (int64_t i = 0; i < positions; ++i)
        windows_->row(from + i * tensor_.w, problem_.group_inputs, to + i * window_.w, rests_at());
    } else if (planar_) {
      kernels_.bf16_planes(reinterpret_cast<const float*>(from), tensor_.block / tensor_.w, problem_.group_inputs,
                           window_.w / kBf16Bytes, positions, to);
    } else if (bf16_ && window_.w < kByteBlock) {
      windows_->few_channels(from, window_.w / kBf16Bytes, positions, to);
    } else if (bf16_) {
      windows_->side_by_side(from, tensor_.block / number_, blocks, positions, step, to, window_.w, rests_at());
    } else if (problem_.matrix) {
      for (int64_t i = 0; i < positions; ++i)
        copy_bytes(from + i * tensor_.w, problem_.group_inputs, to + i * window_.w);
    } else if (problem_.wide && window_.w < kByteBlock) {
      kernels_.few_channels(from, window_.w, positions, to);
    } else if (problem_.wide) {
      kernels_.side_by_side(from, tensor_.block, blocks, positions, to, window_.w);
    } else {
      for (int64_t block = 0; block < blocks; ++block)
        copy_bytes(from + block * tensor_.block, positions * problem_.block, to + block * window_.block);
    }
  }
  void copy_bytes(const uint8_t* from, int64_t count, uint8_t* to) const noexcept {
    if (kernels_.widen)
      kernels_.widen(from, count, to);
    else
      std::memcpy(to, from, static_cast<size_t>(count));
  }

  /// Of the rows from `first_row` on, and of their positions from `column` on, those that have results; how far behind
  /// the first place of results theirs is.
  int64_t keep_inside(const ByteUnit& unit, int64_t first_row, int64_t column, ByteConvRow& row,
                      ByteConvRows& rows) const noexcept {
    const auto inside = [&](size_t axis, int64_t first, int64_t& count) {
      const auto all = problem_.results[axis].inside(unit.phase[axis], problem_.axes[axis].out);
      const int64_t begin = std::max(all.begin, first), end = std::min(all.end, first + count);
      count = std::max<int64_t>(end - begin, 0);
      return begin - first;
    };
    const int64_t above = inside(1, first_row, rows.count), left = inside(2, column, row.positions);
    row.src += above * rows.src_step + left * row.src_step;
    if (rows.bias) rows.bias += above;
    if (row.bias_offsets) row.bias_offsets += left;
    const ResultAxis &high = problem_.results[1], &wide = problem_.results[2];
    return above * high.phases * wide.extent + left * wide.phases;
  }

  void run_band(const RunArgs& args, const Ops& ops, const Band& band, const ConvAhead& ahead,
                uint8_t* window) const noexcept {
    const ConvAxis &d = problem_.axes[0], &h = problem_.axes[1], &w = problem_.axes[2];
    const uint8_t* const image = static_cast<const uint8_t*>(args.inputs[0]) + band.image * image_;
    if (problem_.gathers)
      gather_window(image, band, window);
    else if (windowed_ && !problem_.depthwise)
      copy_window(image, band, problem_.source_blocks, window);
    const uint8_t* const source =
        windowed_ ? window : image + (band.d * d.stride - d.pad) * tensor_.d - h.pad * tensor_.h - w.pad * tensor_.w;
    const ByteProblem::Strides& strides = windowed_ ? window_ : tensor_;
    ByteConvRow row{};
    row.src_step = w.stride * strides.w;
    row.depth = problem_.depth();
    row.rests = rests_at();
    row.offsets = offsets_.data();
    row.pads = !problem_.matrix;
    row.is_residual_late = store_.is_late;
    row.low = store_.low;
    row.high = store_.high;
    row.rounding = store_.rounding ? &*store_.rounding : nullptr;
    row.first_ops = ops.first.data();
    row.first_op_count = static_cast<int64_t>(store_.first.size());
    row.post_ops = ops.rest.data();
    row.post_op_count = static_cast<int64_t>(store_.rest.size());
    if (store_.residual) {
      row.residual_scale = store_.residual->alpha;
      row.residual_shift = store_.residual->beta;
    }
    row.levels.most = attrs_.store ? attrs_.store->most() : 0;
    const int64_t band_rows = problem_.line ? 1 : band.end - band.begin;
    const int64_t calls = problem_.wide || problem_.depthwise || problem_.winograd ? 1 : band_rows;
    const WinogradTiles tiles = problem_.winograd_tiles(band_rows);
    uint8_t* const numbers = problem_.winograd ? window + tiles_at() : nullptr;
    if (problem_.winograd) {
      kernels_.winograd_tiles(window, window_.block, window_.h, tiles, numbers);
      row.src_step = tiles.channels * problem_.element;
      row.depth = problem_.number_steps();
    }
    const int64_t first_row = problem_.line ? 0 : band.begin, column = problem_.line ? band.begin : 0;
    const ResultAxis &deep = problem_.results[0], &high = problem_.results[1], &wide = problem_.results[2];
    const int64_t next_row = problem_.line ? 0 : high.phases * wide.extent;  // of results
    const ByteConvRows all_rows{
        calls == 1 ? band_rows : 1,     h.stride * strides.h,
        next_row * results_.position,   row_bias_.empty() ? nullptr : row_bias_.data() + first_row,
        next_row * residuals_.position, next_row * operands_.position};
    const auto& classes = bias_.classes;
    const int64_t slice_bias = classes[0].of.empty()
                                   ? 0
                                   : classes[0].of[static_cast<size_t>(band.d)] *
                                         static_cast<int64_t>(classes[1].classes.size() * classes[2].classes.size()) *
                                         problem_.outputs();
    const int64_t positions = problem_.line ? band.end - band.begin : w.out;
    auto* const room = shifts_taps() ? reinterpret_cast<int8_t*>(window) + taps_at() : nullptr;
    for (int64_t u = band.first_unit; u < band.last_unit; ++u) {
      const ByteUnit& unit = problem_.units[static_cast<size_t>(u)];
      row.blocks = unit.blocks;
      row.lanes = unit.lanes;
      row.results = results_.of(unit.result);
      row.residuals = residuals_.of(unit.result);
      row.operands = operands_.of(unit.result);
      row.pads_half = results_.halves > 1 && unit.result + unit.blocks == problem_.result_blocks();
      row.weights = packed_->as<int8_t>() + places_.weights_at(unit);
      row.channel = unit.result * problem_.block;
      row.scale = scale_.data() + row.channel;
      row.levels.low = level_low_.data() + row.channel;
      row.levels.steps = level_steps_.data() + row.channel;
      if (problem_.depthwise) copy_words(image + unit.block * tensor_.block, band, u == band.first_unit, window);
      const int64_t z = deep.at(band.d, unit.phase[0]);
      if (z < 0 || z >= deep.extent) continue;
      const ConvLines next = lines_behind(u, ahead);
      const int64_t lines = ceil_div(next.count, calls);
      for (int64_t r = 0; r < calls; ++r) {
        row.ahead_lines = std::min(lines, next.count - r * lines);
        if (row.ahead_lines > 0) row.ahead = reinterpret_cast<const int8_t*>(next.begin) + r * lines * kLine;
        row.src = source + unit.group * (problem_.group_inputs / problem_.block) * strides.block +
                  (windowed_ ? r : first_row + r) * all_rows.src_step + (windowed_ ? 0 : column) * row.src_step;
        row.bias = bias_.values.data() + slice_bias + unit.block * problem_.block;
        row.bias_offsets = classes[2].of.empty() ? nullptr : bias_offsets_.data() + column;
        ByteConvRows rows = all_rows;
        if (rows.bias) rows.bias += r;
        int64_t place =
            (z * high.extent + high.at(first_row + r, unit.phase[1])) * wide.extent + wide.at(column, unit.phase[2]);
        row.positions = positions;
        if (problem_.transposed) place += keep_inside(unit, first_row + r, column, row, rows);
        if (rows.count <= 0 || row.positions <= 0) continue;
        row.place = operands_.at(band.image, unit.result, place);
        const int64_t to = results_.at(band.image, unit.result, place);
        if (attrs_.store) row.dst_bytes = static_cast<uint8_t*>(args.outputs[attrs_.also_floats ? 1 : 0]) + to;
        if (stores_bf16_)
          row.dst_bf16 = static_cast<uint16_t*>(args.outputs[0]) + to;
        else if (attrs_.stores_floats())
          row.dst = static_cast<float*>(args.outputs[0]) + to;
        if (store_.residual) {
          const void* const other = args.inputs[store_.residual->operand];
          const int64_t at = residuals_.at(band.image, unit.result, place);
          if (residual_type_ == element::u8)
            row.residual_bytes = static_cast<const uint8_t*>(other) + at;
          else if (residual_type_ == element::bf16)
            row.residual_bf16 = static_cast<const uint16_t*>(other) + at;
          else
            row.residual = static_cast<const float*>(other) + at;
        }
        if (bf16_) {
          kernels_.bf16_rows(row, rows);
        } else if (problem_.wide) {
          kernels_.wide_rows(row, rows);
        } else if (problem_.winograd) {
          row.src = numbers;
          kernels_.winograd_rows(row, rows, tiles, reinterpret_cast<int8_t*>(numbers + round_up(tiles.bytes(), kLine)));
        } else if (problem_.depthwise) {
          kernels_.depthwise_rows(row, rows, taps(), room);
        } else {
          if (rows.bias) row.bias += *rows.bias;
          kernels_.row(row);
        }
      }
    }
  }

  const ByteConvKernels& kernels_;
  Isa isa_;
  int64_t number_;  // bytes of a number of the source
  bool pairs_;      // floats are two numbers of bf16 each
  const ByteConvKernels::Bf16Windows* windows_;
  QuantizedAttrs attrs_;  // those of bytes, or of a layer that is as its sums are
  bool bf16_, stores_bf16_;
  ByteProblem problem_;
  bool planar_;  // the source is channels of f32, one behind the other
  UnitPacking places_;
  StoreSteps store_;
  PackedWeights packed_;
  ByteProblem::Strides tensor_{}, window_{};
  bool windowed_ = false;  // windows are copied
  bool in_place_ = false;  // numbers of bf16 are read where the source has them
  element::Type residual_type_ = element::f32;
  int64_t image_ = 0;  // bytes of a source image
  Places results_{}, residuals_{}, operands_{};
  int64_t planes_ = 1;                 // under one output slice
  int64_t band_ = 1;                   // rows (or positions) at once, at most
  std::array<TileSplit, 8> splits_{};  // by threads
  std::vector<int32_t> offsets_, bias_offsets_, row_bias_;
  std::vector<float> scale_, zero_, own_bias_, level_low_, level_steps_;
  mutable std::once_flag bias_made_;
  mutable BiasTable bias_;
};

/// Whether the windows of a first layer are copied from where the model has its input.
bool takes_planes(const NodeContext& context, const ByteProblem& problem) {
  return is_bf16(context.node) && !problem.matrix && context.inputs[0].type == element::f32 &&
         problem.position < kByteBlock;
}

Proposal propose(const NodeContext& context) {
  if (active_byte_products() == ByteProducts::none) return Reject{"there are no products of bytes"};
  const ByteProblem problem = problem_of(context);
  if (problem.depthwise && is_bf16(context.node)) return Reject{"depthwise"};
  LayoutChoice choice = byte_layouts(context);
  // For one of floats.
  const double products = is_bf16(context.node) || byte_conv_kernels(active_byte_products())->widen ? 2 : 4;
  choice.cost = compute_ns(2 * static_cast<double>(context.outputs[0].count() * problem.group_inputs * problem.taps()),
                           context.isa) /
                products;
  if (!takes_planes(context, problem)) return std::vector{std::move(choice)};
  LayoutChoice planar = choice;
  planar.inputs[0] = Layout::plain(context.inputs[0].rank());
  return std::vector{std::move(planar), std::move(choice)};
}

constexpr Impl kQuantizedConvolution[] = {{"quantized_convolution", &propose, &create_on_bytes}};

}  // namespace

LayoutChoice byte_layouts(const NodeContext& context) {
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  const auto layout_for = [&](int rank, element::Type type) {
    return is_matmul(context) ? Layout::plain(rank)
                              : Layout::blocked(rank, static_cast<int>(channels_of_block(type, context.isa)));
  };
  const auto layout_of = [&](const TensorDesc& desc) { return layout_for(desc.rank(), desc.type); };
  choice.inputs[0] = layout_of(context.inputs[0]);
  for (const TensorDesc& output : context.outputs) choice.outputs.push_back(layout_of(output));
  add_chain_inputs(context, layout_for(context.outputs[0].rank(), element::f32), choice);
  const std::vector<FusedOp>& chain = chain_of(context.node);
  if (const auto residual = byte_store_of(chain, has_bytes(context)).residual) {
    const int input = chain[*residual].operand;
    choice.inputs[static_cast<size_t>(input)] = layout_of(context.inputs[static_cast<size_t>(input)]);
    if (context.inputs[static_cast<size_t>(input)].type == context.outputs[0].type) choice.in_place = {input};
  }
  return choice;
}

std::unique_ptr<const Executor> create_on_bytes(const NodeContext& context, const LayoutChoice& choice) {
  return std::make_unique<QuantizedConvolutionExecutor>(context, choice);
}

std::span<const Impl> quantized_convolution_impls() { return kQuantizedConvolution; }

}  // namespace terroir::cpu
