// Interpolate in f32 in every mode, over any axes, one axis after the other with the taps of its table: those that
// shrink first, and of equal ones the last first, so that little is left for the others.
// Layouts: plain. Threads: images in front of all axes, each through all passes; of few images output lines of every
// pass, or rows where the axis is the last one.
#include <algorithm>
#include <span>

#include "plugins/cpu/kernels/interpolate/interpolate.hpp"
#include "plugins/cpu/nodes/interpolate_geometry.hpp"
#include "plugins/cpu/nodes/row_table.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// [outer][from][inner] -> [outer][to][inner].
struct AxisPass {
  int64_t outer = 1, from = 1, to = 1, inner = 1;
  /// inner > 1: taps of output o are [first[o], first[o + 1]). Else they are in `row`.
  std::vector<int32_t> index;
  std::vector<float> weight;
  std::vector<int64_t> first;
  RowTable row;

  int64_t source() const { return outer * from * inner; }
  int64_t result() const { return outer * to * inner; }
};

AxisPass pass_of(const ir::Dims& dims, size_t axis, const ops::ResampleTable& table, int64_t lanes) {
  AxisPass pass;
  for (size_t i = 0; i < dims.size(); ++i) (i < axis ? pass.outer : i == axis ? pass.from : pass.inner) *= dims[i];
  pass.to = table.outputs();
  if (pass.inner > 1) {
    pass.first = table.first;
    for (const ops::ResampleTap& tap : table.taps) {
      pass.index.push_back(static_cast<int32_t>(tap.index));
      pass.weight.push_back(static_cast<float>(tap.weight));
    }
    return pass;
  }
  int64_t taps = 0;
  for (size_t o = 0; o < static_cast<size_t>(pass.to); ++o) taps = std::max(taps, table.first[o + 1] - table.first[o]);
  pass.row = RowTable(pass.to, taps, lanes);
  for (size_t o = 0; o < static_cast<size_t>(pass.to); ++o)
    for (int64_t t = table.first[o]; t < table.first[o + 1]; ++t) {
      const ops::ResampleTap& tap = table.taps[static_cast<size_t>(t)];
      pass.row.set(t - table.first[o], static_cast<int64_t>(o), tap.index, static_cast<float>(tap.weight));
    }
  pass.row.finish(pass.from);
  return pass;
}

/// Every output is the input at its own position.
bool keeps_all(const ops::ResampleTable& table, int64_t input) {
  if (table.outputs() != input || std::ssize(table.taps) != input) return false;
  for (int64_t o = 0; o < input; ++o) {
    const ops::ResampleTap& tap = table.taps[static_cast<size_t>(o)];
    if (table.first[static_cast<size_t>(o)] != o || tap.index != o || tap.weight != 1) return false;
  }
  return true;
}

std::vector<AxisPass> passes_of(const NodeContext& context, const ops::InterpolateGeometry& geometry, int64_t lanes) {
  std::vector<size_t> order;
  std::vector<ops::ResampleTable> tables;
  for (size_t i = 0; i < geometry.axes.size(); ++i) {
    tables.push_back(geometry.table(i));
    if (!keeps_all(tables[i], geometry.axes[i].input)) order.push_back(i);
  }
  if (order.empty()) order.push_back(0);  // a copy
  const auto growth = [&](size_t i) {
    return static_cast<double>(geometry.axes[i].output) / static_cast<double>(geometry.axes[i].input);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (growth(a) != growth(b)) return growth(a) < growth(b);
    return geometry.axes[a].axis > geometry.axes[b].axis;
  });
  ir::Dims dims = context.inputs[0].dims;
  std::vector<AxisPass> passes;
  for (size_t i : order) {
    const size_t axis = geometry.axes[i].axis;
    passes.push_back(pass_of(dims, axis, tables[i], lanes));
    dims[axis] = passes.back().to;
  }
  return passes;
}

/// What is in front of all axes.
int64_t images_of(const std::vector<AxisPass>& passes) {
  int64_t images = passes.front().outer;
  for (const AxisPass& pass : passes) images = std::min(images, pass.outer);
  return images;
}

