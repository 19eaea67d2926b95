// Quantize of the set "cpu": f32 to bytes. Layouts: any, the same for both; from plain to channel blocks on the way,
// which is what images need. Threads: stretches of elements, or of positions.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

ByteLevels levels_of(const NodeContext& context) {
  const auto& attrs = context.node.attrs<QuantizeAttrs>();
  return {attrs.low, attrs.steps(), static_cast<float>(attrs.levels - 1)};
}

/// Blocks with fewer channels than lanes end in zeros.
void clear_lanes(uint8_t* block, int64_t positions, int64_t channels) {
  for (int64_t i = 0; i < positions; ++i)
    std::fill(block + i * kByteBlock + channels, block + (i + 1) * kByteBlock, uint8_t{0});
}

class QuantizeExecutor final : public Executor {
 public:
  explicit QuantizeExecutor(const NodeContext& context)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        levels_(levels_of(context)),
        count_(context.inputs[0].padded_count()) {
    const TensorDesc& src = context.inputs[0];
    if (!src.has_padding()) return;
    channels_ = src.dims[1];
    positions_ = src.count() / (src.dims[0] * channels_);
  }

  void run(const RunArgs& args) const noexcept override {
    const auto* const src = static_cast<const float*>(args.inputs[0]);
    auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
    // Images of channels that fill no blocks go block by block.
    const int64_t unit = channels_ > 0 ? positions_ * kByteBlock : kAtOnce;
    args.arena.parallel_for(ceil_div(count_, unit), [&](int64_t i) {
      const int64_t begin = i * unit, end = std::min(begin + unit, count_);
      kernels_.quantize(src + begin, dst + begin, end - begin, levels_);
      const int64_t blocks = ceil_div(channels_, kByteBlock);
      if (channels_ > 0 && i % blocks == blocks - 1)
        clear_lanes(dst + begin, positions_, channels_ - (blocks - 1) * kByteBlock);
    });
  }
  std::string kernel_name() const override { return "u8_quantize__avx512_vnni"; }

 private:
  static constexpr int64_t kAtOnce = 1 << 14;

  const ByteConvKernels& kernels_;
  ByteLevels levels_;
  int64_t count_;
  int64_t channels_ = 0, positions_ = 0;  // 0: no padding
};

class QuantizeToBlocksExecutor final : public Executor {
 public:
  explicit QuantizeToBlocksExecutor(const NodeContext& context)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        levels_(levels_of(context)),
        images_(context.inputs[0].dims[0]),
        channels_(context.inputs[0].dims[1]),
        positions_(context.inputs[0].count() / (images_ * channels_)) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* const src = static_cast<const float*>(args.inputs[0]);
    auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
    const int64_t blocks = ceil_div(channels_, kByteBlock), parts = ceil_div(positions_, kAtOnce);
    args.arena.parallel_for(images_ * blocks * parts, [&](int64_t i) {
      const int64_t block = i / parts, first = block % blocks * kByteBlock;
      const int64_t channels = std::min(kByteBlock, channels_ - first);
      const Stretch part = part_of({0, positions_}, i % parts, parts);
      const float* const planes = src + (block / blocks * channels_ + first) * positions_;
      kernels_.quantize_planes(planes + part.begin, positions_, channels,
                               dst + (block * positions_ + part.begin) * kByteBlock, part.end - part.begin, levels_);
    });
  }
  std::string kernel_name() const override { return "u8_quantize_plain_nChw16c__avx512_vnni"; }

 private:
  static constexpr int64_t kAtOnce = 1 << 12;

  const ByteConvKernels& kernels_;
  ByteLevels levels_;
  int64_t images_, channels_, positions_;
};

bool changes_layout(const LayoutChoice& choice) { return *choice.inputs[0] != choice.outputs[0]; }

Proposal propose(const NodeContext& context) {
  if (active_byte_products() == ByteProducts::none) return Reject{"there are no products of bytes"};
  const int rank = context.inputs[0].rank();
  std::vector<LayoutChoice> choices;
  const auto offer = [&](const Layout& from, const Layout& to, double factor) {
    LayoutChoice choice;
    choice.inputs = {from};
    choice.outputs = {to};
    choice.cost = factor * copy_ns(context.inputs[0]);
    choices.push_back(std::move(choice));
  };
  const Layout plain = Layout::plain(rank);
  if (rank >= 3 && context.inputs[0].count() > 0) {
    const Layout blocked = Layout::blocked(rank, static_cast<int>(kByteBlock));
    offer(blocked, blocked, 0.6);
    offer(plain, blocked, 0.8);
  }
  offer(plain, plain, 0.6);
  return choices;
}

constexpr Impl kQuantize[] = {
    {"quantize", &propose,
     [](const NodeContext& context, const LayoutChoice& choice) -> std::unique_ptr<const Executor> {
       if (changes_layout(choice)) return std::make_unique<QuantizeToBlocksExecutor>(context);
       return std::make_unique<QuantizeExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> quantize_impls() { return kQuantize; }

}  // namespace terroir::cpu
