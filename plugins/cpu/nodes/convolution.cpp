// Convolution, GroupConvolution and their BackpropData forms in f32, with a fused chain at the store. Weights known at
// run time only are packed by every run, before anything else: profiles say "+pack". The positions that a strided 1x1
// convolution reads may be gathered before, "+gather", or meanwhile, "+gather_fused".
// Layouts: what the kernels of the bucket want; see kernels/conv/conv.hpp. Threads: slices of the kernel's grid; sums
// do not depend on them.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/gather.hpp"
#include "plugins/cpu/nodes/convolution.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"
#include "plugins/cpu/nodes/winograd_conv.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

const ConvKernel* find_kernel(const ConvProblem& problem, Isa isa, const LayoutChoice& choice) {
  const int rank = choice.outputs[0].rank();
  for (const ConvFormat src : {ConvFormat::blocked, ConvFormat::nhwc, ConvFormat::plain})
    for (const ConvFormat dst : {ConvFormat::blocked, ConvFormat::nhwc, ConvFormat::plain})
      if (layout_of(src, rank, isa) == *choice.inputs[0] && layout_of(dst, rank, isa) == choice.outputs[0])
        if (const ConvKernel* kernel = find_conv_kernel(problem, isa, src, dst)) return kernel;
  return nullptr;
}

class ConvolutionExecutor final : public Executor {
 public:
  ConvolutionExecutor(const NodeContext& context, const ConvKernel& kernel, const ConvProblem& problem)
      : problem_(problem),
        gathers_(conv_gathers(problem, kernel)),
        conv_(context, kernel, gathers_ ? conv_gathered(problem) : problem) {
    if (!gathers_) return;
    kernel.plan(problem, kernel, first_unit_);
    // The order of sums, and where weights lie, are those of the other units.
    if (first_unit_.oc_blocks != conv_.plan.oc_blocks || conv_.plan.ic_chunk > 0) first_unit_.gathers = false;
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    conv_.chain.bind(args, ops);
    const ConvKernel& kernel = conv_.kernel;
    const ConvPlan& plan = conv_.plan;
    auto* scratch = static_cast<float*>(args.scratch);
    const float* packed = conv_.packed ? conv_.packed->as<float>() : scratch;
    if (!conv_.packed) {
      const ConvConstants constants{static_cast<const float*>(args.inputs[1]), conv_.bias};
      args.arena.parallel_for(kernel.pack_pieces(plan),
                              [&](int64_t piece) { kernel.pack(plan, kernel, constants, scratch, piece, piece + 1); });
      scratch += packed_stride();
    }
    const auto* src = static_cast<const float*>(args.inputs[0]);
    ConvArgs whole{
        src,    packed, static_cast<float*>(args.outputs[0]), ops.data(), static_cast<int64_t>(conv_.chain.size()),
        nullptr};
    if (gathers_) {
      if (first_unit_.gathers) {
        compute_first_unit(args.arena, whole, scratch);
      } else {
        gather(args.arena, src, scratch);
      }
      whole.src = scratch;
    }
    conv_.for_each_slice(
        args, whole, [&](ConvArgs& conv, const ConvTile& box, int64_t) { kernel.run(plan, conv, box); },
        first_unit_.gathers ? 1 : 0);
  }

  size_t scratch_bytes(int /*threads*/) const override {
    return ((conv_.packed ? 0 : packed_stride()) + gathered_stride()) * sizeof(float);
  }
  SlotNeed slot_need(int threads) const override { return conv_.slot_need(threads); }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    if (first_unit_.gathers && slice < conv_split(conv_.plan, threads).part_count())
      return conv_.first_constants(ConvTile{0, 1, 0, 1, 0, 1});
    return conv_.first_constants(threads, slice);
  }
  std::string kernel_name() const override {
    return concat(conv_.kernel.name, conv_.packed ? "" : "+pack",
                  first_unit_.gathers ? "+gather_fused"
                  : gathers_          ? "+gather"
                                      : "");
  }

 private:
  /// Threads that do not share positions gather their own: they find them in their cache.
  void gather(const parallel::Arena& arena, const float* src, float* gathered) const noexcept {
    const ConvPlan& plan = conv_.plan;
    const ConvSplit split = conv_split(plan, arena.threads());
    const int64_t pieces = conv_gather_pieces(problem_, plan.block), blocks = ceil_div(problem_.ic, plan.block);
    if (split.parts.oc > 1) {
      arena.parallel_for(pieces, [&](int64_t piece) {
        conv_gather(problem_, plan.block, src, gathered, {piece, piece + 1}, {0, plan.grid.sp});
      });
      return;
    }
    arena.parallel_for(split.part_count() * kSlices, [&](int64_t task) {
      const ConvTile part = conv_part(plan, split, task / kSlices);
      conv_gather(problem_, plan.block, src, gathered, {part.n0 * blocks, part.n1 * blocks},
                  part_of({part.sp0, part.sp1}, task % kSlices, kSlices));
    });
  }

  /// Likewise, on the way. Dense kernels of blocked sources take no scratch memory.
  void compute_first_unit(const parallel::Arena& arena, const ConvArgs& whole, float* gathered) const noexcept {
    const ConvSplit split = conv_split(conv_.plan, arena.threads());
    ConvArgs conv = whole;
    conv.gathered = gathered;
    conv.oc_ahead = conv_.plan.grid.oc;
    const ConvGrid& grid = first_unit_.grid;
    const int64_t slices = split.part_count() * kSlices;
    arena.parallel_for(slices, [&](int64_t slice) {
      ConvTile box{0, grid.n, 0, 1, 0, grid.sp};
      Stretch rows = part_of({0, grid.sp}, slice, slices);
      if (split.parts.oc == 1) {
        const ConvTile part = conv_part(conv_.plan, split, slice / kSlices);
        box.n0 = part.n0;
        box.n1 = part.n1;
        const int64_t positions = conv_.plan.grid.sp;
        rows = part_of({part.sp0 * grid.sp / positions, part.sp1 * grid.sp / positions}, slice % kSlices, kSlices);
      }
      box.sp0 = rows.begin;
      box.sp1 = rows.end;
      conv_.kernel.run(first_unit_, conv, box);
    });
  }

  size_t packed_stride() const noexcept { return whole_lines(conv_.plan.packed_floats); }
  size_t gathered_stride() const noexcept {
    return gathers_ ? whole_lines(static_cast<size_t>(conv_gathered_floats(problem_, conv_.plan.block))) : 0;
  }

  /// Of the gathering of a part.
  static constexpr int64_t kSlices = 4;

  ConvProblem problem_;
  bool gathers_;
  PreparedConvolution conv_;
  ConvPlan first_unit_{};  // if it gathers, of the strided problem, which then runs over the first unit
};

}  // namespace

