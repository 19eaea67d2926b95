// ConvolutionChain of the set "cpu": a 1x1 convolution (or a first one of few plain channels), the depthwise one behind
// it and, where the chain has three stages, the 1x1 convolution behind that. The widest tensors of a network lie
// between these: here they never leave the cache of the core that makes them, and the threads meet once.
//   for each strip of rows of the depthwise result
//     for each unit of channels   first stage -> rows in scratch -> depthwise -> rows in scratch, or the result
//     last stage, all channels of the strip -> the result
// Every stage runs its own kernel over a plan for the strip's rows alone. Rows that two strips need are kept by the
// thread that goes on with the next strip, else made twice.
// The mean that squeeze-and-excite wants is taken of rows while they are in cache, and of those once all are there.
// Layouts: channel blocks; the source may be plain. Threads: units of channels (two stages) or rows, whichever costs
// less, in more parts than there are threads: who is done early takes another's. Where the units are no multiple of the
// threads, some of them are parted by rows. Sums depend on none of this, so results are bit-identical for any split.
#include "plugins/cpu/nodes/convolution_chain.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/kernels/reduce/reduce.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/row_plans.hpp"
#include "plugins/cpu/nodes/stage_node.hpp"
#include "plugins/cpu/nodes/winograd_conv.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

bool is_flat(const ConvProblem& p) { return p.d.in == 1 && p.d.out == 1 && p.d.kernel == 1; }

const ConvKernel* first_kernel(const ConvProblem& p, Isa isa) {
  return is_pointwise(p) ? find_conv_kernel(p, isa, ConvFormat::blocked, ConvFormat::blocked)
                         : find_image_kernel(p, isa);
}

const ConvKernel* depthwise_kernel(const ConvProblem& p, Isa isa) {
  const bool depthwise = p.groups > 1 && p.ic == p.groups && p.oc == p.groups && !p.transposed && is_flat(p);
  return depthwise ? find_conv_kernel(p, isa, ConvFormat::blocked, ConvFormat::blocked) : nullptr;
}

const ConvKernel* last_kernel(const ConvProblem& p, Isa isa) {
  return is_pointwise(p) ? find_conv_kernel(p, isa, ConvFormat::blocked, ConvFormat::blocked) : nullptr;
}

using KernelFor = const ConvKernel* (*)(const ConvProblem&, Isa);
constexpr KernelFor kKernelOfStage[] = {&first_kernel, &depthwise_kernel, &last_kernel};

bool can_run(const NodeContext& context, KernelFor kernel_for) {
  if (context.outputs[0].type != element::f32 || context.outputs[0].rank() != 4 || context.outputs[0].count() == 0)
    return false;
  return context.constants[1] && has_own_rows(context) && kernel_for(conv_problem(context), context.isa) != nullptr;
}

class ConvolutionChainExecutor final : public Executor {
 public:
  /// `winograd`: the first stage runs by Winograd's algorithm.
  ConvolutionChainExecutor(const NodeContext& context, const std::vector<std::unique_ptr<StageNode>>& nodes,
                           bool winograd)
      : reduce_(reduce_kernels(context.isa)), has_mean_(context.node.attrs<ConvolutionChainAttrs>().mean) {
    for (size_t s = 0; s < nodes.size(); ++s) {
      const ConvProblem problem = conv_problem(nodes[s]->context);
      const ConvKernel* kernel = winograd && s == 0 ? &chosen_winograd_conv(nodes[s]->context, kWinograd3x3s2)
                                                    : kKernelOfStage[s](problem, context.isa);
      TERROIR_ASSERT(kernel != nullptr, context.node.name, s);
      stages_.push_back(
          {{nodes[s]->context, *kernel, problem}, context.node.attrs<ConvolutionChainAttrs>().stages[s].inputs});
      name_ += (s > 0 ? "+" : "") + std::string(kernel->name);
    }
    choose_strip();
  }

