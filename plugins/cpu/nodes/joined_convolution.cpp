// ConvolutionChain of the set "cpu" for a level of a U-Net on its way up: a transposed convolution, the Concat of its
// result with what the way down has kept, and the 3x3 convolution that reads both. The joined tensor is the largest of
// the network; here it is only some rows, which stay in cache.
// Where there are tile rows enough for all threads, each thread goes over its own ones:
//   in parallel, the two rows at each cut between threads, which both read -> buffer
//   in parallel, each thread, tile row by tile row: source rows, made or copied -> a ring of rows; the results
// Else, and for volumes:
//   for each band of tile rows, of all images, from the top:
//     in parallel, each thread its share: the band's source rows, made, copied, or kept from the band before -> buffer
//     in parallel, each thread its share: the band's results; and the last rows, which the next band reads, are kept
// The result may take the place of a part of its own extents: what is read of that is copied by then.
// Layouts: channel blocks. Sums are those of the three steps, and depend on no slicing; so are the bits.
#include "plugins/cpu/nodes/joined_convolution.hpp"

#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/movement/concat.hpp"
#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv/dense.hpp"
#include "plugins/cpu/kernels/conv_wino/wino_spans.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"
#include "plugins/cpu/nodes/stage_node.hpp"
#include "plugins/cpu/nodes/winograd_bands.hpp"

namespace terroir::cpu {
namespace {

constexpr size_t kTransposed = 0, kJoin = 1, kConvolution = 2;  // stages
constexpr int64_t kLeastBytes = int64_t{4} << 20;

/// One that wants no scratch memory.
const ConvKernel* transposed_kernel(const ConvProblem& p, Isa isa) {
  if (!p.transposed || p.oc % channel_block(isa) != 0) return nullptr;
  const ConvKernel* kernel = find_conv_kernel(p, isa, ConvFormat::blocked, ConvFormat::blocked);
  if (!kernel || kernel->plan != conv::plan_dense) return nullptr;
  ConvPlan plan;
  kernel->plan(p, *kernel, plan);
  return plan.scratch_floats == 0 ? kernel : nullptr;
}

bool reads_rows(const WinoPlan& plan) {
  const ConvProblem& p = plan.problem;
  return p.groups == 1 && p.h.stride == 1 && p.h.in == p.h.out && p.h.pad <= 1 && plan.spans.tiles == 1 &&
         !dilated(plan) && !cuts_taps(plan);
}

using Range = WinogradBandGrid::Range;

class JoinedConvolutionExecutor final : public Executor {
 public:
  JoinedConvolutionExecutor(const NodeContext& context, const std::vector<std::unique_ptr<StageNode>>& nodes,
                            const WinoKernel& kernel)
      : up_(nodes[kTransposed]->context, *transposed_kernel(conv_problem(nodes[kTransposed]->context), context.isa),
            conv_problem(nodes[kTransposed]->context)),
        conv_(nodes[kConvolution]->context, kernel,
              wino_with_small_blocks(wino_plan(conv_problem(nodes[kConvolution]->context), kernel), context.lean)) {
    const auto& stages = context.node.attrs<ConvolutionChainAttrs>().stages;
    up_inputs_ = stages[kTransposed].inputs;
    conv_inputs_ = stages[kConvolution].inputs;
    int64_t block = 0;
    for (size_t i = 0; i < stages[kJoin].inputs.size(); ++i) {
      const TensorDesc& part = nodes[kJoin]->context.inputs[i];
      const int64_t blocks = part.dims[1] / conv_.plan.block;
      if (stages[kJoin].inputs[i] == ConvolutionChainAttrs::kPrevious)
        up_block_ = block;
      else
        copied_.push_back({stages[kJoin].inputs[i], block, blocks});
      block += blocks;
    }
  }

