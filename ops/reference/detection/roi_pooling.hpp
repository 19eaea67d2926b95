#pragma once
// What: the poolings over regions of interest: each cuts a box out of one image of a batch and pools it to a grid.
// Layouts: src [N, C, H, W]; a row of rois is [image, x1, y1, x2, y2] (of roi_align [x1, y1, x2, y2], of its rotated
// form
//          [centre x, centre y, width, height, angle], images apart).
// Element types: the floating-point ones; coordinates are computed in float (f64 in double).
// Edge cases: an image index beyond the batch is an Exception; a negative one marks an unused row, which gives zeros,
//             as do rows of zeros behind it (Proposal ends its list by one of the former and fills up with the latter;
//             not in roi_align). Coordinates may be anything: they are held in range before they index.
// Threads: regions.
// Source: operation pages ROIPooling-1, PSROIPooling-1, DeformablePSROIPooling-1, ROIAlign-9, ROIAlignRotated-15.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// Maximum over the elements under each cell of the box; a cell without elements gives 0.
void roi_pooling_max(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale,
                     const ir::MutableTensorView& dst);
/// Boxes in [0, 1] of the image; cells interpolate at evenly spaced points from border to border, 0 outside the image.
void roi_pooling_bilinear(const ir::TensorView& src, const ir::TensorView& rois, const ir::MutableTensorView& dst);

/// Cell (o, y, x) averages the elements under it in channel (o * group + y) * group + x.
void psroi_pooling_average(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale,
                           const ir::MutableTensorView& dst);
/// Cell (o, y, x) averages one interpolated point of each of bins_y * bins_x parts of the box; part b reads channel
/// b * outputs + o.
void psroi_pooling_bilinear(const ir::TensorView& src, const ir::TensorView& rois, double spatial_scale, int64_t bins_x,
                            int64_t bins_y, const ir::MutableTensorView& dst);

struct DeformablePsroiParameters {
  double spatial_scale;
  int64_t bins_x;
  int64_t bins_y;
  double trans_std;
  int64_t part_size;
};
/// As psroi_pooling_average with interpolated sub-bins, each cell moved by an offset in units of the box; `offsets`
/// ([rois, 2 * classes, part_size, part_size], flat) may be null.
void deformable_psroi_pooling(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView* offsets,
                              const DeformablePsroiParameters& parameters, const ir::MutableTensorView& dst);

enum class RoiAlignMode { avg, max };
enum class RoiAlignedMode { asymmetric, half_pixel_for_nn, half_pixel };

struct RoiAlignParameters {
  double spatial_scale = 1;
  int64_t sampling_ratio = 0;  // 0: one sample per pixel, at most 4096 along an axis of a cell
  RoiAlignMode mode = RoiAlignMode::avg;
  RoiAlignedMode aligned = RoiAlignedMode::asymmetric;
};
/// Average or maximum of interpolated samples; one outside the image counts as 0. `images`: the image of each box.
void roi_align(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView& images,
               const RoiAlignParameters& parameters, const ir::MutableTensorView& dst);
/// Boxes are turned around their centre by an angle in radians.
void roi_align_rotated(const ir::TensorView& src, const ir::TensorView& rois, const ir::TensorView& images,
                       const RoiAlignParameters& parameters, bool clockwise, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
