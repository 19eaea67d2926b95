// NormalizeL2, GRN and LRN in f32 over axes known when compiling.
// Layouts: plain; across channels NormalizeL2 and GRN also take channel blocks and channels-last.
// Threads: slices of rows or positions; every sum runs in one fixed order.
#include <algorithm>
#include <cmath>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/normalization/lrn.hpp"
#include "ops/defs/normalization/normalize_l2.hpp"
#include "ops/reference/normalization/normalization.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/norm/norm.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kTaskElements = 16384;

/// Normalised axes, sorted, each once; empty when they are known at run time only.
std::optional<std::vector<int64_t>> axes_of(const NodeContext& context) {
  if (context.inputs.size() < 2) return std::vector<int64_t>{1};  // GRN
  if (!context.constants[1]) return std::nullopt;
  std::vector<int64_t> axes = ir::to_integers(context.constants[1]->view);
  for (int64_t& axis : axes) axis += axis < 0 ? context.inputs[0].rank() : 0;
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

/// The tensor as [outer][axis][inner] in its own layout, and how it is run through.
struct View {
  enum class Form { rows, middle, blocks } form = Form::rows;
  int64_t outer = 1, axis = 1, inner = 1;  // blocks: images, channel blocks, positions
  int64_t block = 1;

  /// Elements of one unit of work: a row, or one position with all it sums over.
  int64_t unit() const { return form == Form::rows ? axis : axis * block; }

  /// Cuts the units into tasks that hardly depend on anything but the shape.
  template <class Body>
  void each_task(const parallel::Arena& arena, const Body& body) const {
    const int64_t per_image = form == Form::rows ? outer : inner, images = form == Form::rows ? 1 : outer;
    // Whole cache lines of positions, so that tasks do not share any.
    const int64_t positions = ceil_div(std::max<int64_t>(1, kTaskElements / unit()), 64) * 64;
    const int64_t step = form == Form::rows ? std::max<int64_t>(1, kTaskElements / unit()) : positions;
    const int64_t tasks = ceil_div(per_image, step);
    arena.parallel_for(images * tasks, [&](int64_t task) {
      const int64_t begin = task % tasks * step;
      body(task / tasks, begin, std::min(per_image, begin + step));
    });
  }
};

View view_of(const NodeContext& context, const std::vector<int64_t>& axes) {
  const TensorDesc& src = context.inputs[0];
  View view;
  if (const int64_t block = src.layout.channel_block())
    return {View::Form::blocks, src.dims[0], ceil_div(src.dims[1], block), src.count() / src.dims[0] / src.dims[1],
            block};
  if (!src.layout.is_plain()) return {View::Form::rows, src.count() / src.dims[1], src.dims[1], 1, 1};
  for (int64_t i = 0; i < src.rank(); ++i)
    (i < axes.front() ? view.outer : i > axes.back() ? view.inner : view.axis) *= src.dims[static_cast<size_t>(i)];
  view.form = view.inner == 1 ? View::Form::rows : View::Form::middle;
  return view;
}

class NormalizeL2Executor final : public Executor {
 public:
  explicit NormalizeL2Executor(const NodeContext& context)
      : kernels_(norm_kernels(context.isa)),
        view_(view_of(context, *axes_of(context))),
        name_("f32_l2_" + context.inputs[0].layout.name() + "__" + isa_name(context.isa)) {
    if (context.node.is("GRN")) {
      args_.eps = static_cast<float>(context.node.attrs<ops::GrnAttrs>().bias);
    } else {
      const auto& attrs = context.node.attrs<ops::NormalizeL2Attrs>();
      args_.eps = static_cast<float>(attrs.eps);
      args_.eps_is_least = attrs.eps_mode == ops::reference::EpsMode::max;
    }
  }

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const float*>(args.inputs[0]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    view_.each_task(args.arena, [&](int64_t image, int64_t begin, int64_t end) {
      NormArgs mine = args_;
      int64_t offset = image * view_.axis * view_.inner * view_.block;
      if (view_.form == View::Form::rows) offset = begin * view_.axis;
      if (view_.form == View::Form::blocks) offset += begin * view_.block;
      mine.src = src + offset;
      mine.dst = dst + offset;
      if (view_.form == View::Form::rows)
        kernels_.rows(mine, end - begin, view_.axis);
      else if (view_.form == View::Form::middle)
        kernels_.middle(mine, view_.axis, view_.inner, begin, end);
      else
        kernels_.blocks(mine, end - begin, view_.axis, view_.inner * view_.block, view_.block);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  const NormKernels& kernels_;
  View view_;
  std::string name_;
  NormArgs args_;
};

class LrnExecutor final : public Executor {
 public:
  explicit LrnExecutor(const NodeContext& context)
      : kernels_(norm_kernels(context.isa)),
        view_(view_of(context, *axes_of(context))),
        name_(concat("f32_lrn_", context.inputs[0].layout.name(), "__", isa_name(context.isa))) {
    view_.form = View::Form::middle;  // also along the last axis, then one position at a time
    const auto& attrs = context.node.attrs<ops::LrnAttrs>();
    args_ = {nullptr,
             nullptr,
             static_cast<float>(attrs.bias),
             static_cast<float>(attrs.alpha / static_cast<double>(attrs.size)),
             static_cast<float>(attrs.beta),
             ops::reference::lrn_reach(attrs.size)};
  }

  void run(const RunArgs& args) const noexcept override {
    view_.each_task(args.arena, [&](int64_t image, int64_t begin, int64_t end) {
      LrnArgs mine = args_;
      const int64_t offset = image * view_.axis * view_.inner;
      mine.src = static_cast<const float*>(args.inputs[0]) + offset;
      mine.dst = static_cast<float*>(args.outputs[0]) + offset;
      kernels_.lrn(mine, view_.axis, view_.inner, begin, end);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  const NormKernels& kernels_;
  View view_;
  std::string name_;
  LrnArgs args_;
};

/// Why neither kernel fits, or null.
const char* reason_against(const NodeContext& context, const std::optional<std::vector<int64_t>>& axes) {
  if (!axes) return "the axes are known at run time only";
  if (context.inputs[0].count() == 0) return "there are no elements";
  if (axes->empty()) return "no axes";
  if (axes->back() - axes->front() + 1 != static_cast<int64_t>(axes->size())) return "axes that are not neighbours";
  return nullptr;
}

LayoutChoice choice_of(const NodeContext& context, const Layout& layout, double passes) {
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = layout;
  choice.outputs = {layout};
  choice.cost = passes * stream_ns(static_cast<double>(context.inputs[0].bytes()));
  return choice;
}

Proposal propose_l2(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto axes = axes_of(context);
  if (const char* why = reason_against(context, axes)) return Reject{why};
  std::vector<LayoutChoice> choices{choice_of(context, Layout::plain(src.rank()), 3)};
  if (*axes == std::vector<int64_t>{1} && src.rank() >= 3 && src.rank() <= 5) {
    choices.push_back(choice_of(context, Layout::channels_last(src.rank()), 3));
    choices.push_back(choice_of(context, Layout::blocked(src.rank(), static_cast<int>(channel_block(context.isa))), 3));
  }
  for (LayoutChoice& choice : choices) choice.in_place = {0};
  return choices;
}

Proposal propose_lrn(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto axes = axes_of(context);
  if (const char* why = reason_against(context, axes)) return Reject{why};
  if (axes->size() != 1) return Reject{"more than one axis"};
  const auto& attrs = context.node.attrs<ops::LrnAttrs>();
  // Powers are computed by logarithms.
  if (attrs.alpha < 0 || attrs.bias < 0) return Reject{"negative alpha or bias"};
  return std::vector{choice_of(context, Layout::plain(src.rank()), 8)};
}

constexpr Impl kNormalizeL2[] = {
    {"normalize_l2", &propose_l2,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<NormalizeL2Executor>(context);
     }}};
constexpr Impl kLrn[] = {
    {"lrn", &propose_lrn, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<LrnExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> normalize_l2_impls() { return kNormalizeL2; }
std::span<const Impl> lrn_impls() { return kLrn; }

}  // namespace terroir::cpu
