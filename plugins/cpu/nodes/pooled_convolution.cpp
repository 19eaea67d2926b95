// ConvolutionChain of the set "cpu" whose second stage is a maximum pooling: the first layer of a network and the
// pooling behind it. The result of the one is the largest tensor of the network; here it is only some rows, which stay
// in the cache of the core that makes them, and the threads meet once.
//   in parallel, each thread, for each band of rows of its own:
//     the convolution's kernel, whole rows of its tiles -> buffer, behind the rows that the last band has left
//     all rows of the result for which rows are there
// Rows of tiles that two threads need are made twice. Where that would be much, of many threads, the two steps:
//   in parallel, slices of the convolution -> buffer of whole images
//   in parallel, rows of the result
// Layouts: plain to channel blocks. Rows of tiles lie as in the whole image, so results are bit-identical for any
// split.
#include "plugins/cpu/nodes/pooled_convolution.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/pool_problem.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "plugins/cpu/nodes/row_plans.hpp"
#include "plugins/cpu/nodes/stage_node.hpp"
#include "plugins/cpu/nodes/winograd_conv.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

constexpr size_t kConvolution = 0, kPool = 1;  // stages

const ConvKernel* direct_kernel(const ConvProblem& p, Isa isa) {
  return is_pointwise(p) ? nullptr : find_image_kernel(p, isa);
}

const WinogradConv& winograd_of(const ConvProblem& p) { return p.h.kernel == 3 ? kWinograd3x3s2 : kWinograd7x7s2; }

class PooledConvolutionExecutor final : public Executor {
 public:
  PooledConvolutionExecutor(const NodeContext& context, const std::vector<std::unique_ptr<StageNode>>& nodes,
                            const ConvKernel& kernel)
      : conv_(nodes[kConvolution]->context, kernel, conv_problem(nodes[kConvolution]->context)),
        inputs_(context.node.attrs<ConvolutionChainAttrs>().stages[kConvolution].inputs),
        pool_(pool_args(pool_geometry_of(nodes[kPool]->context))),
        max_(pool_kernels(context.isa).max) {
    TERROIR_ASSERT(!conv_.plan.column_units, context.node.name);
    pool_.width = conv_.plan.block;
    const int64_t row_bytes = blocks() * row_floats() * static_cast<int64_t>(sizeof(float));
    band_ = std::clamp<int64_t>(cache_sizes().l2 / 4 / row_bytes / tile(), 1, tile_rows());
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    bind_stage(conv_.chain, inputs_, args, ops);
    if (!threads_share_rows(args.arena.threads())) return run_steps(args, ops);
    const int64_t parts = parts_of_image(args.arena.threads());
    args.arena.parallel_for_slots(batch() * parts, [&](int64_t item, int64_t slot) {
      const int64_t part = item % parts;
      run_rows(args, ops, item / parts, {part * out_rows() / parts, (part + 1) * out_rows() / parts},
               args.slots.of<float>(slot));
    });
  }

  size_t scratch_bytes(int threads) const override {
    return threads_share_rows(threads) ? 0 : static_cast<size_t>(image_floats() * batch()) * sizeof(float);
  }
  SlotNeed slot_need(int threads) const override {
    if (!threads_share_rows(threads)) return conv_.slot_need(threads);
    return {static_cast<size_t>(slot_floats()) * sizeof(float),
            static_cast<size_t>(std::min<int64_t>(threads, batch() * parts_of_image(threads)))};
  }
  std::string kernel_name() const override { return concat(conv_.kernel.name, "+max_pool"); }

 private:
  int64_t batch() const { return conv_.plan.problem.batch; }
  int64_t out_rows() const { return pool_.out[1]; }
  int64_t made_rows() const { return pool_.in[1]; }
  int64_t blocks() const { return ceil_div(conv_.plan.problem.oc, conv_.plan.block); }
  int64_t row_floats() const { return conv_.plan.dst.h; }
  int64_t tile() const { return conv_.plan.rows; }  // rows
  int64_t tile_rows() const { return ceil_div(made_rows(), tile()); }
  int64_t parts_of_image(int64_t threads) const {
    return std::clamp<int64_t>(ceil_div(threads, batch()), 1, out_rows());
  }
  bool threads_share_rows(int64_t threads) const {
    constexpr int64_t kLeastRows = 8;  // of the result; a cut makes a row of tiles twice
    return parts_of_image(threads) == 1 || out_rows() / parts_of_image(threads) >= kLeastRows;
  }
  int64_t image_floats() const { return conv_.plan.dst.n; }

