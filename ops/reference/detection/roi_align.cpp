#include <limits>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/align_box.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

/// box.operator()<C>(row, image, out) for each row of `rois`, with the image that `images` names for it.
template <class Box>
void each_box(const ir::TensorView& src, const ir::TensorView& images, const ir::MutableTensorView& dst, const char* op,
              Box box) {
  if (dst.count() == 0) return;
  if (src.count() == 0)
    throw_error(ErrorCode::invalid_argument, op, ": regions of an empty feature map of shape ", src.dims);
  const auto of = ir::to_integers(images);
  for (int64_t r = 0; r < dst.dims[0]; ++r) check_image(of[static_cast<size_t>(r)], src.dims[0], op);
  const int64_t cells = dst.dims[1] * dst.dims[2] * dst.dims[3];
  dispatch_type<TERROIR_FLOATS>(src.type, op, [&](auto tag) {
    using T = decltype(tag);
    parallel_for(dst.dims[0], [&](int64_t r) {
      const int64_t image = of[static_cast<size_t>(r)];
      T* out = dst.as<T>() + r * cells;
      if (image < 0)
        std::fill_n(out, cells, T{});
      else
        box(r, image, out);
    });
  });
}

}  // namespace

void roi_align(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView& images,
               const RoiAlignParameters& parameters, const ir::MutableTensorView& dst) {
  const FeatureMap map(src.dims);
  each_box(src, images, dst, "ROIAlign", [&]<class T>(int64_t r, int64_t image, T* out) {
    using C = compute_t<T>;
    const auto at = [&](int64_t i) { return static_cast<C>(rois.as<T>()[r * 4 + i]); };
    const auto grid = roi_align_grid<C>(map, parameters, at(0), at(1), at(2), at(3), dst.dims[2], dst.dims[3]);
    align_box(src.as<T>() + image * map.channels * map.plane(), map, grid, parameters.mode, dst.dims, out,
              [](RoiPoint<C> p) { return p; });
  });
}

void roi_align_rotated(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView& images,
                       const RoiAlignParameters& parameters, bool clockwise, const ir::MutableTensorView& dst) {
  const FeatureMap map(src.dims);
  each_box(src, images, dst, "ROIAlignRotated", [&]<class T>(int64_t r, int64_t image, T* out) {
    using C = compute_t<T>;
    C box[5];
    for (int64_t i = 0; i < 5; ++i) box[i] = static_cast<C>(rois.as<T>()[r * 5 + i]);
    const RotatedPlace<C> place(parameters, clockwise, box);
    align_box(src.as<T>() + image * map.channels * map.plane(), map,
              place.grid(map, parameters, dst.dims[2], dst.dims[3]), parameters.mode, dst.dims, out, place);
  });
}

}  // namespace terroir::ops::reference
