// BinaryConvolution of f32 with constant weights, by counting bits.
// Layouts: channel blocks, whose comparisons with zero and one are the bits of their channels.
// Threads: rows of the padded image are packed, then rows of the result counted, cut by output channels too where there
// are few; integers do not depend on the cut.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/convolution/binary_convolution.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/bitconv/bitconv.hpp"
#include "plugins/cpu/nodes/window_args.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

ops::ConvGeometry geometry_of(const NodeContext& context) {
  const auto& attrs = context.node.attrs<ops::BinaryConvolutionAttrs>();
  const ops::ConvolutionAttrs plain{attrs.strides, attrs.dilations, attrs.pads_begin, attrs.pads_end, attrs.auto_pad};
  return ops::conv_geometry(plain, context.inputs[0].dims, context.inputs[1].dims, false);
}

class BinaryConvolutionExecutor final : public Executor {
 public:
  explicit BinaryConvolutionExecutor(const NodeContext& context)
      : kernels_(bitconv_kernels(context.isa)),
        batch_(context.outputs[0].dims[0]),
        name_(concat("f32_bitconv_", context.outputs[0].layout.name(), "__", isa_name(context.isa))) {
    const ops::ConvGeometry geometry = geometry_of(context);
    args_.channels = geometry.in_channels;
    args_.outputs = geometry.out_channels;
    args_.block = context.outputs[0].layout.channel_block();
    args_.words = ceil_div(args_.channels, 64);
    args_.pad_value = static_cast<float>(context.node.attrs<ops::BinaryConvolutionAttrs>().pad_value);
    for (size_t i = 0; i < 2; ++i) {
      const ops::WindowAxis& axis = geometry.axes[i];
      set_axis(args_, i, axis);
      args_.padded[i] = (axis.output - 1) * axis.stride + axis.dilated_kernel();
    }
    src_floats_ = context.inputs[0].padded_count() / batch_;
    dst_floats_ = context.outputs[0].padded_count() / batch_;
    groups_ = ceil_div(args_.outputs, args_.block) * args_.block / kernels_.counters;
    pack(context);
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t threads = args.arena.threads(), wanted = threads == 1 ? 1 : 4 * threads;
    const int64_t packs = std::min(wanted, args_.padded[0]), rows = args_.out[0];
    const int64_t cuts = rows >= wanted ? 1 : std::min(groups_, ceil_div(wanted, rows));
    const int64_t slices = std::min(wanted, rows * cuts);
    BitConvArgs mine = args_;
    mine.bits = static_cast<uint64_t*>(args.scratch);
    mine.weights = packed_->as<uint64_t>();
    for (int64_t image = 0; image < batch_; ++image) {
      mine.src = static_cast<const float*>(args.inputs[0]) + image * src_floats_;
      mine.dst = static_cast<float*>(args.outputs[0]) + image * dst_floats_;
      args.arena.parallel_for(packs, [&](int64_t slice) {
        kernels_.pack(mine, mine.padded[0] * slice / packs, mine.padded[0] * (slice + 1) / packs);
      });
      args.arena.parallel_for(slices, [&](int64_t slice) {
        for (int64_t task = rows * cuts * slice / slices; task < rows * cuts * (slice + 1) / slices; ++task) {
          const int64_t row = task / cuts, cut = task % cuts;
          kernels_.count(mine, row, row + 1, groups_ * cut / cuts, groups_ * (cut + 1) / cuts);
        }
      });
    }
  }

  size_t scratch_bytes(int /*threads*/) const override {
    return static_cast<size_t>(args_.padded[0] * args_.padded[1] * 2 * args_.words) * sizeof(uint64_t);
  }
  std::string kernel_name() const override { return name_; }

 private:
  void pack(const NodeContext& context) {
    Packing packing;
    packing.key = concat("bitconv", kernels_.counters, "b", args_.block);
    const int64_t taps = args_.kernel[0] * args_.kernel[1];
    packing.bytes = static_cast<size_t>(groups_ * kernels_.counters * taps * args_.words) * sizeof(uint64_t);
    packing.pieces = groups_;
    packing.pack = [taps, channels = args_.channels, outputs = args_.outputs, words = args_.words,
                    counters = kernels_.counters](const void* stored, void* packed, int64_t begin, int64_t end) {
      const auto* bytes = static_cast<const uint8_t*>(stored);
      // Bits of IR files come highest first, without gaps.
      const auto bit = [&](int64_t o, int64_t c, int64_t tap) -> uint64_t {
        if (c >= channels || o >= outputs) return 1;
        const int64_t at = (o * channels + c) * taps + tap;
        return (bytes[at / 8] >> (7 - at % 8)) & 1;
      };
      auto* out = static_cast<uint64_t*>(packed) + begin * counters * taps * words;
      for (int64_t o = begin * counters; o < end * counters; o += counters)
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t word = 0; word < words; ++word)
            for (int64_t i = 0; i < counters; ++i) {
              uint64_t value = 0;
              for (int64_t c = 0; c < 64; ++c) value |= bit(o + i, word * 64 + c, tap) << c;
              *out++ = value;
            }
    };
    packed_ = context.weights.get(*context.constants[1], std::move(packing));
  }

  const BitConvKernels& kernels_;
  int64_t batch_;
  std::string name_;
  BitConvArgs args_;
  int64_t src_floats_ = 0, dst_floats_ = 0, groups_ = 0;
  PackedWeights packed_;
};

/// Whether most of the padded image lies in gaps that large strides and dilations leave.
bool reads_little(const ops::ConvGeometry& geometry) {
  double padded = 1, source = 1, read = 1;
  for (size_t i = 0; i < 2; ++i) {
    const ops::WindowAxis& axis = geometry.axes[i];
    padded *= static_cast<double>(axis.output - 1) * static_cast<double>(axis.stride) +
              static_cast<double>(axis.dilated_kernel());
    source *= static_cast<double>(axis.input);
    read *= static_cast<double>(axis.output) * static_cast<double>(axis.kernel);
  }
  constexpr double kMost = 16;
  return padded > kMost * (source + read);
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  if (!context.constants[1]) return Reject{"the weights are known at run time only"};
  if (dst.count() == 0 || context.inputs[0].count() == 0) return Reject{"there are no elements"};
  const ops::ConvGeometry geometry = geometry_of(context);
  if (reads_little(geometry)) return Reject{"strides or dilations leave most of the padded image out"};
  const int64_t bits = geometry.in_channels * geometry.axes[0].kernel * geometry.axes[1].kernel;
  const Layout layout = Layout::blocked(4, static_cast<int>(channel_block(context.isa)));
  LayoutChoice choice;
  choice.inputs = {layout, std::nullopt};
  choice.outputs = {layout};
  // Sixteen bits in the time of a floating-point operation.
  choice.cost = compute_ns(static_cast<double>(dst.count() * bits) / 16, context.isa);
  return std::vector{choice};
}

constexpr Impl kBinary[] = {{"binary_convolution", &propose,
                             [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
                               return std::make_unique<BinaryConvolutionExecutor>(context);
                             }}};

}  // namespace

std::span<const Impl> binary_convolution_impls() { return kBinary; }

}  // namespace terroir::cpu