class AxesExecutor final : public Executor {
 public:
  AxesExecutor(const NodeContext& context, const ops::InterpolateGeometry& geometry)
      : kernels_(interpolate_kernels(context.isa)),
        passes_(passes_of(context, geometry, kernels_.lanes)),
        images_(images_of(passes_)),
        name_(std::string("f32_interpolate_axes__") + isa_name(context.isa)) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const float*>(args.inputs[0]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    const AxisPass &first = passes_.front(), &last = passes_.back();
    const int64_t group = group_for(args.arena.threads());
    args.arena.parallel_for_slots(ceil_div(images_, group), [&](int64_t task, int64_t slot) {
      const int64_t begin = task * group, images = std::min(group, images_ - begin);
      const float* from = src + first.source() / images_ * begin;
      auto* scratch = args.slots.of<float>(slot);
      for (const AxisPass& pass : passes_) {
        float* to = &pass == &last ? dst + last.result() / images_ * begin : scratch;
        run_pass(pass, pass.outer / images_ * images, from, to, args.arena);
        from = to;
        scratch += floats_of(pass, images);
      }
    });
  }
  SlotNeed slot_need(int threads) const override {
    const int64_t group = group_for(threads);
    return {static_cast<size_t>(floats_between(group)) * sizeof(float),
            static_cast<size_t>(std::min<int64_t>(threads, ceil_div(images_, group)))};
  }
  size_t table_bytes() const override {
    size_t bytes = 0;
    for (const AxisPass& pass : passes_)
      bytes += pass.index.size() * sizeof(int32_t) + pass.weight.size() * sizeof(float) +
               pass.first.size() * sizeof(int64_t) + pass.row.bytes();
    return bytes;
  }
  std::string kernel_name() const override { return name_; }

 private:
  static constexpr int64_t kTaskElements = 16384;

  int64_t floats_of(const AxisPass& pass, int64_t images) const {
    return round_up(pass.result() / images_ * images, 16);
  }
  int64_t floats_between(int64_t images) const {
    int64_t floats = 0;
    for (const AxisPass& pass : passes_) floats += &pass == &passes_.back() ? 0 : floats_of(pass, images);
    return floats;
  }

  /// Images that a task takes through all passes, while what is between these stays in L2: all of them where there are
  /// too few for the threads, which then share the lines of each pass.
  int64_t group_for(int64_t threads) const {
    const int64_t group = std::clamp<int64_t>(kTaskElements / (passes_.back().result() / images_), 1, images_);
    const int64_t tasks = ceil_div(images_, group);
    const bool is_even = tasks >= 4 * threads || tasks % threads == 0;
    const bool is_near = floats_between(group) * static_cast<int64_t>(sizeof(float)) <= cache_sizes().l2 / 2;
    return is_even && is_near ? group : images_;
  }

  void run_pass(const AxisPass& pass, int64_t outer, const float* src, float* dst,
                const parallel::Arena& arena) const noexcept {
    const bool rows = pass.inner == 1;
    const int64_t units = rows ? outer : outer * pass.to, unit = rows ? pass.to : pass.inner;
    const int64_t per_task = round_up(std::max<int64_t>(1, kTaskElements / unit), kInterpolatedRows);
    arena.parallel_for(ceil_div(units, per_task), [&](int64_t task) {
      const int64_t end = std::min(units, (task + 1) * per_task);
      for (int64_t u = task * per_task; rows && u < end; u += kInterpolatedRows) {
        const int64_t count = std::min<int64_t>(kInterpolatedRows, end - u);
        const float* from[kInterpolatedRows];
        for (int64_t r = 0; r < count; ++r) from[r] = src + (u + r) * pass.from;
        kernels_.weighted_rows(from, pass.row.taps(), dst + u * pass.to, count, pass.to);
      }
      for (int64_t u = task * per_task; !rows && u < end; ++u) {
        const auto o = static_cast<size_t>(u % pass.to);
        const int64_t first = pass.first[o];
        kernels_.weighted_line(src + u / pass.to * pass.from * pass.inner, pass.inner, pass.index.data() + first,
                               pass.weight.data() + first, pass.first[o + 1] - first, dst + u * pass.inner, pass.inner);
      }
    });
  }

  const InterpolateKernels& kernels_;
  std::vector<AxisPass> passes_;
  int64_t images_;
  std::string name_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  if (src.count() == 0 || dst.count() == 0) return Reject{"there are no elements"};
  if (is_fused(context.node)) return Reject{"a chain"};
  const auto geometry = geometry_of(context);
  if (const auto* reject = std::get_if<Reject>(&geometry)) return *reject;
  if (std::get<ops::InterpolateGeometry>(geometry).axes.empty()) return Reject{"no axes"};
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = Layout::plain(src.rank());
  choice.outputs = {Layout::plain(dst.rank())};
  choice.cost = 12 * stream_ns(static_cast<double>(dst.bytes()));
  return std::vector{choice};
}

constexpr Impl kInterpolateAxes[] = {
    {"interpolate_axes", &propose,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<AxesExecutor>(context, std::get<ops::InterpolateGeometry>(geometry_of(context)));
     }}};

}  // namespace

std::span<const Impl> interpolate_axes_impls() { return kInterpolateAxes; }

}  // namespace terroir::cpu
