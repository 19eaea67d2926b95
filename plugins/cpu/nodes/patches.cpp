// ExtractImagePatches: for each place of the window one copy of the image, shifted, with zeros around it; any element
// of whole bytes. Col2Im, which adds such copies up: every number type. Layouts: plain. Threads: tasks of the copies;
// planes of Col2Im, whose sums run in the order of the reference.
#include <cstring>
#include <span>

#include "ops/defs/movement/col2im.hpp"
#include "ops/defs/movement/extract_image_patches.hpp"
#include "ops/reference/movement/scatter_combine.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"

namespace terroir::cpu {
namespace {

std::vector<CopyPlan> patch_plans(const NodeContext& context) {
  const ir::Dims &in = context.inputs[0].dims, &out = context.outputs[0].dims;
  const auto bytes = static_cast<int64_t>(context.inputs[0].type.size());
  const auto params = ops::patch_params(context.node.attrs<ops::ExtractImagePatchesAttrs>(), in);
  std::vector<CopyPlan> plans;
  const int64_t in_plane = in[2] * in[3] * bytes, out_plane = out[2] * out[3] * bytes;
  for (int64_t tap = 0; tap < params.sizes[0] * params.sizes[1]; ++tap) {
    const int64_t at[2] = {tap / params.sizes[1], tap % params.sizes[1]};
    std::vector<CopyAxis> axes = {{in[0], out[1] * out_plane, in[1] * in_plane}, {in[1], out_plane, in_plane}};
    for (size_t k = 0; k < 2; ++k) {
      const int64_t src_step = k == 0 ? in[3] * bytes : bytes, dst_step = k == 0 ? out[3] * bytes : bytes;
      const int64_t first = at[k] * params.rates[k] - params.pads_begin[k];
      axes.push_back(
          {out[k + 2], dst_step, 0, scaled(runs_within(out[k + 2], first, params.strides[k], in[k + 2]), src_step)});
    }
    plans.emplace_back(std::move(axes), bytes, 0, tap * in[1] * out_plane);
  }
  return plans;
}

Proposal propose_patches(const NodeContext& context) {
  const auto& sizes = context.node.attrs<ops::ExtractImagePatchesAttrs>().sizes;
  constexpr int64_t kMostTaps = 1024;
  if (sizes[0] > kMostTaps || sizes[0] * sizes[1] > kMostTaps) return Reject{"a window of more than 1024 places"};
  if (context.outputs[0].count() == 0) return Reject{"nothing to write"};
  return propose_plain_copy(context, patch_plans(context));
}

using Params = ops::reference::Col2ImParams;
using Col2ImFn = void (*)(const Params& params, const void* src, void* dst);

/// Indices i, first <= i < last, whose i * stride + shift is within [0, extent).
struct Inside {
  int64_t first, last;
  Inside(int64_t count, int64_t stride, int64_t shift, int64_t extent)
      : first(shift >= 0 ? 0 : (-shift + stride - 1) / stride),
        last(shift >= extent ? 0 : std::min(count, (extent - shift + stride - 1) / stride)) {}
};

/// Adds `n` elements to every step-th pixel.
template <class T>
void add_row(const T* __restrict from, T* __restrict to, int64_t n, int64_t step) {
  using C = ops::reference::compute_t<T>;
  const auto add = [&](T& pixel, T x) {
    pixel = static_cast<T>(
        ops::reference::combined<C>(ops::reference::ScatterReduction::sum, static_cast<C>(pixel), static_cast<C>(x)));
  };
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    typedef float Vector __attribute__((vector_size(16)));
    for (; step == 1 && i + 4 <= n; i += 4) {
      Vector sum, x;
      std::memcpy(&sum, to + i, sizeof(sum));
      std::memcpy(&x, from + i, sizeof(x));
      sum += x;
      std::memcpy(to + i, &sum, sizeof(sum));
    }
  }
  for (; i < n; ++i) add(to[i * step], from[i]);
}

/// One plane of the image.
template <class T>
void col2im_plane(const Params& p, const void* columns, void* image) {
  const T* src = static_cast<const T*>(columns);
  T* dst = static_cast<T*>(image);
  std::fill_n(dst, p.size[0] * p.size[1], T(0));
  for (int64_t tap = 0; tap < p.kernel[0] * p.kernel[1]; ++tap, src += p.blocks[0] * p.blocks[1]) {
    const int64_t dy = tap / p.kernel[1] * p.dilations[0] - p.pads_begin[0];
    const int64_t dx = tap % p.kernel[1] * p.dilations[1] - p.pads_begin[1];
    const Inside rows(p.blocks[0], p.strides[0], dy, p.size[0]), cells(p.blocks[1], p.strides[1], dx, p.size[1]);
    if (cells.first >= cells.last) continue;
    for (int64_t by = rows.first; by < rows.last; ++by)
      add_row(src + by * p.blocks[1] + cells.first,
              dst + (by * p.strides[0] + dy) * p.size[1] + dx + cells.first * p.strides[1], cells.last - cells.first,
              p.strides[1]);
  }
}

template <class... Ts>
Col2ImFn col2im_for(element::Type type) {
  Col2ImFn found = nullptr;
  ((element::from<Ts>() == type ? (found = &col2im_plane<Ts>, true) : false) || ...);
  return found;
}

class Col2ImExecutor final : public Executor {
 public:
  explicit Col2ImExecutor(const NodeContext& context)
      : params_(ops::col2im_params(context.node.attrs<ops::Col2ImAttrs>(), *known_integers(context, 1),
                                   *known_integers(context, 2))),
        plane_(col2im_for<TERROIR_NUMBERS>(context.inputs[0].type)) {
    const ir::Dims& out = context.outputs[0].dims;
    const auto bytes = static_cast<int64_t>(context.inputs[0].type.size());
    planes_ = ir::element_count(out, 0, out.size() - 2);
    dst_bytes_ = params_.size[0] * params_.size[1] * bytes;
    src_bytes_ = params_.kernel[0] * params_.kernel[1] * params_.blocks[0] * params_.blocks[1] * bytes;
  }
  void run(const RunArgs& args) const noexcept override {
    args.arena.parallel_for(planes_, [&](int64_t plane) {
      plane_(params_, static_cast<const char*>(args.inputs[0]) + plane * src_bytes_,
             static_cast<char*>(args.outputs[0]) + plane * dst_bytes_);
    });
  }
  std::string kernel_name() const override { return "col2im"; }

 private:
  Params params_;
  Col2ImFn plane_;
  int64_t planes_, src_bytes_, dst_bytes_;
};

Proposal propose_col2im(const NodeContext& context) {
  const TensorDesc& data = context.inputs[0];
  if (!context.constants[1] || !context.constants[2]) return Reject{"the sizes are known at run time only"};
  if (!col2im_for<TERROIR_NUMBERS>(data.type)) return Reject{"no sums of " + data.type.get_type_name()};
  LayoutChoice choice;
  choice.inputs = {data.layout, std::nullopt, std::nullopt};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = copy_ns(data);
  return std::vector{choice};
}

constexpr Impl kPatches[] = {
    {"extract_image_patches", &propose_patches, [](const NodeContext& context, const LayoutChoice&) {
       return create_plain_copy(context, patch_plans(context), "extract_image_patches");
     }}};
constexpr Impl kCol2Im[] = {
    {"col2im", &propose_col2im, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<Col2ImExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> extract_image_patches_impls() { return kPatches; }
std::span<const Impl> col2im_impls() { return kCol2Im; }

}  // namespace terroir::cpu