  void run(const RunArgs& args) const noexcept override {
    const int threads = args.arena.threads();
    Run run{args, {}, {}, grid_for(threads), {}, nullptr, nullptr};
    bind_stage(up_.chain, up_inputs_, args, run.up_ops);
    bind_stage(conv_.chain, conv_inputs_, args, run.conv_ops);
    if (const int64_t slices = row_slices(threads)) return run_rows(run, slices);
    run.rows = buffer_strides(run.grid);
    run.buffer = static_cast<float*>(args.scratch);
    run.kept = run.buffer + run.rows.n;
    for (int64_t band = 0; band < run.grid.bands(); ++band) {
      args.arena.parallel_for(run.grid.slices(), [&](int64_t slice) { make_rows(run, band, slice); });
      args.arena.parallel_for_slots(run.grid.slices(), [&](int64_t slice, int64_t slot) {
        keep_rows(run, band, slice);
        convolve(run, band, slice, args.slots.of<float>(slot));
      });
    }
  }

  size_t scratch_bytes(int threads) const override {
    if (const int64_t slices = row_slices(threads))
      return static_cast<size_t>((slices - 1) * kept_strides().n) * sizeof(float);
    return static_cast<size_t>(buffer_strides(grid_for(threads)).n + kept_strides().n) * sizeof(float);
  }
  SlotNeed slot_need(int threads) const override {
    if (const int64_t slices = row_slices(threads))
      return {conv_.scratch_bytes() + static_cast<size_t>(ring_strides().n) * sizeof(float),
              static_cast<size_t>(slices)};
    return {conv_.scratch_bytes(), static_cast<size_t>(grid_for(threads).slices())};
  }
  std::string kernel_name() const override { return concat(up_.kernel.name, "+", conv_.kernel.name); }

 private:
  struct Part {
    int input;              // of the node
    int64_t block, blocks;  // of the joined tensor
  };

  /// What stays the same during one run.
  struct Run {
    const RunArgs& args;
    PostOpChain::Bound up_ops, conv_ops;
    WinogradBandGrid grid;
    ConvStrides rows;  // of the buffer; n: all of it
    float *buffer, *kept;
  };

  // Rows of tiles, of all images, that each of several threads goes over by itself.

  int64_t tile_rows() const noexcept { return conv_.plan.problem.batch * conv_.plan.rows.tiles; }

  /// So many threads, or none where they would have unequal shares, or a block of tiles more than one part of the
  /// output slices.
  int64_t row_slices(int64_t threads) const noexcept {
    const int64_t all = tile_rows(), slices = std::min(threads, all);
    if (slices == 0 || 10 * threads * ceil_div(all, slices) > 11 * all) return 0;
    return conv_.plan.problem.d.out <= conv_.plan.block_slices ? slices : 0;
  }

  /// A ring of as many rows as two rows of tiles read.
  ConvStrides ring_strides() const noexcept { return strides_of(conv_.plan.alpha); }

  /// The rows that are read on both sides of the cut above a slice.
  struct Cut {
    int64_t image;
    Range rows;
    float* at;  // where row 0 of the image would lie
  };
  Cut cut_above(const Run& run, int64_t slices, int64_t slice) const noexcept {
    const int64_t first = slice * tile_rows() / slices, tiles = conv_.plan.rows.tiles, row = first % tiles;
    if (row == 0) return {-1, {0, 0}, nullptr};
    const int64_t begin = run.grid.outputs_of({row, row + 1}).begin - conv_.plan.problem.h.pad;
    return {first / tiles,
            {begin, std::min(begin + 2, conv_.plan.problem.h.in)},
            run.kept + (slice - 1) * kept_strides().n - begin * kept_strides().h};
  }

  /// What makes the rows that a slice reads.
  struct RowsOfSlice {
    const JoinedConvolutionExecutor& executor;
    const Run& run;
    Cut above, below;
    ConvStrides ring;
    float* rows;
    int64_t image, end;  // made so far