  void run(const RunArgs& args) const noexcept override {
    std::array<PostOpChain::Bound, kMaxStages> ops;
    for (size_t s = 0; s < stages_.size(); ++s) bind_stage(stages_[s].conv.chain, stages_[s].inputs, args, ops[s]);
    const Split split = split_for(args.arena.threads());
    const int64_t parts = split.rows * split.units, items = batch() * parts;
    for (int64_t slot = 0; slot < split.threads; ++slot) kept(args.slots.of<float>(slot)) = {};
    args.arena.parallel_for_slots(items, [&](int64_t item, int64_t slot) {
      auto* const scratch = args.slots.of<float>(slot);
      const std::array<Piece, 3> pieces = part_pieces(split, item);
      const int64_t n = item / parts, thread = item * split.threads / items;  // whose it is, unless another takes it
      const int64_t begin = ceil_div(thread * items, split.threads),
                    end = ceil_div((thread + 1) * items, split.threads);
      int64_t runs = 0;
      for (const Piece& piece : pieces) runs += first_runs(piece);
      LinesAhead ahead(args, thread, runs, item - begin, end - begin);
      const int64_t units_ahead = std::max(units_end(split, item), units_end(split, end - 1));
      for (const Piece& piece : pieces) {
        if (piece.units.count() == 0) continue;
        run_piece(args, ops, n, piece, units_ahead, item + 1 < end, scratch, row_means(args), ahead);
        if (has_mean_ && piece.rows.count() == out_rows()) finish_means(args, n, piece.units);
      }
    });
    if (has_mean_) finish_shared_means(args, split);
  }