  /// Of a channel block in the buffer: rows of a band, and those that a window still wants of the band before.
  int64_t block_floats() const {
    const int64_t rows = band_ * tile() + (pool_.kernel[1] - 1) * pool_.dilation[1];
    return std::min(rows, tile_rows() * tile()) * row_floats();
  }
  int64_t slot_floats() const {
    return static_cast<int64_t>(whole_lines(static_cast<size_t>(blocks() * block_floats())) +
                                whole_lines(conv_.plan.scratch_floats));
  }

  ConvArgs conv_args(const RunArgs& args, const PostOpChain::Bound& ops, float* dst, float* scratch) const noexcept {
    return {static_cast<const float*>(args.inputs[0]),
            conv_.packed->as<float>(),
            dst,
            ops.data(),
            static_cast<int64_t>(conv_.chain.size()),
            scratch};
  }

  void run_steps(const RunArgs& args, const PostOpChain::Bound& ops) const noexcept {
    auto* const images = static_cast<float*>(args.scratch);
    const ConvArgs whole = conv_args(args, ops, images, nullptr);
    conv_.for_each_slice(args, whole, [&](const ConvArgs& conv, const ConvTile& box, int64_t) {
      conv_.kernel.run(conv_.plan, conv, box);
    });
    args.arena.parallel_for(batch() * out_rows(), [&](int64_t row) {
      const int64_t n = row / out_rows(), out = row % out_rows();
      pool(static_cast<float*>(args.outputs[0]), n, {0, made_rows()}, {out, out + 1}, images + n * image_floats(),
           conv_.plan.dst.c);
    });
  }

  /// Rows that a row of the result reads; none where it sees padding alone.
  Rows read_by(int64_t row) const {
    const int64_t first = row * pool_.stride[1] - pool_.pad_begin[1];
    return {std::clamp<int64_t>(first, 0, made_rows()),
            std::clamp<int64_t>(first + (pool_.kernel[1] - 1) * pool_.dilation[1] + 1, 0, made_rows())};
  }

  void run_rows(const RunArgs& args, const PostOpChain::Bound& ops, int64_t n, Rows out, float* buffer) const noexcept {
    const int64_t end = ceil_div(read_by(out.end - 1).end, tile());
    int64_t t = read_by(out.begin).begin / tile();
    for (Rows there{t * tile(), t * tile()}; out.count() > 0;) {
      if (const int64_t next = std::min(end, t + band_); t < next) {
        there = keep(buffer, there, read_by(out.begin).begin);
        make(args, ops, n, {t, next}, there.begin, buffer);
        there.end = std::min(next * tile(), made_rows());
        t = next;
      }
      Rows complete{out.begin, t < end ? out.begin : out.end};
      while (complete.end < out.end && read_by(complete.end).end <= there.end) ++complete.end;
      pool(static_cast<float*>(args.outputs[0]), n, there, complete, buffer, block_floats());
      out.begin = complete.end;
    }
  }

  /// Of the rows in the buffer those from `first` on, moved to its begin.
  Rows keep(float* buffer, Rows there, int64_t first) const noexcept {
    const Rows kept{std::clamp(first, there.begin, there.end), there.end};
    const auto bytes = static_cast<size_t>(kept.count() * row_floats()) * sizeof(float);
    for (int64_t block = 0; block < blocks(); ++block) {
      float* const rows = buffer + block * block_floats();
      std::memmove(rows, rows + (kept.begin - there.begin) * row_floats(), bytes);
    }
    return kept;
  }

  /// Rows of tiles; `begin`: the row that lies first in the buffer.
  void make(const RunArgs& args, const PostOpChain::Bound& ops, int64_t n, Rows tiles, int64_t begin,
            float* buffer) const noexcept {
    ConvPlan plan = conv_.plan;
    plan.dst.n = 0;
    plan.dst.c = block_floats();
    float* const scratch = buffer + whole_lines(static_cast<size_t>(blocks() * block_floats()));
    const ConvArgs conv = conv_args(args, ops, buffer - begin * row_floats(), scratch);
    conv_.kernel.run(plan, conv, {n, n + 1, 0, plan.grid.oc, tiles.begin * plan.chunks, tiles.end * plan.chunks});
  }