    static void make(void* self, int64_t image, int64_t begin, int64_t end) noexcept {
      static_cast<RowsOfSlice*>(self)->make(image, begin, end);
    }
    void make(int64_t of_image, int64_t first, int64_t last) noexcept {
      if (image == of_image) first = std::max(first, end);
      image = of_image;
      end = last;
      const int64_t count = executor.conv_.plan.alpha, pad = executor.conv_.plan.problem.h.pad;
      while (first < last) {
        const int64_t at = (first + pad) % count;
        Range some{first, std::min(last, first + count - at)};
        const Cut* cut = nullptr;
        for (const Cut* c : {&above, &below}) {
          if (c->image != image || some.begin >= c->rows.end || c->rows.begin >= some.end) continue;
          if (c->rows.begin <= some.begin) {
            some.end = std::min(some.end, c->rows.end);
            cut = c;
            break;
          }
          some.end = c->rows.begin;
        }
        float* const to = rows + (at - some.begin) * ring.h;
        if (cut)
          executor.copy(cut->at, executor.kept_strides(), to, ring, executor.conv_.plan.ic_blocks, some);
        else
          executor.make_new(run, image, some, to, ring);
        first = some.end;
      }
    }
  };

  void run_rows(Run& run, int64_t slices) const noexcept {
    run.kept = static_cast<float*>(run.args.scratch);
    const parallel::Arena& arena = run.args.arena;
    arena.parallel_for(2 * (slices - 1), [&](int64_t i) {
      const Cut cut = cut_above(run, slices, i / 2 + 1);
      const int64_t row = cut.rows.begin + i % 2;
      if (row < cut.rows.end) make_new(run, cut.image, {row, row + 1}, cut.at, kept_strides());
    });
    arena.parallel_for_slots(slices, [&](int64_t slice, int64_t slot) {
      auto* const memory = run.args.slots.of<float>(slot);
      const Cut none{-1, {0, 0}, nullptr};
      RowsOfSlice rows{*this,
                       run,
                       slice > 0 ? cut_above(run, slices, slice) : none,
                       slice + 1 < slices ? cut_above(run, slices, slice + 1) : none,
                       ring_strides(),
                       memory + conv_.scratch_bytes() / sizeof(float),
                       -1,
                       0};
      const WinoRowsMade made{conv_.plan.alpha, &rows, &RowsOfSlice::make};
      WinoPlan plan = conv_.plan;
      plan.src = rows.ring;
      plan.src.n = 0;
      plan.rows_made = &made;
      const int64_t columns = plan.cols.tiles;
      conv_.kernel.run(plan, conv_args(run, rows.rows, memory),
                       {0, wino_units(plan), slice * tile_rows() / slices * columns,
                        (slice + 1) * tile_rows() / slices * columns, 0, plan.problem.d.out});
    });
  }

  // Bands of rows of tiles that all threads share.

  /// Bands of as many rows as stay in half of the threads' L2 caches: the fewer bands, the fewer rows are kept and the
  /// less often the threads meet.
  WinogradBandGrid grid_for(int64_t threads) const noexcept {
    const int64_t floats = threads * cache_sizes().l2 / 2 / static_cast<int64_t>(sizeof(float));
    return {conv_.plan, threads, (floats / strides_of(1).n - 2) / conv_.plan.tile};
  }

  /// Of a dense tensor of some rows of the source.
  ConvStrides strides_of(int64_t rows) const noexcept {
    const ConvProblem& p = conv_.plan.problem;
    ConvStrides strides{};
    strides.w = conv_.plan.block;
    strides.h = p.w.in * strides.w;
    strides.d = rows * strides.h;
    strides.c = p.d.in * strides.d;
    strides.n = conv_.plan.ic_blocks * strides.c;
    return strides;
  }
  ConvStrides buffer_strides(const WinogradBandGrid& grid) const noexcept {
    return strides_of(std::min(grid.most_outputs() + 2, conv_.plan.problem.h.in));
  }
  /// Rows that two bands read.
  ConvStrides kept_strides() const noexcept { return strides_of(2); }

  /// Rows of the source that a band reads.
  Range source_rows(const WinogradBandGrid& grid, int64_t band) const noexcept {
    const ConvAxis& h = conv_.plan.problem.h;
    const Range out = grid.outputs_of(band);
    return {std::max<int64_t>(0, out.begin - h.pad), std::min(out.end - h.pad + 2, h.in)};
  }

  /// Those of them that the band before reads, too.
  Range known_rows(const WinogradBandGrid& grid, int64_t band) const noexcept {
    const Range all = source_rows(grid, band);
    const bool is_first = band % grid.bands_of_image() == 0;
    return {all.begin, is_first ? all.begin : std::min(all.end, source_rows(grid, band - 1).end)};
  }

