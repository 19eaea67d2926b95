// RegionYolo in f32: planes that are squashed, copied, or share a softmax over the classes of a region.
// Layouts: plain. Threads: runs of planes, and ranges of positions of a softmax.
#include <algorithm>
#include <span>

#include "ops/defs/detection/yolo.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/kernels/softmax/softmax.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class RegionYoloExecutor final : public Executor {
 public:
  explicit RegionYoloExecutor(const NodeContext& context)
      : attrs_(context.node.attrs<ops::RegionYoloAttrs>()),
        post_ops_(post_op_kernels(context.isa)),
        softmax_(softmax_kernels(context.isa)),
        isa_(context.isa),
        images_(context.inputs[0].dims[0]),
        src_channels_(context.inputs[0].dims[1]),
        area_(context.inputs[0].dims[2] * context.inputs[0].dims[3]) {
    dst_channels_ = attrs_.do_softmax ? src_channels_ : attrs_.regions() * entries();
  }

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const float*>(args.inputs[0]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    // Planes beside each other of one kind are one run: small ones would take as long to begin as to compute.
    constexpr int64_t kTaskElements = 8192;
    const int64_t together = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, area_));
    const int64_t groups = ceil_div(dst_channels_, together);
    args.arena.parallel_for(images_ * groups, [&](int64_t task) {
      const int64_t image = task / groups, last = std::min(dst_channels_, (task % groups + 1) * together);
      for (int64_t channel = task % groups * together, end = 0; channel < last; channel = end) {
        const Plane kind = kind_of(channel);
        for (end = channel + 1; end < last && kind_of(end) == kind;) ++end;
        run_planes(kind, (end - channel) * area_, src + (image * src_channels_ + channel) * area_,
                   dst + (image * dst_channels_ + channel) * area_);
      }
    });
    if (!attrs_.do_softmax || attrs_.classes == 0) return;
    constexpr int64_t kPositions = 256;
    const int64_t ranges = ceil_div(area_, kPositions);
    args.arena.parallel_for(images_ * attrs_.regions() * ranges, [&](int64_t task) {
      const int64_t region = task / ranges, begin = task % ranges * kPositions;
      const int64_t first = region % attrs_.regions() * entries() + attrs_.coords + 1;
      const int64_t offset = (region / attrs_.regions() * src_channels_ + first) * area_;
      softmax_.middle(src + offset, dst + offset, 1, attrs_.classes, area_, begin, std::min(area_, begin + kPositions),
                      false);
    });
  }
  std::string kernel_name() const override { return std::string("f32_region_yolo__") + isa_name(isa_); }

 private:
  int64_t entries() const { return attrs_.coords + 1 + attrs_.classes; }

  enum class Plane { squashed, copied, left_to_softmax };

  Plane kind_of(int64_t channel) const {
    const int64_t entry = channel % entries();
    const bool in_region = channel < attrs_.regions() * entries();
    if (in_region && entry > attrs_.coords && attrs_.do_softmax) return Plane::left_to_softmax;
    const bool squashed = in_region && (entry < std::min<int64_t>(2, attrs_.coords) || entry >= attrs_.coords);
    return squashed ? Plane::squashed : Plane::copied;
  }

  void run_planes(Plane kind, int64_t n, const float* src, float* dst) const {
    if (kind == Plane::squashed) {
      PostOp sigmoid;
      sigmoid.kind = PostOpKind::sigmoid;
      post_ops_.run({src, dst, 1, n, n, n, 0, n, 0, ChannelAxis::lanes}, &sigmoid, 1);
    } else if (kind == Plane::copied) {
      std::copy_n(src, n, dst);
    }
  }

  ops::RegionYoloAttrs attrs_;
  const PostOpKernels& post_ops_;
  const SoftmaxKernels& softmax_;
  Isa isa_;
  int64_t images_, src_channels_, dst_channels_, area_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  const auto& attrs = context.node.attrs<ops::RegionYoloAttrs>();
  if (src.rank() != 4 || src.dims[1] < attrs.regions() * (attrs.coords + 1 + attrs.classes))
    return Reject{"the regions do not fit the channels"};
  LayoutChoice choice;
  choice.inputs = {src.layout};
  choice.outputs = {dst.layout};
  choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kRegionYolo[] = {
    {"region_yolo", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<RegionYoloExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> region_yolo_impls() { return kRegionYolo; }

}  // namespace terroir::cpu
