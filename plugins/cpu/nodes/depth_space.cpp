// DepthToSpace and SpaceToDepth: channels are blocks of space. Any element of whole bytes.
// Layouts: plain. Of f32 images also: channel blocks on both sides where the side of fewer channels has whole ones, and
// either whole blocks of channels move together or blocks of space have an even side; channel blocks to plain, for
// results of any number of channels, where rows of a block of space lie within one of channels.
// Threads: tasks of the plan; rows of images and channel blocks.
#include <algorithm>
#include <array>
#include <span>

#include "ops/defs/movement/depth_space.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

/// What both ops move: a deep image and a wide one.
struct DepthSpace {
  int64_t images, channels, rows, columns;  // of the deep image, but the channels of the wide one
  int64_t side;                             // of a block of space
  bool depth_first, widens;

  int64_t positions() const { return side * side; }
};

DepthSpace problem_of(const NodeContext& context, bool widens) {
  const auto& attrs = context.node.attrs<ops::DepthSpaceAttrs>();
  const TensorDesc& wide = widens ? context.outputs[0] : context.inputs[0];
  const TensorDesc& deep = widens ? context.inputs[0] : context.outputs[0];
  return {deep.dims[0], wide.dims[1],     deep.dims[2],
          deep.dims[3], attrs.block_size, attrs.mode == ops::DepthMode::depth_first,
          widens};
}

CopyPlan plain_plan(const NodeContext& context, bool widens) {
  const auto& attrs = context.node.attrs<ops::DepthSpaceAttrs>();
  const ir::Dims& dims = context.inputs[0].dims;
  const ops::SplitPermutation moved =
      widens ? ops::depth_to_space_permutation(attrs, dims) : ops::space_to_depth_permutation(attrs, dims);
  return permutation_plan(moved.split, moved.order, static_cast<int64_t>(context.inputs[0].type.size()), context.isa);
}

/// An axis of the deep side's channels: `count` of them, `step` apart, as places in channel blocks of `plane` bytes.
CopyRuns channel_runs(int64_t count, int64_t step, int64_t block, int64_t plane) {
  CopyRuns runs;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t channel = i * step;
    append_run(runs, 1, channel / block * plane + channel % block * 4);
  }
  return runs;
}

/// Channel blocks to plain: a row of a block of space is one piece of a channel block.
CopyPlan unblocking_plan(const NodeContext& context, const DepthSpace& of, int64_t block) {
  const int64_t b = of.side, plane = of.rows * of.columns * block * 4, row = of.columns * 4 * b;
  const int64_t deep_image = ceil_div(of.channels * of.positions(), block) * plane, channel = of.rows * b * row;
  std::vector<CopyAxis> axes = {{of.images, of.channels * channel, deep_image}};
  axes.push_back({of.channels, channel, 0, channel_runs(of.channels, of.positions(), block, plane)});
  axes.push_back({of.rows, b * row, of.columns * block * 4});
  axes.push_back({b, row, 0, channel_runs(b, b, block, plane)});
  axes.push_back({of.columns, 4 * b, block * 4});
  axes.push_back({b, 4, 4});
  return CopyPlan(std::move(axes), 4, 0, 0, tile_kernels(context.isa));
}

/// Whole channel blocks move.
CopyPlan block_plan(const NodeContext& context, const DepthSpace& of, int64_t block) {
  const int64_t b = of.side, pixel = block * 4, blocks = of.channels / block, plane = of.rows * of.columns * pixel;
  const int64_t wide_row = of.columns * b * pixel, image = blocks * of.positions() * plane;
  struct Axis {
    int64_t extent, wide, deep;
  };
  const Axis axes[] = {{of.images, image, image},
                       {blocks, of.positions() * plane, plane},
                       {of.rows, b * wide_row, of.columns * pixel},
                       {b, wide_row, b * blocks * plane},
                       {b, pixel, blocks * plane},
                       {of.columns, b * pixel, pixel},
                       {block, 4, 4}};
  // As the destination lies, but columns innermost: rows that are long.
  const std::array<size_t, 7> order =
      of.widens ? std::array<size_t, 7>{0, 1, 2, 3, 4, 5, 6} : std::array<size_t, 7>{0, 3, 4, 1, 2, 5, 6};
  std::vector<CopyAxis> copied;
  for (const size_t i : order) {
    const Axis& axis = axes[i];
    copied.push_back({axis.extent, of.widens ? axis.wide : axis.deep, of.widens ? axis.deep : axis.wide});
  }
  return CopyPlan(std::move(copied), 4, 0, 0, tile_kernels(context.isa));
}

/// Channel blocks on both sides, depth first: four channels of the wide image and four positions in a block of space
/// are a square.
class QuadsExecutor final : public Executor {
 public:
  QuadsExecutor(const DepthSpace& of, int64_t block, std::string name)
      : of_(of), block_(block), name_(std::move(name)) {}