  /// Where row 0 of the image would lie, that the band's own rows lie in the buffer.
  float* base(const Run& run, int64_t band) const noexcept {
    return run.buffer - source_rows(run.grid, band).begin * run.rows.h;
  }
  /// Likewise of the rows that the band before has kept for it.
  float* kept_base(const Run& run, int64_t band) const noexcept {
    return run.kept - known_rows(run.grid, band).begin * run.rows.h;
  }

  void make_rows(const Run& run, int64_t band, int64_t slice) const noexcept {
    const Range all = source_rows(run.grid, band), known = known_rows(run.grid, band);
    float* const to = base(run, band);
    copy(kept_base(run, band), kept_strides(), to, run.rows, conv_.plan.ic_blocks, share_of(known, run, slice));
    const Range own = share_of({known.end, all.end}, run, slice);
    if (own.begin < own.end) make_new(run, run.grid.image(band), own, to, run.rows);
  }

  /// `to`: where row 0 of the image would lie.
  void make_new(const Run& run, int64_t image, Range rows, float* to, const ConvStrides& strides) const noexcept {
    for (const Part& part : copied_) {
      const ConvStrides& from = conv_.plan.src;  // but for images
      copy(static_cast<const float*>(run.args.inputs[part.input]) + image * part.blocks * from.c, from,
           to + part.block * strides.c, strides, part.blocks, rows);
    }
    make_transposed(run, image, rows, to + up_block_ * strides.c, strides);
  }

  /// For the next band, if it is of the same image.
  void keep_rows(const Run& run, int64_t band, int64_t slice) const noexcept {
    if (band + 1 == run.grid.bands()) return;
    const Range own = share_of(known_rows(run.grid, band + 1), run, slice);
    copy(base(run, band), run.rows, kept_base(run, band + 1), kept_strides(), conv_.plan.ic_blocks, own);
  }

  static Range share_of(Range rows, const Run& run, int64_t slice) noexcept {
    const int64_t slices = run.grid.slices();
    return {rows.begin + slice * rows.count() / slices, rows.begin + (slice + 1) * rows.count() / slices};
  }

  void copy(const float* from, const ConvStrides& from_strides, float* to, const ConvStrides& to_strides,
            int64_t blocks, Range rows) const noexcept {
    copy_rows(from, from_strides, to, to_strides, blocks, conv_.plan.problem.d.in, rows);
  }

  void make_transposed(const Run& run, int64_t image, Range rows, float* to,
                       const ConvStrides& strides) const noexcept {
    ConvPlan plan = up_.plan;
    plan.exec.h.pad += rows.begin;
    plan.exec.h.out = rows.count();
    plan.dst = strides;
    plan.dst.n = 0;
    const ConvArgs args{static_cast<const float*>(run.args.inputs[up_inputs_[0]]),
                        up_.packed->as<float>(),
                        to + rows.begin * strides.h,
                        run.up_ops.data(),
                        static_cast<int64_t>(up_.chain.size()),
                        nullptr};
    up_.kernel.run(plan, args, {image, image + 1, 0, plan.grid.oc, 0, plan.exec.d.out * rows.count() * plan.chunks});
  }

  void convolve(const Run& run, int64_t band, int64_t slice, float* scratch) const noexcept {
    const Range tiles = run.grid.tiles_of(band, slice);
    if (tiles.count() == 0) return;
    WinoPlan plan = conv_.plan;
    plan.src = run.rows;
    plan.src.n = 0;
    const int64_t first = run.grid.first_tile(band);
    conv_.kernel.run(plan, conv_args(run, base(run, band), scratch),
                     {0, wino_units(plan), first + tiles.begin, first + tiles.end, 0, plan.problem.d.out});
  }

  ConvArgs conv_args(const Run& run, const float* src, float* scratch) const noexcept {
    return {src,
            conv_.packed->as<float>(),
            static_cast<float*>(run.args.outputs[0]),
            run.conv_ops.data(),
            static_cast<int64_t>(conv_.chain.size()),
            scratch};
  }

