// Quantize and Dequantize of the set "cpu": f32 to bytes, and back. Layouts: any, the same for both; from plain to
// channel blocks on the way to bytes, which is what images need. Threads: stretches of elements, or of positions.
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

/// The levels by channel, in whole blocks; one block of them where all channels have the same.
class LevelTable {
 public:
  LevelTable(const NodeContext& context, int64_t block) : block_(block) {
    const auto& attrs = context.node.attrs<QuantizeAttrs>();
    by_channel_ = attrs.by_channel();
    const int64_t channels = by_channel_ ? context.inputs[0].dims[1] : 1;
    for (int64_t c = 0; c < round_up(channels, block); ++c) {
      low_.push_back(attrs.low[std::min(c, channels - 1)]);
      steps_.push_back(attrs.steps(std::min(c, channels - 1)));
    }
    most_ = attrs.most();
  }
  bool by_channel() const noexcept { return by_channel_; }
  ByteLevels of_block(int64_t block) const noexcept {
    const int64_t first = by_channel_ ? block * block_ : 0;
    return {low_.data() + first, steps_.data() + first, most_};
  }

 private:
  int64_t block_;  // channels of a block
  std::vector<float> low_, steps_;
  float most_;
  bool by_channel_;
};

/// A tensor in pieces: stretches of elements; where it matters in which channel these are, blocks of an image.
class Pieces {
 public:
  Pieces(const TensorDesc& desc, bool by_channel, int64_t block) : count_(desc.padded_count()), lanes_(block) {
    if (!by_channel && !desc.has_padding()) return;
    channels_ = desc.dims[1];
    blocks_ = ceil_div(channels_, lanes_);
    positions_ = desc.count() / (desc.dims[0] * channels_);
  }

  /// fn(begin, end, block). Blocks with fewer channels than lanes end in zeros.
  template <class T, class Fn>
  void run(const RunArgs& args, T* dst, Fn fn) const noexcept {
    const int64_t unit = channels_ > 0 ? positions_ * lanes_ : kAtOnce;
    args.arena.parallel_for(ceil_div(count_, unit), [&](int64_t i) {
      const int64_t begin = i * unit, end = std::min(begin + unit, count_), block = i % blocks_;
      fn(begin, end, block);
      const int64_t lanes = channels_ - block * lanes_;
      for (int64_t p = begin; channels_ > 0 && lanes < lanes_ && p < end; p += lanes_)
        std::fill(dst + p + lanes, dst + p + lanes_, T{0});
    });
  }

 private:
  static constexpr int64_t kAtOnce = 1 << 14;

  int64_t count_, lanes_;
  int64_t channels_ = 0, positions_ = 0;  // 0: it does not matter
  int64_t blocks_ = 1;
};

class QuantizeExecutor final : public Executor {
 public:
  explicit QuantizeExecutor(const NodeContext& context)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        levels_(context, kernels_.lanes),
        pieces_(context.inputs[0], levels_.by_channel(), kernels_.lanes) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* const src = static_cast<const float*>(args.inputs[0]);
    auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
    pieces_.run(args, dst, [&](int64_t begin, int64_t end, int64_t block) {
      kernels_.quantize(src + begin, dst + begin, end - begin, levels_.of_block(block));
    });
  }
  std::string kernel_name() const override { return concat("u8_quantize__", kernels_.bucket); }

 private:
  const ByteConvKernels& kernels_;
  LevelTable levels_;
  Pieces pieces_;
};

class QuantizeToBlocksExecutor final : public Executor {
 public:
  explicit QuantizeToBlocksExecutor(const NodeContext& context)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        levels_(context, kernels_.lanes),
        images_(context.inputs[0].dims[0]),
        channels_(context.inputs[0].dims[1]),
        positions_(context.inputs[0].count() / (images_ * channels_)) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* const src = static_cast<const float*>(args.inputs[0]);
    auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
    const int64_t lanes = kernels_.lanes, blocks = ceil_div(channels_, lanes), parts = ceil_div(positions_, kAtOnce);
    args.arena.parallel_for(images_ * blocks * parts, [&](int64_t i) {
      const int64_t block = i / parts, first = block % blocks * lanes;
      const int64_t channels = std::min(lanes, channels_ - first);
      const Stretch part = part_of({0, positions_}, i % parts, parts);
      const float* const planes = src + (block / blocks * channels_ + first) * positions_;
      kernels_.quantize_planes(planes + part.begin, positions_, channels,
                               dst + (block * positions_ + part.begin) * lanes, part.end - part.begin,
                               levels_.of_block(block % blocks));
    });
  }
  std::string kernel_name() const override {
    return concat("u8_quantize_plain_nChw", kernels_.lanes, "c__", kernels_.bucket);
  }

 private:
  static constexpr int64_t kAtOnce = 1 << 12;

  const ByteConvKernels& kernels_;
  LevelTable levels_;
  int64_t images_, channels_, positions_;
};

class DequantizeExecutor final : public Executor {
 public:
  explicit DequantizeExecutor(const NodeContext& context)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        attrs_(context.node.attrs<DequantizeAttrs>()),
        pieces_(context.outputs[0], false, kernels_.lanes) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* const src = static_cast<const uint8_t*>(args.inputs[0]);
    auto* const dst = static_cast<float*>(args.outputs[0]);
    pieces_.run(args, dst, [&](int64_t begin, int64_t end, int64_t) {
      kernels_.dequantize(src + begin, dst + begin, end - begin, attrs_.scale, -attrs_.scale * attrs_.zero);
    });
  }
  std::string kernel_name() const override { return concat("u8_dequantize__", kernels_.bucket); }

 private:
  const ByteConvKernels& kernels_;
  DequantizeAttrs attrs_;
  Pieces pieces_;
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
    const Layout blocked = Layout::blocked(rank, static_cast<int>(channel_block(context.isa)));
    offer(blocked, blocked, 0.6);
    if (context.node.is(kQuantizeType)) offer(plain, blocked, 0.8);
  }
  if (!context.node.is(kQuantizeType) || !context.node.attrs<QuantizeAttrs>().by_channel()) offer(plain, plain, 0.6);
  return choices;
}

constexpr Impl kQuantize[] = {
    {"quantize", &propose,
     [](const NodeContext& context, const LayoutChoice& choice) -> std::unique_ptr<const Executor> {
       if (changes_layout(choice)) return std::make_unique<QuantizeToBlocksExecutor>(context);
       return std::make_unique<QuantizeExecutor>(context);
     }}};

constexpr Impl kDequantize[] = {
    {"dequantize", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<DequantizeExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> quantize_impls() { return kQuantize; }
std::span<const Impl> dequantize_impls() { return kDequantize; }

}  // namespace terroir::cpu