  size_t scratch_bytes(int /*threads*/) const override {
    const int64_t means = has_mean_ ? batch() * blocks() * out_rows() * depthwise().block : 0;
    return static_cast<size_t>(means) * sizeof(float);
  }
  SlotNeed slot_need(int threads) const override {
    const size_t of_kernels = std::max(first().scratch_floats, depthwise().scratch_floats);
    return {(static_cast<size_t>(kernels_offset()) + of_kernels) * sizeof(float),
            static_cast<size_t>(split_for(threads).threads)};
  }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const Split split = split_for(threads);
    if (slice >= split.threads) return {};
    const int64_t item = slice * batch() * split.rows * split.units / split.threads;
    return stages_[0].conv.first_constants({0, 1, cut(split, item % split.units).unit, units_end(split, item), 0, 1});
  }
  std::string kernel_name() const override { return name_; }

 private:
  static constexpr size_t kMaxStages = 3;
  static constexpr int64_t kLine = 16;  // floats
  using Chains = std::array<PostOpChain::Bound, kMaxStages>;

  struct PreparedStage {
    PreparedConvolution conv;
    std::vector<int> inputs;
  };

  /// Parts of each image, `slices` of the units to a thread, and the threads that share all parts of all images.
  struct Split {
    int64_t rows, units, slices, threads;
  };

  /// Between two parts of the units: before a row of a unit.
  struct Cut {
    int64_t unit, row;
  };

  /// Some rows of the result, of some units.
  struct Piece {
    Rows rows{0, 0}, units{0, 0};
  };

  /// Rows of the middle tensor, of all its blocks, that the strip from `row` on (of all images) need not make again.
  struct Kept {
    int64_t row = -1, rows = 0;
  };

  /// Threads get equal shares of the blocks: they part the rows of a unit that lies across the end of a share, unless
  /// these are no more than would be made twice. Slices of a share end with a unit.
  Cut cut(const Split& split, int64_t index) const {
    const ConvPlan& plan = first();
    if (split.rows > 1 || index % split.slices != 0 || index == split.units)
      return {index * plan.grid.oc / split.units, 0};
    const int64_t unit = index * blocks() / split.units / plan.oc_blocks, block = unit * plan.oc_blocks;
    const int64_t of_unit = std::min(plan.oc_blocks, blocks() - block);
    const int64_t row = (2 * (index * blocks() - block * split.units) * out_rows() / (of_unit * split.units) + 1) / 2;
    if (row <= rows_made_twice()) return {unit, 0};
    if (row >= out_rows() - rows_made_twice()) return {unit + 1, 0};
    return {unit, row};
  }

  /// What of the rest of a unit, of whole units and of the beginning of a unit is in a part.
  std::array<Piece, 3> part_pieces(const Split& split, int64_t item) const {
    const int64_t part = item % (split.rows * split.units) / split.units, rows = out_rows();
    const Rows all{part * rows / split.rows, (part + 1) * rows / split.rows};
    const Cut begin = cut(split, item % split.units), end = cut(split, item % split.units + 1);
    if (begin.unit == end.unit) return {Piece{{begin.row, end.row}, {begin.unit, begin.unit + (begin.row < end.row)}}};
    const int64_t whole = begin.unit + (begin.row > 0);
    return {Piece{{begin.row, rows}, {begin.unit, whole}}, Piece{all, {whole, end.unit}},
            Piece{{0, end.row}, {end.unit, end.unit + (end.row > 0)}}};
  }
  int64_t units_end(const Split& split, int64_t item) const {
    const Cut end = cut(split, item % split.units + 1);
    return end.unit + (end.row > 0);
  }

  const ConvPlan& first() const { return stages_[0].conv.plan; }
  const ConvPlan& depthwise() const { return stages_[1].conv.plan; }
  bool has_last() const { return stages_.size() > 2; }
  int64_t blocks() const { return ceil_div(depthwise().problem.oc, depthwise().block); }
  int64_t batch() const { return first().problem.batch; }
  int64_t out_rows() const { return depthwise().problem.h.out; }
  int64_t middle_row() const { return depthwise().src.h; }  // floats of a row of a block
  int64_t result_row() const { return depthwise().dst.h; }

  /// Rows of the middle tensor for some rows of the result: what the first stage's tiles of several rows give.
  Rows middle_rows(Rows out) const {
    const Rows needed = source_rows(depthwise().problem.h, out);
    const int64_t unit = first().column_units ? 1 : first().rows;
    return {needed.begin / unit * unit, std::min(ceil_div(needed.end, unit) * unit, depthwise().problem.h.in)};
  }

  int64_t middle_rows_at_most(int64_t out_rows) const {
    const ConvAxis& h = depthwise().problem.h;
    const int64_t rows = (out_rows - 1) * h.stride + (h.kernel - 1) * h.dilation + 1 + 2 * (first().rows - 1);
    return std::min(rows, h.in);
  }

  int64_t middle_floats(int64_t out_rows) const {
    return first().oc_blocks * middle_rows_at_most(out_rows) * middle_row();
  }
  int64_t result_floats(int64_t out_rows) const { return has_last() ? blocks() * out_rows * result_row() : 0; }

  /// Rows of the result that cost as much as those of the middle tensor that both sides of a cut need.
  int64_t rows_made_twice() const {
    const ConvAxis& h = depthwise().problem.h;
    return std::max<int64_t>(0, ceil_div((h.kernel - 1) * h.dilation + 1 - h.stride, h.stride));
  }

  /// As many rows as stay in L2 beside what else passes through it: the fewer strips, the fewer rows are made twice.
  void choose_strip() {
    const int64_t budget = cache_sizes().l2 / 2 / static_cast<int64_t>(sizeof(float));
    strip_rows_ = out_rows();
    while (strip_rows_ > 1 && middle_floats(strip_rows_) + result_floats(strip_rows_) > budget) --strip_rows_;
  }

  /// The mean of each row of each block, the same whoever computes it.
  static float* row_means(const RunArgs& args) { return static_cast<float*>(args.scratch); }

  /// Of units whose rows are all there.
  void finish_means(const RunArgs& args, int64_t n, Rows units) const noexcept {
    const int64_t block = depthwise().block;
    const int64_t begin = units.begin * first().oc_blocks, end = std::min(blocks(), units.end * first().oc_blocks);
    const int64_t at = (n * blocks() + begin) * block;
    reduce_.middle(ReduceKind::mean, row_means(args) + at * out_rows(), static_cast<float*>(args.outputs[1]) + at,
                   end - begin, out_rows(), block, 0, block);
  }

  /// Of units whose rows several threads have made.
  void finish_shared_means(const RunArgs& args, const Split& split) const noexcept {
    for (int64_t n = 0; n < batch(); ++n) {
      if (split.rows > 1) finish_means(args, n, {0, first().grid.oc});
      for (int64_t index = split.slices; index < split.units; index += split.slices)
        if (const auto [unit, row] = cut(split, index); row > 0) finish_means(args, n, {unit, unit + 1});
    }
  }

  int64_t kept_offset() const { return middle_floats(strip_rows_) + result_floats(strip_rows_); }

  /// Rows that two neighbouring strips need.
  int64_t kept_at_most() const {
    const ConvAxis& h = depthwise().problem.h;
    if (strip_rows_ == out_rows()) return 0;
    return std::max<int64_t>(0, (h.kernel - 1) * h.dilation + 1 - h.stride + 2 * (first().rows - 1));
  }
  int64_t kept_block() const { return kept_at_most() * middle_row(); }
  int64_t kept_floats() const { return kLine + blocks() * kept_block(); }
  Kept& kept(float* scratch) const { return *reinterpret_cast<Kept*>(scratch + kept_offset()); }
  /// Where the scratch memory of the kernels begins.
  int64_t kernels_offset() const {
    return static_cast<int64_t>(whole_lines(static_cast<size_t>(kept_offset() + kept_floats())));
  }
  float* kept_rows(float* scratch, int64_t block) const {
    return scratch + kept_offset() + kLine + block * kept_block();
  }

  Split split_for(int64_t threads) const {
    const int64_t wanted = std::max<int64_t>(1, threads / batch());
    const Split rows{std::min(wanted, out_rows()), 1, 1, 0}, units{1, std::min(wanted, first().grid.oc), 1, 0};
    const double unit_cost = has_last() ? 0 : cost_of(units), row_cost = cost_of(rows);
    Split split = !has_last() && unit_cost < row_cost ? units : rows;
    // Units of channels may be parted without making anything twice, rows where they are parted into strips anyway.
    int64_t slices = slices_for(threads, split.units > 1 ? unit_cost : row_cost);
    if (split.units == 1) {
      const int64_t strips = std::min(slices, ceil_div(ceil_div(out_rows(), split.rows), strip_rows_));
      split.rows *= strips;
      slices = ceil_div(slices, strips);
    }
    if (!has_last()) split.slices = std::min(slices, first().grid.oc / split.units);
    split.units *= split.slices;
    split.threads = std::min(threads, batch() * split.rows * split.units);
    return split;
  }

  /// Of the channels, with what is made twice where a cut parts the rows of a unit.
  double largest_share(const Split& split) const {
    const auto of_unit = [&](int64_t rows) { return static_cast<double>(rows) / static_cast<double>(out_rows()); };
    double most = 0;
    for (int64_t part = 0; part < split.units; ++part) {
      const Cut begin = cut(split, part), end = cut(split, part + 1);
      double units = static_cast<double>(end.unit - begin.unit) + of_unit(end.row - begin.row);
      for (const Cut& at : {begin, end}) units += at.row > 0 ? of_unit(rows_made_twice()) / 2 : 0;
      most = std::max(most, units);
    }
    return std::min(1.0, most / static_cast<double>(first().grid.oc));
  }

  /// Cycles of the largest part of an image, roughly.
  double cost_of(const Split& split) const {
    constexpr double kFlopsPerCycle = 32, kWeightsPerCycle = 4;
    // What one core's cache has to fetch from another's.
    constexpr double kFetchedPerCycle = 2;
    const int64_t part_rows = ceil_div(out_rows(), split.rows);
    const double made =
        static_cast<double>(middle_rows(  // in the middle of the image, where no border saves a row
                                {(out_rows() - part_rows) / 2, (out_rows() - part_rows) / 2 + part_rows})
                                .count()) /
        static_cast<double>(depthwise().problem.h.in);
    const double kept = static_cast<double>(part_rows) / static_cast<double>(out_rows());
    const double units = largest_share(split);
    const double flops = units * (made * static_cast<double>(conv_flops(first().problem)) +
                                  kept * static_cast<double>(conv_flops(depthwise().problem)));
    const double weights = units * static_cast<double>(first().packed_floats + depthwise().packed_floats);
    const double others = split.units > 1 ? 1 - 1 / static_cast<double>(split.units) : 0;
    const double fetched = others * static_cast<double>(first().src.n + depthwise().dst.n);
    return flops / kFlopsPerCycle / static_cast<double>(batch()) + weights / kWeightsPerCycle +
           fetched / kFetchedPerCycle;
  }

  void run_stage(size_t s, const ConvPlan& plan, const float* src, float* dst, const PostOpChain::Bound& ops,
                 const ConvTile& box, int64_t oc_ahead, ConvAhead* ahead, float* scratch = nullptr) const noexcept {
    const PreparedConvolution& conv = stages_[s].conv;
    const ConvArgs args{
        src,  conv.packed->as<float>(), dst, ops.data(), static_cast<int64_t>(conv.chain.size()), scratch, oc_ahead,
        ahead};
    conv.kernel.run(plan, args, box);
  }

  /// Of the first stage's kernel.
  int64_t first_runs(const Piece& piece) const {
    return ceil_div(piece.rows.count(), strip_rows_) * piece.units.count();
  }

  /// `goes_on`: the thread makes the next rows as well.
  void run_piece(const RunArgs& args, const Chains& ops, int64_t n, const Piece& piece, int64_t units_ahead,
                 bool goes_on, float* scratch, float* means, LinesAhead& ahead) const noexcept {
    const auto [rows, units] = piece;
    const int64_t strips = ceil_div(rows.count(), strip_rows_);
    for (int64_t strip = 0; strip < strips; ++strip)
      run_strip(args, ops, n,
                {rows.begin + strip * rows.count() / strips, rows.begin + (strip + 1) * rows.count() / strips}, units,
                units_ahead, goes_on || strip + 1 < strips, scratch, means, ahead);
  }

  void run_strip(const RunArgs& args, const Chains& ops, int64_t n, Rows out, Rows units, int64_t units_ahead,
                 bool goes_on, float* scratch, float* means, LinesAhead& ahead) const noexcept {
    const Rows middle = middle_rows(out);
    const Kept before = kept(scratch);
    const int64_t there = before.row == n * out_rows() + out.begin ? before.rows : 0;
    const Rows made{middle.begin + there, middle.end}, source = source_rows(first().problem.h, made);
    ConvPlan first_plan = plan_of_rows(first(), source, made);
    const bool all_units = units.count() == first().grid.oc;
    int64_t keep = 0;
    if (goes_on && all_units && out.end < out_rows()) keep = middle.end - middle_rows({out.end, out.end + 1}).begin;
    if (keep < 0 || keep > kept_at_most()) keep = 0;
    kept(scratch) = {n * out_rows() + out.end, keep};
    ConvPlan depthwise_plan = plan_of_rows(depthwise(), middle, out);
    const int64_t middle_block = middle.count() * middle_row(), result_block = out.count() * result_row();
    first_plan.dst.n = depthwise_plan.src.n = 0;
    first_plan.dst.c = depthwise_plan.src.c = middle_block;
    first_plan.dst.h = middle_row();
    const float* const src = static_cast<const float*>(args.inputs[0]) + source.begin * source_row();
    float* const result = static_cast<float*>(args.outputs[0]) + out.begin * result_row();
    float* const depthwise_dst = has_last() ? scratch + middle_floats(strip_rows_) : result;
    if (has_last()) {
      depthwise_plan.dst.n = 0;
      depthwise_plan.dst.c = result_block;
    }
    // Operands of the last chain lie like the result.
    PostOpChain::Bound last_ops = ops[stages_.size() - 1];
    shift_operands(stages_.back().conv.chain, out.begin * result_row(), last_ops);

    const int64_t first_units = units_of_rows(first_plan), depthwise_units = units_of_rows(depthwise_plan);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const int64_t block = unit * first().oc_blocks, end = std::min(blocks(), block + first().oc_blocks);
      // Kernels count channel blocks from the first one of the tensor; scratch holds those of the unit alone.
      float* const from_block_0 = scratch - block * middle_block;
      for (int64_t b = block; there > 0 && b < end; ++b)
        std::copy_n(kept_rows(scratch, b), there * middle_row(), from_block_0 + b * middle_block);
      if (made.count() > 0)
        run_stage(0, first_plan, src, from_block_0 + there * middle_row(), ops[0],
                  {n, n + 1, unit, unit + 1, 0, first_units}, units_ahead, ahead.get(), scratch + kernels_offset());
      for (int64_t b = block; keep > 0 && b < end; ++b)
        std::copy_n(from_block_0 + b * middle_block + (middle.count() - keep) * middle_row(), keep * middle_row(),
                    kept_rows(scratch, b));
      run_stage(1, depthwise_plan, from_block_0, depthwise_dst, has_last() ? ops[1] : last_ops,
                {n, n + 1, block, end, 0, depthwise_units}, 0, nullptr, scratch + kernels_offset());
      for (int64_t b = has_mean_ ? block : end; b < end; ++b)
        reduce_.middle(ReduceKind::mean, result + n * depthwise().dst.n + b * depthwise().dst.c,
                       means + ((n * blocks() + b) * out_rows() + out.begin) * depthwise().block, out.count(),
                       depthwise().problem.w.out, depthwise().block, 0, depthwise().block);
    }
    if (!has_last()) return;
    ConvPlan last_plan = plan_of_rows(stages_[2].conv.plan, out, out);
    last_plan.src.n = 0;
    last_plan.src.c = result_block;
    run_stage(2, last_plan, depthwise_dst, result, last_ops,
              {n, n + 1, 0, last_plan.grid.oc, 0, units_of_rows(last_plan)}, 0, nullptr);
  }

  /// Floats of a row of the source, of one channel or block.
  int64_t source_row() const { return first().column_units ? first().problem.w.in * first().src.w : first().src.h; }

  std::vector<PreparedStage> stages_;
  const ReduceKernels& reduce_;
  bool has_mean_;  // of the depthwise result, which is the last
  std::string name_;
  int64_t strip_rows_ = 1;
};