  PreparedConvolution up_;
  PreparedWinograd conv_;
  std::vector<int> up_inputs_, conv_inputs_;  // of the stages
  std::vector<Part> copied_;
  int64_t up_block_ = 0;  // of the joined tensor, where the transposed convolution's result begins
};

Proposal propose(const NodeContext& context, int64_t tile) {
  const auto& attrs = context.node.attrs<ConvolutionChainAttrs>();
  if (attrs.kind() != ConvolutionChainAttrs::Kind::joined) return Reject{"nothing is joined"};
  const auto nodes = stage_nodes(context);
  const auto offered = winograd_offer(nodes[kConvolution]->context, tile);
  if (const auto* reject = std::get_if<Reject>(&offered)) return *reject;
  const ConvProblem up = conv_problem(nodes[kTransposed]->context),
                    problem = conv_problem(nodes[kConvolution]->context);
  const ConvKernel* kernel = transposed_kernel(up, context.isa);
  if (!kernel) return Reject{"no kernel for the transposed convolution"};
  const WinoPlan plan = wino_plan(problem, std::get<WinogradOffer>(offered).kernel);
  if (!reads_rows(plan)) return Reject{"not row by row"};
  const Layout blocked = layout_of(ConvFormat::blocked, context.outputs[0].rank(), context.isa);
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[static_cast<size_t>(attrs.stages[kTransposed].inputs[0])] = blocked;
  choice.outputs = {blocked};
  choice.lean = wino_halvings(plan);
  for (const int input : attrs.stages[kJoin].inputs) {
    if (input == ConvolutionChainAttrs::kPrevious) continue;
    choice.inputs[static_cast<size_t>(input)] = blocked;
    if (context.inputs[static_cast<size_t>(input)].dims == context.outputs[0].dims) choice.in_place.push_back(input);
  }
  const auto flops_ns = [&](const ConvProblem& p) {
    return compute_ns(static_cast<double>(conv_flops(p)), context.isa);
  };
  choice.cost =
      conv_slowdown(up, *kernel) * flops_ns(up) + flops_ns(problem) / std::get<WinogradOffer>(offered).speedup;
  return std::vector{std::move(choice)};
}

std::unique_ptr<const Executor> make(const NodeContext& context, int64_t tile) {
  const WinoKernel& kernel = chosen_winograd_kernel(context, tile, 1);
  return std::make_unique<JoinedConvolutionExecutor>(context, stage_nodes(context), kernel);
}

constexpr Impl kJoinedConvolution[] = {winograd_impl<4, &propose, &make>("joined_winograd_4x4"),
                                       winograd_impl<2, &propose, &make>("joined_winograd_2x2")};

}  // namespace

bool can_make_rows(const NodeContext& transposed) {
  // A stage has no values of integers: extents that an input gives are refused.
  return base_input_count(transposed.node) == 2 && transposed.constants[1] && has_own_rows(transposed) &&
         transposed_kernel(conv_problem(transposed), transposed.isa);
}

bool can_join_rows(const NodeContext& concat) {
  const TensorDesc& joined = concat.outputs[0];
  const int64_t axis = concat.node.attrs<ops::ConcatAttrs>().axis;
  const bool channels = axis == 1 || axis == 1 - joined.rank();
  if (!channels || joined.count() == 0 || joined.rank() < 4) return false;
  const int64_t block = channel_block(concat.isa);
  return std::all_of(concat.inputs.begin(), concat.inputs.end(),
                     [&](const TensorDesc& part) { return part.dims[1] % block == 0; }) &&
         joined.count() / joined.dims[0] * static_cast<int64_t>(sizeof(float)) >= kLeastBytes;
}

bool can_read_rows(const NodeContext& convolution) {
  if (!has_own_rows(convolution)) return false;
  for (const int64_t tile : {4, 2}) {
    const auto offered = winograd_offer(convolution, tile);
    if (const auto* offer = std::get_if<WinogradOffer>(&offered))
      return reads_rows(wino_plan(conv_problem(convolution), offer->kernel));
  }
  return false;
}

std::span<const Impl> joined_convolution_impls() { return kJoinedConvolution; }

}  // namespace terroir::cpu