  void run(const RunArgs& args) const noexcept override {
    const int64_t row_elements = of_.columns * of_.positions() * block_;
    // On both sides columns stay in the L1 cache until their lines are full.
    constexpr int64_t kElementsAtOnce = 4096;
    const int64_t at_once = std::max<int64_t>(4, kElementsAtOnce / (of_.positions() * block_));
    constexpr int64_t kTaskElements = 16384;
    const RowTasks tasks(of_.images, of_.channels / block_, of_.rows,
                         std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, row_elements)),
                         args.arena.threads());
    args.arena.parallel_for(tasks.count(), [&](int64_t task) {
      const auto [plane, begin, end] = tasks[task];
      for (int64_t row = begin; row < end; ++row)
        for (int64_t column = 0; column < of_.columns; column += at_once)
          run_part(args, plane, row, column, std::min(at_once, of_.columns - column));
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  void run_part(const RunArgs& args, int64_t plane, int64_t row, int64_t column, int64_t columns) const noexcept {
    const int64_t b = of_.side, blocks = of_.channels / block_, pixel = block_ * 4;
    const int64_t image = plane / blocks, first = plane % blocks * block_;
    const int64_t deep_row = of_.columns * pixel, deep_plane = of_.rows * deep_row;
    // As offsets: which side is written is known here alone.
    const int64_t deep = image * blocks * of_.positions() * deep_plane + row * deep_row + column * pixel;
    const int64_t wide = (plane * of_.rows + row) * b * b * deep_row + column * b * pixel;
    const auto* src = static_cast<const char*>(args.inputs[0]);
    auto* dst = static_cast<char*>(args.outputs[0]);
    // The channels of a block together: whole lines of the wide side.
    for (int64_t position = 0; position < of_.positions(); position += 4) {
      const char* from[kMaxBlock];
      char* to[kMaxBlock];
      for (int64_t i = 0; i < block_; ++i) {
        const int64_t channel = (first + i) * of_.positions() + position, at = position + i % 4;
        const int64_t deep_at = deep + channel / block_ * deep_plane + channel % block_ * 4;
        const int64_t wide_at = wide + at / b * b * deep_row + at % b * pixel + i / 4 * 16;
        from[i] = src + (of_.widens ? deep_at : wide_at);
        to[i] = dst + (of_.widens ? wide_at : deep_at);
      }
      transpose_quads(from, of_.widens ? pixel : b * pixel, to, of_.widens ? b * pixel : pixel, block_ / 4, columns);
    }
  }

  static constexpr int64_t kMaxBlock = 16;
  DepthSpace of_;
  int64_t block_;
  std::string name_;
};

/// Towards the deep side, depth first, sides of two alone: of larger ones many lines are written at once, which takes
/// longer than reorders and a copy.
bool takes_blocks(const DepthSpace& of, int64_t block) {
  return of.channels % block == 0 && (!of.depth_first || (of.widens ? of.side % 2 == 0 : of.side == 2));
}

bool unblocks(const DepthSpace& of, int64_t block) {
  return of.widens && of.depth_first && of.side > 1 && block % of.side == 0;
}

template <bool kWidens>
Proposal propose(const NodeContext& context) {
  Proposal proposal = propose_plain_copy(context, {plain_plan(context, kWidens)});
  auto* choices = std::get_if<std::vector<LayoutChoice>>(&proposal);
  const TensorDesc& src = context.inputs[0];
  if (!choices || src.type != element::f32 || src.rank() != 4 || src.count() == 0) return proposal;
  const DepthSpace of = problem_of(context, kWidens);
  const int64_t block = channel_block(context.isa);
  const Layout blocked = Layout::blocked(4, static_cast<int>(block));
  const auto add = [&](const Layout& to) {
    LayoutChoice choice;
    choice.inputs = {blocked};
    choice.outputs = {to};
    choice.cost = copy_ns(context.outputs[0]);
    choices->push_back(std::move(choice));
  };
  // Plain first: regions of nodes move to blocks together, but not from blocks to a plain result.
  if (unblocks(of, block)) add(Layout::plain(4));
  if (takes_blocks(of, block)) add(blocked);
  return proposal;
}

template <bool kWidens>
std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  const std::string name = kWidens ? "depth_to_space" : "space_to_depth";
  const auto block = static_cast<int64_t>(context.inputs[0].layout.channel_block());
  if (block == 0) return create_plain_copy(context, {plain_plan(context, kWidens)}, name.c_str());
  const DepthSpace of = problem_of(context, kWidens);
  if (choice.outputs[0].is_plain())
    return create_plain_copy(context, {unblocking_plan(context, of, block)}, (name + "_to_plain").c_str());
  if (!of.depth_first) return create_plain_copy(context, {block_plan(context, of, block)}, name.c_str());
  return std::make_unique<QuadsExecutor>(of, block, name + "_" + choice.outputs[0].name());
}

constexpr Impl kDepthToSpace[] = {{"depth_to_space", &propose<true>, &create<true>}};
constexpr Impl kSpaceToDepth[] = {{"space_to_depth", &propose<false>, &create<false>}};

}  // namespace

std::span<const Impl> depth_to_space_impls() { return kDepthToSpace; }
std::span<const Impl> space_to_depth_impls() { return kSpaceToDepth; }

}  // namespace terroir::cpu