Proposal propose_convolution(const NodeContext& context) {
  if (context.outputs[0].type != element::f32)
    return Reject{"only f32, not " + context.outputs[0].type.get_type_name()};
  const ConvProblem problem = conv_problem(context);
  const int rank = context.outputs[0].rank();
  std::vector<LayoutChoice> choices;
  std::string reasons;
  for (const ConvKernel& kernel : conv_kernels(context.isa)) {
    if (const char* why = kernel.reject(problem, kernel)) {
      reasons.append(reasons.empty() ? "" : "; ").append(kernel.name).append(": ").append(why);
      continue;
    }
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[0] = layout_of(kernel.src, rank, context.isa);
    choice.outputs = {layout_of(kernel.dst, rank, context.isa)};
    // The first kernel of a pair of layouts is the best.
    if (std::any_of(choices.begin(), choices.end(), [&](const LayoutChoice& known) {
          return known.inputs[0] == choice.inputs[0] && known.outputs == choice.outputs;
        }))
      continue;
    if (!context.constants[1]) choice.inputs[1] = Layout::plain(context.inputs[1].rank());
    choice.cost = conv_slowdown(problem, kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa);
    add_convolution_chain(context, choice.outputs[0], choice);
    choices.push_back(std::move(choice));
  }
  if (choices.empty()) return Reject{reasons};
  return choices;
}

std::unique_ptr<const Executor> create_convolution(const NodeContext& context, const LayoutChoice& choice) {
  const ConvProblem problem = conv_problem(context);
  const ConvKernel* kernel = find_kernel(problem, context.isa, choice);
  TERROIR_ASSERT(kernel != nullptr, context.node.name);
  return std::make_unique<ConvolutionExecutor>(context, *kernel, problem);
}

namespace {

template <const WinogradConv& Form>
Proposal propose_winograd(const NodeContext& context) {
  const auto offered = winograd_conv_offer(context, Form);
  if (const auto* reject = std::get_if<Reject>(&offered)) return *reject;
  const ConvKernel& kernel = chosen_winograd_conv(context, Form);
  const int rank = context.outputs[0].rank();
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = layout_of(kernel.src, rank, context.isa);
  choice.outputs = {layout_of(kernel.dst, rank, context.isa)};
  choice.cost = winograd_cost(conv_problem(context), context.isa, std::get<double>(offered));
  add_convolution_chain(context, choice.outputs[0], choice);
  return std::vector{std::move(choice)};
}

template <const WinogradConv& Form>
std::unique_ptr<const Executor> create_winograd(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<ConvolutionExecutor>(context, chosen_winograd_conv(context, Form), conv_problem(context));
}

constexpr Impl kConvolution[] = {
    {"winograd_7x7s2", &propose_winograd<kWinograd7x7s2>, &create_winograd<kWinograd7x7s2>},
    {"winograd_3x3s2_first", &propose_winograd<kWinograd3x3s2>, &create_winograd<kWinograd3x3s2>},
    {"winograd_one_axis", &propose_winograd<kWinogradOneAxis>, &create_winograd<kWinogradOneAxis>},
    {"convolution", &propose_convolution, &create_convolution}};

}  // namespace

std::span<const Impl> convolution_impls() { return kConvolution; }

}  // namespace terroir::cpu