  /// Rows `out` of the result; `there`: those in the buffer, of channel blocks `stride` apart.
  void pool(float* result, int64_t n, Rows there, Rows out, const float* buffer, int64_t stride) const noexcept {
    PoolArgs args = pool_;
    args.in[1] = there.count();
    args.pad_begin[1] += there.begin;
    for (int64_t block = 0; block < blocks(); ++block) {
      args.src = buffer + block * stride;
      args.dst = result + (n * blocks() + block) * args.out[1] * args.out[2] * args.width;
      max_(args, out.begin, out.end);
    }
  }

  PreparedConvolution conv_;
  std::vector<int> inputs_;  // of the convolution's stage
  PoolArgs pool_;
  decltype(PoolKernels::max) max_;
  int64_t band_;  // tile rows that are made at once
};

template <bool Winograd>
Proposal propose(const NodeContext& context) {
  const auto& attrs = context.node.attrs<ConvolutionChainAttrs>();
  if (attrs.kind() != ConvolutionChainAttrs::Kind::pooled) return Reject{"no pooling"};
  const auto nodes = stage_nodes(context);
  const NodeContext& convolution = nodes[kConvolution]->context;
  const ConvProblem problem = conv_problem(convolution);
  const ConvKernel* kernel = direct_kernel(problem, context.isa);
  if (!kernel) return Reject{"no kernel for the convolution"};
  double times = 1;
  if (Winograd) {
    const auto offered = winograd_conv_offer(convolution, winograd_of(problem));
    if (const auto* reject = std::get_if<Reject>(&offered)) return *reject;
    times = std::get<double>(offered);
  }
  const int rank = context.outputs[0].rank();
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = layout_of(kernel->src, rank, context.isa);
  choice.outputs = {layout_of(ConvFormat::blocked, rank, context.isa)};
  choice.cost =
      conv_slowdown(problem, *kernel) * compute_ns(static_cast<double>(conv_flops(problem)), context.isa) / times;
  return std::vector{std::move(choice)};
}

template <bool Winograd>
std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const auto nodes = stage_nodes(context);
  const NodeContext& convolution = nodes[kConvolution]->context;
  const ConvProblem problem = conv_problem(convolution);
  const ConvKernel* kernel =
      Winograd ? &chosen_winograd_conv(convolution, winograd_of(problem)) : direct_kernel(problem, context.isa);
  TERROIR_ASSERT(kernel != nullptr, context.node.name);
  return std::make_unique<PooledConvolutionExecutor>(context, nodes, *kernel);
}

constexpr Impl kPooledConvolution[] = {{"pooled_convolution_winograd", &propose<true>, &create<true>},
                                       {"pooled_convolution", &propose<false>, &create<false>}};

}  // namespace

bool can_make_pooled_rows(const NodeContext& convolution) {
  constexpr int64_t kLeastBytes = int64_t{256} << 10;
  const TensorDesc& result = convolution.outputs[0];
  return result.type == element::f32 && result.rank() == 4 && convolution.constants[1] && has_own_rows(convolution) &&
         result.count() / std::max<int64_t>(1, result.dims[0]) * static_cast<int64_t>(sizeof(float)) >= kLeastBytes &&
         direct_kernel(conv_problem(convolution), convolution.isa) != nullptr;
}

bool can_pool_rows(const NodeContext& pool) {
  constexpr int64_t kManyRows = 16, kFewRows = 7;
  const bool places = pool.outputs.size() > 1 && pool.output_used[1];
  if (places || pool.outputs[0].type != element::f32 || pool.outputs[0].rank() != 4 || pool.outputs[0].count() == 0)
    return false;
  const PoolArgs window = pool_args(pool_geometry_of(pool));
  return window.out[1] >= kManyRows && (window.kernel[1] - 1) * window.dilation[1] < kFewRows;
}

std::span<const Impl> pooled_convolution_impls() { return kPooledConvolution; }

}  // namespace terroir::cpu
