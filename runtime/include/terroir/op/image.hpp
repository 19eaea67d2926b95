// Colours and samples of images, as code makes them.
#pragma once

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace v8 {

/// Images of one plane, or of Y and UV.
class NV12toRGB : public util::ConvertColorNV12Base {
  TERROIR_LAYER_OF(util::ConvertColorNV12Base, NV12toRGB, "NV12toRGB", "opset8")
  explicit NV12toRGB(const Output<Node>& image) : NV12toRGB(OutputVector{image}) {}
  NV12toRGB(const Output<Node>& y, const Output<Node>& uv) : NV12toRGB(OutputVector{y, uv}) {}
};

class NV12toBGR : public util::ConvertColorNV12Base {
  TERROIR_LAYER_OF(util::ConvertColorNV12Base, NV12toBGR, "NV12toBGR", "opset8")
  explicit NV12toBGR(const Output<Node>& image) : NV12toBGR(OutputVector{image}) {}
  NV12toBGR(const Output<Node>& y, const Output<Node>& uv) : NV12toBGR(OutputVector{y, uv}) {}
};

/// Images of one plane, or of Y, U and V.
class I420toRGB : public util::ConvertColorI420Base {
  TERROIR_LAYER_OF(util::ConvertColorI420Base, I420toRGB, "I420toRGB", "opset8")
  explicit I420toRGB(const Output<Node>& image) : I420toRGB(OutputVector{image}) {}
  I420toRGB(const Output<Node>& y, const Output<Node>& u, const Output<Node>& v) : I420toRGB(OutputVector{y, u, v}) {}
};

class I420toBGR : public util::ConvertColorI420Base {
  TERROIR_LAYER_OF(util::ConvertColorI420Base, I420toBGR, "I420toBGR", "opset8")
  explicit I420toBGR(const Output<Node>& image) : I420toBGR(OutputVector{image}) {}
  I420toBGR(const Output<Node>& y, const Output<Node>& u, const Output<Node>& v) : I420toBGR(OutputVector{y, u, v}) {}
};

}  // namespace v8

namespace v9 {

class GridSample : public Node {
  TERROIR_LAYER(GridSample, "GridSample", "opset9")
  enum class InterpolationMode { BILINEAR, BICUBIC, NEAREST };
  enum class PaddingMode { ZEROS, BORDER, REFLECTION };
  friend detail::Names<3> spellings(InterpolationMode) { return {"bilinear", "bicubic", "nearest"}; }
  friend detail::Names<3> spellings(PaddingMode) { return {"zeros", "border", "reflection"}; }
  struct Attributes {
    Attributes() = default;
    Attributes(bool corners, InterpolationMode interpolation, PaddingMode padding)
        : align_corners(corners), mode(interpolation), padding_mode(padding) {}
    bool align_corners = false;
    InterpolationMode mode = InterpolationMode::BILINEAR;
    PaddingMode padding_mode = PaddingMode::ZEROS;

    template <typename Visit>
    void visit(const Visit& visit_one) {
      visit_one("align_corners", align_corners);
      visit_one("mode", mode);
      visit_one("padding_mode", padding_mode);
    }
  };
  GridSample(const Output<Node>& data, const Output<Node>& grid, const Attributes& attributes)
      : GridSample(OutputVector{data, grid}, detail::by_name(attributes)) {}
  const Attributes get_attributes() const { return detail::attributes_of<Attributes>(*this); }
  void set_attributes(const Attributes& attributes) { detail::set_attributes(*this, detail::by_name(attributes)); }
};

}  // namespace v9
}  // namespace op
}  // namespace terroir