Proposal propose_chain(const NodeContext& context, bool winograd) {
  if (context.node.attrs<ConvolutionChainAttrs>().kind() != ConvolutionChainAttrs::Kind::strips)
    return Reject{"no convolutions one behind the other"};
  const auto nodes = stage_nodes(context);
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  const int rank = context.outputs[0].rank();
  const Layout blocked = layout_of(ConvFormat::blocked, rank, context.isa);
  choice.outputs.assign(context.outputs.size(), blocked);
  for (size_t s = 0; s < nodes.size(); ++s) {
    const NodeContext& stage = nodes[s]->context;
    const ConvProblem problem = conv_problem(stage);
    const ConvKernel* kernel = kKernelOfStage[s](problem, context.isa);
    if (!kernel) return Reject{concat("no kernel for stage ", s)};
    double times = 1;
    if (winograd && s == 0) {
      const auto offered = winograd_conv_offer(stage, kWinograd3x3s2);
      if (const auto* reject = std::get_if<Reject>(&offered)) return *reject;
      times = std::get<double>(offered);
    }
    if (s == 0) choice.inputs[0] = layout_of(kernel->src, rank, context.isa);
    choice.cost +=
        conv_slowdown(problem, *kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa) / times;
    add_stage_operands(*nodes[s], context.node.attrs<ConvolutionChainAttrs>().stages[s].inputs, blocked, choice);
  }
  return std::vector{std::move(choice)};
}

template <bool Winograd>
Proposal propose(const NodeContext& context) {
  return propose_chain(context, Winograd);
}
template <bool Winograd>
std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<ConvolutionChainExecutor>(context, stage_nodes(context), Winograd);
}

constexpr Impl kConvolutionChain[] = {{"convolution_chain_winograd", &propose<true>, &create<true>},
                                      {"convolution_chain", &propose<false>, &create<false>}};

}  // namespace

bool can_begin_chain(const NodeContext& context) { return can_run(context, &first_kernel); }
bool can_continue_chain(const NodeContext& context) { return can_run(context, &depthwise_kernel); }
bool can_end_chain(const NodeContext& context) { return can_run(context, &last_kernel); }

std::span<const Impl> convolution_chain_impls() { return kConvolutionChain; }

}  // namespace terroir::cpu
