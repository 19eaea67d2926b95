#pragma once
// What: the poolings over regions of interest: ROIPooling-2, PSROIPooling-1, DeformablePSROIPooling-1, ROIAlign-3,
// ROIAlign-9 (aligned_mode), ROIAlignRotated-15.
// Shapes: feature maps [N, C, H, W], rois [n, 5] -> [n, C, pooled_h, pooled_w], or [n, output_dim, group, group];
//         ROIAlign: rois [n, 4] (rotated: [n, 5]) and batch_indices [n].
// Edge cases: a negative batch index marks an unused row, whose output is zero, as is that of rows of zeros behind it
//             (not in ROIAlign); one beyond the batch is refused at run time. A maximum of ROIAlign is never less than
//             0, as in OpenVINO, also where all samples are negative.
// Source: operation pages ROIPooling-1, PSROIPooling-1, DeformablePSROIPooling-1, ROIAlign-3, ROIAlign-9,
//         ROIAlignRotated-15.
#include <vector>

#include "ir/schema/attributes.hpp"
#include "ops/reference/detection/roi_pooling.hpp"

namespace terroir::ops {

enum class RoiPoolingMethod { max, bilinear };

struct RoiPoolingAttrs {
  int64_t pooled_h = 0;
  int64_t pooled_w = 0;
  double spatial_scale = 1;
  RoiPoolingMethod method = RoiPoolingMethod::max;
  // Files written by OpenVINO repeat pooled_h and pooled_w as a pair, under one of these names.
  std::vector<int64_t> output_size;
  std::vector<int64_t> output_roi;

  template <class V>
  void visit(V& v) {
    v("pooled_h", pooled_h, ir::Presence::required);
    v("pooled_w", pooled_w, ir::Presence::required);
    v("spatial_scale", spatial_scale, ir::Presence::required);
    v("method", method);
    v("output_size", output_size);
    v("output_roi", output_roi);
  }
};

enum class PsroiPoolingMode { average, bilinear };

struct PsroiPoolingAttrs {
  int64_t output_dim = 0;
  int64_t group_size = 1;
  double spatial_scale = 1;
  PsroiPoolingMode mode = PsroiPoolingMode::average;
  int64_t spatial_bins_x = 1;
  int64_t spatial_bins_y = 1;

  template <class V>
  void visit(V& v) {
    v("output_dim", output_dim, ir::Presence::required);
    v("group_size", group_size);
    v("spatial_scale", spatial_scale, ir::Presence::required);
    v("mode", mode);
    v("spatial_bins_x", spatial_bins_x);
    v("spatial_bins_y", spatial_bins_y);
  }
};

enum class DeformablePsroiPoolingMode { bilinear_deformable };

struct DeformablePsroiPoolingAttrs {
  int64_t output_dim = 0;
  double spatial_scale = 1;
  int64_t group_size = 1;
  DeformablePsroiPoolingMode mode = DeformablePsroiPoolingMode::bilinear_deformable;
  int64_t spatial_bins_x = 1;
  int64_t spatial_bins_y = 1;
  double trans_std = 1;
  int64_t part_size = 1;

  template <class V>
  void visit(V& v) {
    v("output_dim", output_dim, ir::Presence::required);
    v("spatial_scale", spatial_scale, ir::Presence::required);
    v("group_size", group_size);
    v("mode", mode);
    v("spatial_bins_x", spatial_bins_x);
    v("spatial_bins_y", spatial_bins_y);
    v("trans_std", trans_std);
    v("part_size", part_size);
  }
};

/// Of ROIAlign-3; later versions add an attribute each.
struct RoiAlignAttrs {
  int64_t pooled_h = 0;
  int64_t pooled_w = 0;
  int64_t sampling_ratio = 0;
  double spatial_scale = 1;
  reference::RoiAlignMode mode = reference::RoiAlignMode::avg;
  reference::RoiAlignedMode aligned_mode = reference::RoiAlignedMode::asymmetric;
  bool clockwise_mode = false;

  template <class V>
  void visit(V& v) {
    visit_grid(v);
    v("mode", mode, ir::Presence::required);
  }

 protected:
  template <class V>
  void visit_grid(V& v) {
    v("pooled_h", pooled_h, ir::Presence::required);
    v("pooled_w", pooled_w, ir::Presence::required);
    v("sampling_ratio", sampling_ratio, ir::Presence::required);
    v("spatial_scale", spatial_scale, ir::Presence::required);
  }
};

struct RoiAlign9Attrs : RoiAlignAttrs {
  template <class V>
  void visit(V& v) {
    RoiAlignAttrs::visit(v);
    v("aligned_mode", aligned_mode);
  }
};

struct RoiAlignRotatedAttrs : RoiAlignAttrs {
  template <class V>
  void visit(V& v) {
    visit_grid(v);
    v("clockwise_mode", clockwise_mode);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::RoiPoolingMethod> {
  static constexpr std::string_view names[] = {"max", "bilinear"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::PsroiPoolingMode> {
  static constexpr std::string_view names[] = {"average", "bilinear"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::DeformablePsroiPoolingMode> {
  static constexpr std::string_view names[] = {"bilinear_deformable"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::RoiAlignMode> {
  static constexpr std::string_view names[] = {"avg", "max"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::RoiAlignedMode> {
  static constexpr std::string_view names[] = {"asymmetric", "half_pixel_for_nn", "half_pixel"};
};
