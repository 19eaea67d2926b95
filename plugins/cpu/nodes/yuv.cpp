// NV12toRGB, NV12toBGR, I420toRGB, I420toBGR of bytes and of f32.
// Layouts: plain. Threads: rows of every image.
#include <algorithm>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/image/image.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

template <class T>
class YuvExecutor final : public Executor {
 public:
  explicit YuvExecutor(const NodeContext& context)
      : kernels_(image_kernels(context.isa)),
        planes_(context.inputs.size()),
        nv12_(context.node.schema->type.starts_with("NV12")),
        blue_first_(context.node.schema->type.ends_with("BGR")),
        images_(context.outputs[0].dims[0]),
        height_(context.outputs[0].dims[1]),
        width_(context.outputs[0].dims[2]),
        name_(concat(context.outputs[0].type, nv12_ ? "_nv12_" : "_i420_", planes_, "__", isa_name(context.isa))) {}

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskPixels = 16384;
    const int64_t per_task = std::max<int64_t>(1, kTaskPixels / std::max<int64_t>(1, width_)), rows = images_ * height_;
    args.arena.parallel_for(ceil_div(rows, per_task), [&](int64_t task) {
      for (int64_t row = task * per_task; row < std::min(rows, (task + 1) * per_task); ++row)
        convert(row_of(args.inputs, row / height_, row % height_), static_cast<T*>(args.outputs[0]) + row * width_ * 3);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  void convert(const YuvRow<T>& row, T* dst) const noexcept {
    if constexpr (sizeof(T) == 1) {
      kernels_.yuv_bytes(row, dst, width_);
    } else {
      kernels_.yuv_floats(row, dst, width_);
    }
  }

  YuvRow<T> row_of(const void* const* inputs, int64_t image, int64_t row) const noexcept {
    const int64_t pixels = height_ * width_, quarter = pixels / 4, step = nv12_ ? 2 : 1;
    const int64_t color = row / 2 * (width_ / 2) * step;
    const T* first = static_cast<const T*>(inputs[0]);
    if (planes_ == 1) {
      const T* y = first + image * (pixels + 2 * quarter);
      const T* u = y + pixels;
      return {y + row * width_, u + color, u + (nv12_ ? 1 : quarter) + color, step, blue_first_};
    }
    const T* u = static_cast<const T*>(inputs[1]) + image * quarter * step;
    const T* v = nv12_ ? u + 1 : static_cast<const T*>(inputs[2]) + image * quarter;
    return {first + image * pixels + row * width_, u + color, v + color, step, blue_first_};
  }

  const ImageKernels& kernels_;
  size_t planes_;
  bool nv12_, blue_first_;
  int64_t images_, height_, width_;
  std::string name_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (dst.type != element::u8 && dst.type != element::f32)
    return Reject{"only u8 and f32 are vectorised, not " + dst.type.get_type_name()};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.emplace_back(Layout::plain(input.rank()));
  choice.outputs = {Layout::plain(dst.rank())};
  choice.cost = 3 * stream_ns(static_cast<double>(dst.bytes()));
  return std::vector{choice};
}

constexpr Impl kYuv[] = {
    {"yuv", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       if (context.outputs[0].type == element::u8) return std::make_unique<YuvExecutor<uint8_t>>(context);
       return std::make_unique<YuvExecutor<float>>(context);
     }}};

}  // namespace

std::span<const Impl> yuv_impls() { return kYuv; }

}  // namespace terroir::cpu
