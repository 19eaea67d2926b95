// Bf16Convolution of a depthwise base: the kernels of f32, for some rows of a block at a time, whose numbers of bf16
// become floats before or after.
// Layouts: numbers of bf16 in nChw32c, floats in nChw16c. Threads: tasks are such rows; sums do not depend on them.
#include <algorithm>
#include <span>

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/convolution.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/row_plans.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

const ConvKernel* depthwise_kernel(const NodeContext& context) {
  return find_conv_kernel(conv_problem(context), context.isa, ConvFormat::blocked, ConvFormat::blocked);
}

class Bf16DepthwiseExecutor final : public Executor {
 public:
  explicit Bf16DepthwiseExecutor(const NodeContext& context)
      : kernels_(*byte_conv_kernels(active_byte_products())),
        conv_(context, *depthwise_kernel(context), conv_problem(context)),
        reads_bf16_(context.inputs[0].type == element::bf16),
        stores_bf16_(context.outputs[0].type == element::bf16),
        blocks_(conv_.plan.grid.oc) {
    while (band_ < h().out && bytes_of(band_ + 1) <= cache_sizes().l2 / 4) ++band_;
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    conv_.chain.bind(args, ops);
    const int64_t bands = bands_for(args.arena.threads());
    args.arena.parallel_for_slots(conv_.plan.problem.batch * wide_blocks() * bands, [&](int64_t item, int64_t slot) {
      const Stretch rows = part_of({0, h().out}, item % bands, bands);
      run_rows(args, ops, item / bands, {rows.begin, rows.end}, args.slots.of<float>(slot));
    });
  }

  SlotNeed slot_need(int threads) const override {
    const int64_t items = conv_.plan.problem.batch * wide_blocks() * bands_for(threads);
    return {whole_lines(conv_.plan.scratch_floats) * sizeof(float) + static_cast<size_t>(bytes_of(band_)),
            static_cast<size_t>(std::min<int64_t>(threads, items))};
  }
  std::string kernel_name() const override {
    return concat("bf16_depthwise_", stores_bf16_ ? "bf16_nChw32c" : "f32_nChw16c", "__", kernels_.wide_bucket);
  }

 private:
  static constexpr int64_t kHalves = kBf16Block / kByteBlock;

  const ConvAxis& h() const noexcept { return conv_.plan.exec.h; }
  const ConvAxis& w() const noexcept { return conv_.plan.exec.w; }
  /// Of 32 channels, of an image.
  int64_t wide_blocks() const noexcept { return ceil_div(blocks_, kHalves); }
  /// Floats of a block of 16 channels for so many rows of results: of the source rows that these need, and of theirs.
  int64_t source_floats(int64_t rows) const noexcept {
    const int64_t reach = (rows - 1) * h().stride + (h().kernel - 1) * h().dilation + 1;
    return reads_bf16_ ? std::min(reach, h().in) * w().in * kByteBlock : 0;
  }
  int64_t result_floats(int64_t rows) const noexcept { return stores_bf16_ ? rows * w().out * kByteBlock : 0; }
  int64_t bytes_of(int64_t rows) const noexcept {
    return kHalves * (source_floats(rows) + result_floats(rows)) * static_cast<int64_t>(sizeof(float));
  }
  int64_t bands_for(int threads) const noexcept {
    constexpr int64_t kItems = 3;  // of a thread
    const int64_t wanted = ceil_div(kItems * threads, std::max<int64_t>(1, conv_.plan.problem.batch * wide_blocks()));
    return std::clamp(wanted, ceil_div(h().out, band_), h().out);
  }

  /// Of one block of 32 channels of all images.
  void run_rows(const RunArgs& args, const PostOpChain::Bound& ops, int64_t wide, Rows out,
                float* memory) const noexcept {
    const int64_t n = wide / wide_blocks(), first = wide % wide_blocks() * kHalves;
    const int64_t count = std::min(kHalves, blocks_ - first);
    const Rows in = source_rows(h(), out);
    ConvPlan plan = plan_of_rows(conv_.plan, in, out);
    float* const sources = memory + whole_lines(conv_.plan.scratch_floats);
    float* const results = sources + kHalves * source_floats(band_);
    const ConvStrides src = conv_.plan.src, dst = conv_.plan.dst;
    if (reads_bf16_) {
      plan.src = {0, 0, 0, w().in * kByteBlock, kByteBlock};
      const auto* const numbers = static_cast<const uint16_t*>(args.inputs[0]);
      kernels_.floats_of_bf16(numbers + (wide * h().in + in.begin) * w().in * kBf16Block, sources, source_floats(band_),
                              in.count() * w().in);
    }
    if (stores_bf16_) plan.dst = {0, 0, 0, w().out * kByteBlock, kByteBlock};
    for (int64_t half = 0; half < count; ++half) {
      const int64_t block = first + half;
      ConvArgs conv{nullptr, conv_.packed->as<float>(), nullptr, ops.data(), static_cast<int64_t>(conv_.chain.size()),
                    memory};
      conv.src = reads_bf16_ ? sources + half * source_floats(band_)
                             : static_cast<const float*>(args.inputs[0]) + n * src.n + in.begin * src.h;
      conv.dst = stores_bf16_ ? results + half * result_floats(band_)
                              : static_cast<float*>(args.outputs[0]) + n * dst.n + out.begin * dst.h;
      conv_.kernel.run(plan, conv, {0, 1, block, block + 1, 0, units_of_rows(plan)});
    }
    if (!stores_bf16_) return;
    auto* const numbers = static_cast<uint16_t*>(args.outputs[0]);
    kernels_.bf16_of_floats(results, count > 1 ? result_floats(band_) : 0,
                            numbers + (wide * h().out + out.begin) * w().out * kBf16Block, out.count() * w().out);
  }

  const ByteConvKernels& kernels_;
  PreparedConvolution conv_;
  bool reads_bf16_, stores_bf16_;
  int64_t blocks_;    // of 16 channels
  int64_t band_ = 1;  // rows of results at once, at most
};

Proposal propose(const NodeContext& context) {
  const ConvProblem problem = conv_problem(context);
  if (problem.groups == 1 || problem.groups != problem.ic || problem.groups != problem.oc)
    return Reject{"not depthwise"};
  const ConvKernel* const kernel = depthwise_kernel(context);
  if (!kernel) return Reject{"no kernel of f32"};
  const auto layout = [&](const TensorDesc& desc) {
    return Layout::blocked(desc.rank(), static_cast<int>(channels_of_block(desc.type, context.isa)));
  };
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = layout(context.inputs[0]);
  choice.outputs = {layout(context.outputs[0])};
  choice.cost = conv_slowdown(problem, *kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa);
  return std::vector{std::move(choice)};
}

constexpr Impl kBf16Depthwise[] = {
    {"bf16_depthwise", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<Bf16DepthwiseExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> bf16_depthwise_impls() { return kBf16Depthwise; }

}  // namespace terroir::cpu
