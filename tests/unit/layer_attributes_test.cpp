// The getters and setters of the classes of terroir/ops.hpp: each reads what the constructor was given, then what was
// set, and so does a layer of the model that was written and read again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <sstream>

#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using namespace op;

template <typename T>
void show(std::ostream& out, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    out << detail::spelling(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out << +value;
  } else if constexpr (detail::is_list<T>) {
    std::string gap;
    for (const auto& item : value) {
      out << gap << item;
      gap = ",";
    }
  } else {
    out << value;
  }
}

/// The values, one blank between them.
template <typename... Values>
std::string texts(const Values&... values) {
  std::ostringstream out;
  std::string gap;
  ((out << gap, show(out, values), gap = " "), ...);
  return out.str();
}

struct Row {
  std::string name;
  std::shared_ptr<Node> layer;
  std::string before, after;
  std::function<std::string(const std::shared_ptr<Node>&)> read;  // "": not of the class
  std::function<void()> change;
};

template <typename T>
Row row(const std::shared_ptr<T>& layer, const std::string& before, const std::string& after,
        std::string (*read)(const T&), void (*change)(T&)) {
  const auto read_as_class = [read](const std::shared_ptr<Node>& node) {
    const T* const object = as_type<const T>(node.get());
    return object != nullptr ? read(*object) : std::string();
  };
  return {layer->description() + " of " + layer->get_type_info().version_id,
          layer,
          before,
          after,
          read_as_class,
          [layer, change] { change(*layer); }};
}

template <typename T, typename... Arguments>
std::shared_ptr<T> make(Arguments&&... arguments) {
  return std::make_shared<T>(std::forward<Arguments>(arguments)...);
}

template <typename T>
std::string window(const T& layer) {
  return texts(layer.get_strides(), layer.get_pads_begin(), layer.get_pads_end(), layer.get_auto_pad());
}

std::vector<Row> convolutions() {
  const auto image = input({1, 4, 9, 9}), filters = input({4, 4, 3, 3}), grouped = input({2, 2, 2, 3, 3});
  const auto read = [](const auto& layer) { return window(layer) + texts("", layer.get_dilations()); };
  const auto change = [](auto& layer) {
    layer.set_strides({1, 2});
    layer.set_pads_begin({1, 0});
    layer.set_pads_end({0, 1});
    layer.set_dilations({1, 2});
    layer.set_auto_pad(PadType::EXPLICIT);
  };
  const std::string before = "2,1 0,0 1,1 same_lower 1,1", after = "1,2 1,0 0,1 explicit 1,2";
  const Strides strides{2, 1}, ones{1, 1};
  const CoordinateDiff none{0, 0}, some{1, 1};
  const PadType lower = PadType::SAME_LOWER;
  return {
      row<v1::Convolution>(make<v1::Convolution>(image, filters, strides, none, some, ones, lower), before, after, read,
                           change),
      row<v1::GroupConvolution>(make<v1::GroupConvolution>(image, grouped, strides, none, some, ones, lower), before,
                                after, read, change),
      row<v1::ConvolutionBackpropData>(
          make<v1::ConvolutionBackpropData>(image, filters, strides, none, some, ones, lower, CoordinateDiff{1, 0}),
          before + " 1,0", after + " 0,1",
          [](const auto& l) { return window(l) + texts("", l.get_dilations(), l.get_output_padding()); },
          [](auto& l) {
            l.set_strides({1, 2});
            l.set_pads_begin({1, 0});
            l.set_pads_end({0, 1});
            l.set_dilations({1, 2});
            l.set_auto_pad(PadType::EXPLICIT);
            l.set_output_padding({0, 1});
          }),
      row<v8::DeformableConvolution>(
          make<v8::DeformableConvolution>(image, input({1, 18, 7, 7}), filters, ones, none, none, ones),
          "1,1 1 1 false", "1,1 1 1 true",
          [](const auto& l) {
            return texts(l.get_strides(), l.get_group(), l.get_deformable_group(),
                         l.get_bilinear_interpolation_pad() ? "true" : "false");
          },
          [](auto& l) { l.set_bilinear_interpolation_pad(true); }),
      row<v0::MatMul>(
          make<v0::MatMul>(input({3, 2}), input({3, 3}), true), "1 0", "1 1",
          [](const auto& l) { return texts(l.get_transpose_a(), l.get_transpose_b()); },
          [](auto& l) { l.set_transpose_b(true); }),
  };
}

std::vector<Row> pools() {
  const auto image = input({1, 4, 9, 9});
  const Strides strides{2, 1}, ones{1, 1};
  const Shape none{0, 0}, some{1, 1}, kernel{3, 2};
  return {
      row<v1::MaxPool>(
          make<v1::MaxPool>(image, strides, none, some, kernel, RoundingType::CEIL), "2,1 0,0 1,1 explicit 3,2 ceil",
          "1,1 1,1 0,0 same_upper 2,2 floor",
          [](const auto& l) { return window(l) + texts("", l.get_kernel(), l.get_rounding_type()); },
          [](auto& l) {
            l.set_strides({1, 1});
            l.set_pads_begin({1, 1});
            l.set_pads_end({0, 0});
            l.set_auto_pad(PadType::SAME_UPPER);
            l.set_kernel({2, 2});
            l.set_rounding_type(RoundingType::FLOOR);
          }),
      row<v14::AvgPool>(
          make<v14::AvgPool>(image, strides, none, some, kernel, true, RoundingType::CEIL_TORCH), "2,1 1 ceil_torch",
          "2,1 0 ceil",
          [](const auto& l) { return texts(l.get_strides(), l.get_exclude_pad(), l.get_rounding_type()); },
          [](auto& l) {
            l.set_exclude_pad(false);
            l.set_rounding_type(RoundingType::CEIL);
          }),
      row<v8::MaxPool>(
          make<v8::MaxPool>(image, ones, Strides{2, 1}, none, none, kernel), "2,1 i64 0", "1,1 i32 2",
          [](const auto& l) { return texts(l.get_dilations(), l.get_index_element_type(), l.get_axis()); },
          [](auto& l) {
            l.set_dilations({1, 1});
            l.set_index_element_type(element::i32);
            l.set_axis(2);
          }),
  };
}

std::vector<Row> elementwise() {
  const auto x = input({2, 3}), y = input({3});
  return {
      row<v1::Add>(
          make<v1::Add>(x, y), "numpy 0", "pdpd 1",
          [](const auto& l) { return texts(l.get_autob().m_type, l.get_autob().m_axis); },
          [](auto& l) {
            l.set_autob({AutoBroadcastType::PDPD, 1});
          }),
      row<v1::Divide>(
          make<v1::Divide>(x, y, false), "0", "1", [](const auto& l) { return texts(l.is_pythondiv()); },
          [](auto& l) { l.set_is_pythondiv(true); }),
      row<v0::Clamp>(
          make<v0::Clamp>(x, -0.1, 6), "-0.1 6", "-2.5 7",
          [](const auto& l) { return texts(l.get_min(), l.get_max()); },
          [](auto& l) {
            l.set_min(-2.5);
            l.set_max(7);
          }),
      row<v0::Convert>(
          make<v0::Convert>(x, element::i32), "i32 i32", "f16 f16",
          [](const auto& l) { return texts(l.get_destination_type(), l.get_convert_element_type()); },
          [](auto& l) { l.set_destination_type(element::f16); }),
      row<v0::Elu>(
          make<v0::Elu>(x, 0.3), "0.3", "0.7", [](const auto& l) { return texts(l.get_alpha()); },
          [](auto& l) { l.set_alpha(0.7); }),
      row<v7::Gelu>(
          make<v7::Gelu>(x), "ERF", "TANH", [](const auto& l) { return texts(l.get_approximation_mode()); },
          [](auto& l) { l.set_approximation_mode(GeluApproximationMode::TANH); }),
      row<v0::FakeQuantize>(
          make<v0::FakeQuantize>(x, real(0), real(1), real(0), real(1), 256), "256 numpy", "16 numpy",
          [](const auto& l) { return texts(l.get_levels(), l.get_auto_broadcast().m_type); },
          [](auto& l) { l.set_levels(16); }),
      row<v5::Round>(
          make<v5::Round>(x, v5::Round::RoundMode::HALF_AWAY_FROM_ZERO), "half_away_from_zero", "half_to_even",
          [](const auto& l) { return texts(l.get_mode()); },
          [](auto& l) { l.set_mode(v5::Round::RoundMode::HALF_TO_EVEN); }),
      row<v10::IsInf>(
          make<v10::IsInf>(x, v10::IsInf::Attributes(true, false)), "1 0", "0 1",
          [](const auto& l) { return texts(l.get_attributes().detect_negative, l.get_attributes().detect_positive); },
          [](auto& l) {
            l.set_attributes({false, true});
          }),
      row<v1::ReduceSum>(
          make<v1::ReduceSum>(x, list({-1}), true), "1 1", "0 1",
          [](const auto& l) { return texts(l.get_keep_dims(), l.get_reduction_axes()); },
          [](auto& l) { l.set_keep_dims(false); }),
  };
}

std::vector<Row> normalizations() {
  const auto image = input({1, 4, 5, 5});
  return {
      row<v1::Softmax>(
          make<v1::Softmax>(image, 2), "2", "3", [](const auto& l) { return texts(l.get_axis()); },
          [](auto& l) { l.set_axis(3); }),
      row<v8::Softmax>(
          make<v8::Softmax>(image, -1), "-1", "1", [](const auto& l) { return texts(l.get_axis()); },
          [](auto& l) { l.set_axis(1); }),
      row<v5::LogSoftmax>(
          make<v5::LogSoftmax>(image, -1), "-1", "1", [](const auto& l) { return texts(l.get_axis()); },
          [](auto& l) { l.set_axis(1); }),
      row<v6::MVN>(
          make<v6::MVN>(image, list({2, 3}), true, 0.5f, MVNEpsMode::OUTSIDE_SQRT), "0.5 1 OUTSIDE_SQRT",
          "0.25 0 INSIDE_SQRT",
          [](const auto& l) { return texts(l.get_eps(), l.get_normalize_variance(), l.get_eps_mode()); },
          [](auto& l) {
            l.set_eps(0.25f);
            l.set_normalize_variance(false);
            l.set_eps_mode(MVNEpsMode::INSIDE_SQRT);
          }),
      row<v0::LRN>(
          make<v0::LRN>(image, list({1, -1}), 1e-4, 0.75, 2, 5), "0.0001 0.75 2 5 1,3", "0.0001 0.75 1 3 1,3",
          [](const auto& l) {
            return texts(l.get_alpha(), l.get_beta(), l.get_bias(), l.get_nsize(), l.get_reduction_axes());
          },
          [](auto& l) {
            l.set_bias(1);
            l.set_nsize(3);
          }),
      row<v0::NormalizeL2>(
          make<v0::NormalizeL2>(image, list({1}), 0.1f, EpsMode::MAX), "0.1 max 1", "0.1 max 1",
          [](const auto& l) { return texts(l.get_eps(), l.get_eps_mode(), l.get_reduction_axes()); }, [](auto&) {}),
  };
}

std::vector<Row> movements() {
  const auto x = input({4, 6}), image = input({1, 4, 6, 6});
  using Depth = v0::DepthToSpace;
  return {
      row<v0::Concat>(
          make<v0::Concat>(OutputVector{x, x}, 1), "1", "-2", [](const auto& l) { return texts(l.get_axis()); },
          [](auto& l) { l.set_axis(-2); }),
      row<v1::Split>(
          make<v1::Split>(x, number(1), 2), "2", "3", [](const auto& l) { return texts(l.get_num_splits()); },
          [](auto& l) { l.set_num_splits(3); }),
      row<v1::Reshape>(
          make<v1::Reshape>(x, list({0, -1}), true), "1", "0",
          [](const auto& l) { return texts(l.get_special_zero()); },
          [](auto& l) {
            l.input(1).replace_source_output(list({6, -1}));
            l.set_special_zero(false);
          }),
      row<v8::Gather>(
          make<v8::Gather>(x, input({4, 2}, element::i32), number(-1), 0), "0 -1", "1 -1",
          [](const auto& l) { return texts(l.get_batch_dims(), l.get_axis()); }, [](auto& l) { l.set_batch_dims(1); }),
      row<v1::StridedSlice>(
          make<v1::StridedSlice>(x, list({0, 0}), list({2, 2}), std::vector<int64_t>{1, 0}, std::vector<int64_t>{0, 1}),
          "1,0 0,1   ", "0,0 1,1 0,0 1,0 0,0",
          [](const auto& l) {
            return texts(l.get_begin_mask(), l.get_end_mask(), l.get_new_axis_mask(), l.get_shrink_axis_mask(),
                         l.get_ellipsis_mask());
          },
          [](auto& l) {
            l.set_begin_mask({0, 0});
            l.set_end_mask({1, 1});
            l.set_new_axis_mask({0, 0});
            l.set_shrink_axis_mask({1, 0});
            l.set_ellipsis_mask_mask({0, 0});
          }),
      row<v12::Pad>(
          make<v12::Pad>(x, list({-1, 0}), list({0, 2}), PadMode::EDGE), "edge -1,0 0,2", "constant -1,0 0,2",
          [](const auto& l) { return texts(l.get_pad_mode(), l.get_pads_begin(), l.get_pads_end()); },
          [](auto& l) { l.set_pad_mode(PadMode::CONSTANT); }),
      row<v3::Broadcast>(
          make<v3::Broadcast>(x, list({4, 6})), "numpy", "bidirectional",
          [](const auto& l) { return texts(l.get_broadcast_spec().m_type); },
          [](auto& l) { l.set_broadcast_spec(BroadcastType::BIDIRECTIONAL); }),
      row<v1::Broadcast>(
          make<v1::Broadcast>(x, list({4, 6})), "numpy", "pdpd",
          [](const auto& l) { return texts(l.get_broadcast_spec().m_type); },
          [](auto& l) { l.set_broadcast_spec(AutoBroadcastType::PDPD); }),
      row<Depth>(
          make<Depth>(image, Depth::DepthToSpaceMode::DEPTH_FIRST, 2), "depth_first 2", "blocks_first 2",
          [](const auto& l) { return texts(l.get_mode(), l.get_block_size()); },
          [](auto& l) { l.set_mode(Depth::DepthToSpaceMode::BLOCKS_FIRST); }),
      row<v3::ShapeOf>(
          make<v3::ShapeOf>(x, element::i32), "i32", "i64", [](const auto& l) { return texts(l.get_output_type()); },
          [](auto& l) { l.set_output_type(element::i64); }),
  };
}

std::vector<Row> selections() {
  const auto x = input({4, 6});
  using Scatter = v12::ScatterElementsUpdate;
  return {
      row<v11::TopK>(
          make<v11::TopK>(x, number(2), -1, TopKMode::MAX, TopKSortType::SORT_VALUES, element::i64, true),
          "-1 1 max value i64 2 1", "0 0 min index i32 2 0",
          [](const auto& l) {
            return texts(l.get_provided_axis(), l.get_axis(), l.get_mode(), l.get_sort_type(),
                         l.get_index_element_type(), l.get_k(), l.get_stable());
          },
          [](auto& l) {
            l.set_axis(0);
            l.set_mode(TopKMode::MIN);
            l.set_sort_type(TopKSortType::SORT_INDICES);
            l.set_index_element_type(element::i32);
            l.set_stable(false);
          }),
      row<Scatter>(
          make<Scatter>(x, input({1, 1}, element::i32), input({1, 1}), number(0), Scatter::Reduction::MEAN, false),
          "mean 0", "mean 0", [](const auto& l) { return texts(l.get_reduction(), l.get_use_init_val()); },
          [](auto&) {}),
      row<v0::CumSum>(
          make<v0::CumSum>(x, number(0), true), "1 0", "0 1",
          [](const auto& l) { return texts(l.is_exclusive(), l.is_reverse()); },
          [](auto& l) {
            l.set_exclusive(false);
            l.set_reverse(true);
          }),
      row<v13::ScaledDotProductAttention>(
          make<v13::ScaledDotProductAttention>(input({1, 2, 4}), input({1, 2, 4}), input({1, 2, 4}), true), "1", "0",
          [](const auto& l) { return texts(l.get_causal()); }, [](auto& l) { l.set_causal(false); }),
  };
}

std::vector<Row> sequences() {
  const auto x = input({2, 7, 5}), h = input({2, 1, 3}), lengths = input({2}, element::i32);
  return {
      row<v5::GRUSequence>(
          make<v5::GRUSequence>(x, h, lengths, input({1, 9, 5}), input({1, 9, 3}), input({1, 9}), 3,
                                RecurrentSequenceDirection::FORWARD, std::vector<std::string>{"sigmoid", "relu"},
                                std::vector<float>{0.1f}, std::vector<float>{}, 0.5f),
          "3 sigmoid,relu 0.1  0.5 forward 0", "3 tanh,relu 0.1 0.2,0.3 2 reverse 0",
          [](const auto& l) {
            return texts(l.get_hidden_size(), l.get_activations(), l.get_activations_alpha(), l.get_activations_beta(),
                         l.get_clip(), l.get_direction(), l.get_linear_before_reset());
          },
          [](auto& l) {
            l.set_activations({"tanh", "relu"});
            l.set_activations_beta({0.2f, 0.3f});
            l.set_clip(2);
            l.set_direction(RecurrentSequenceDirection::REVERSE);
          }),
      row<v4::LSTMCell>(
          make<v4::LSTMCell>(input({2, 5}), input({2, 3}), input({2, 3}), input({12, 5}), input({12, 3}), 3),
          "3 sigmoid,tanh,tanh 0", "3 sigmoid,tanh,tanh 1",
          [](const auto& l) { return texts(l.get_hidden_size(), l.get_activations(), l.get_clip()); },
          [](auto& l) { l.set_clip(1); }),
      row<v0::ReverseSequence>(
          make<v0::ReverseSequence>(x, lengths, 0, -2), "0 0 -2 1", "0 0 1 1",
          [](const auto& l) {
            return texts(l.get_origin_batch_axis(), l.get_batch_axis(), l.get_origin_sequence_axis(),
                         l.get_sequence_axis());
          },
          [](auto& l) { l.set_sequence_axis(1); }),
  };
}

std::vector<Row> images() {
  const auto image = input({1, 4, 6, 6});
  using Resize = v11::Interpolate;
  using Grid = v9::GridSample;
  using Align = v9::ROIAlign;
  Resize::InterpolateAttrs resize(Resize::InterpolateMode::CUBIC, Resize::ShapeCalcMode::SIZES, {0, 0, 1, 0},
                                  {0, 0, 0, 1}, Resize::CoordinateTransformMode::ALIGN_CORNERS,
                                  Resize::NearestMode::CEIL, true, -0.5);
  return {
      row<Resize>(
          make<Resize>(image, list({8, 8}), list({2, 3}), resize),
          "cubic sizes 0,0,1,0 0,0,0,1 align_corners ceil 1 -0.5",
          "linear_onnx sizes 0,0,1,0 0,0,0,1 align_corners ceil 0 -0.5",
          [](const auto& l) {
            const auto a = l.get_attrs();
            return texts(a.mode, a.shape_calculation_mode, a.pads_begin, a.pads_end, a.coordinate_transformation_mode,
                         a.nearest_mode, a.antialias, a.cube_coeff);
          },
          [](auto& l) {
            auto a = l.get_attrs();
            a.mode = Resize::InterpolateMode::LINEAR_ONNX;
            a.antialias = false;
            l.set_attrs(a);
          }),
      row<Grid>(
          make<Grid>(image, input({1, 2, 2, 2}),
                     Grid::Attributes(true, Grid::InterpolationMode::NEAREST, Grid::PaddingMode::REFLECTION)),
          "1 nearest reflection", "0 bicubic border",
          [](const auto& l) {
            const auto a = l.get_attributes();
            return texts(a.align_corners, a.mode, a.padding_mode);
          },
          [](auto& l) {
            l.set_attributes({false, Grid::InterpolationMode::BICUBIC, Grid::PaddingMode::BORDER});
          }),
      row<Align>(
          make<Align>(image, input({3, 4}), input({3}, element::i32), 2, 3, 4, 0.25f, Align::PoolingMode::MAX,
                      Align::AlignedMode::HALF_PIXEL),
          "2 3 4 0.25 max half_pixel", "5 3 4 0.25 avg half_pixel",
          [](const auto& l) {
            return texts(l.get_pooled_h(), l.get_pooled_w(), l.get_sampling_ratio(), l.get_spatial_scale(),
                         l.get_mode(), l.get_aligned_mode());
          },
          [](auto& l) {
            l.set_pooled_h(5);
            l.set_mode(Align::PoolingMode::AVG);
          }),
      row<v0::ROIPooling>(
          make<v0::ROIPooling>(image, input({3, 5}), Shape{2, 3}, 0.5f), "2,3 0.5 max", "4,4 0.5 max",
          [](const auto& l) { return texts(l.get_output_roi(), l.get_spatial_scale(), l.get_method()); },
          [](auto& l) {
            l.set_output_roi({4, 4});
          }),
  };
}

std::vector<Row> boxes() {
  using Nms = v9::NonMaxSuppression;
  v8::DetectionOutput::Attributes detection;
  detection.keep_top_k = {5};
  detection.nms_threshold = 0.45f;
  detection.code_type = "caffe.PriorBoxParameter.CENTER_SIZE";
  detection.normalized = true;
  v8::PriorBox::Attributes prior;
  prior.min_size = {16, 32};
  prior.aspect_ratio = {2.5f};
  prior.offset = 0.5f;
  prior.min_max_aspect_ratios_order = false;
  return {
      row<Nms>(
          make<Nms>(input({1, 6, 4}), input({1, 2, 6}), number(3), Nms::BoxEncodingType::CENTER, false, element::i32),
          "center 0 i32", "corner 1 i64",
          [](const auto& l) {
            return texts(l.get_box_encoding(), l.get_sort_result_descending(), l.get_output_type());
          },
          [](auto& l) {
            l.set_box_encoding(Nms::BoxEncodingType::CORNER);
            l.set_sort_result_descending(true);
            l.set_output_type(element::i64);
          }),
      row<v8::DetectionOutput>(
          make<v8::DetectionOutput>(input({1, 24}), input({1, 12}), input({1, 2, 24}), detection),
          "5 0.45 caffe.PriorBoxParameter.CENTER_SIZE 1 -1 1", "7 0.45 caffe.PriorBoxParameter.CENTER_SIZE 1 9 1",
          [](const auto& l) {
            const auto a = l.get_attrs();
            return texts(a.keep_top_k, a.nms_threshold, a.code_type, a.normalized, a.top_k, a.input_height);
          },
          [](auto& l) {
            auto a = l.get_attrs();
            a.keep_top_k = {7};
            a.top_k = 9;
            l.set_attrs(a);
          }),
      row<v8::PriorBox>(
          make<v8::PriorBox>(list({4, 4}), list({64, 64}), prior), "16,32 2.5 0.5 0 1", "8 2.5 0.5 0 1",
          [](const auto& l) {
            const auto a = l.get_attrs();
            return texts(a.min_size, a.aspect_ratio, a.offset, a.min_max_aspect_ratios_order, a.scale_all_sizes);
          },
          [](auto& l) {
            auto a = l.get_attrs();
            a.min_size = {8};
            l.set_attrs(a);
          }),
  };
}

std::shared_ptr<Node> again(const std::shared_ptr<Node>& layer) {
  OutputVector results;
  for (const Output<Node>& output : layer->outputs()) results.push_back(make<v0::Result>(output)->output(0));
  const auto folder = std::filesystem::temp_directory_path();
  const std::string name = "terroir_layer_attributes_" + std::to_string(::getpid());
  const std::string xml = (folder / (name + ".xml")).string(), bin = (folder / (name + ".bin")).string();
  serialize(make<Model>(results), xml, bin);
  const auto model = Core().read_model(xml, bin);
  for (const std::string& file : {xml, bin}) std::remove(file.c_str());
  for (const auto& node : model->get_ordered_ops()) {
    if (node->get_type_info() == layer->get_type_info()) return node;
  }
  return nullptr;
}

TEST(LayerAttributes, AreReadAndSet) {
  for (const auto& rows : {convolutions(), pools(), elementwise(), normalizations(), movements(), selections(),
                           sequences(), images(), boxes()}) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.name);
      EXPECT_EQ(row.read(row.layer), row.before);
      row.change();
      EXPECT_EQ(row.read(row.layer), row.after);
      const std::shared_ptr<Node> read = again(row.layer);
      ASSERT_NE(read, nullptr);
      EXPECT_EQ(row.read(read), row.after);
    }
  }
}

TEST(LayerAttributes, OfVariables) {
  const auto variable = make<op::util::Variable>(op::util::VariableInfo{{2, 3}, element::f32, "sum"});
  const auto value = make<v6::ReadValue>(input({2, 3}), variable);
  const auto keep = make<v6::Assign>(value, variable);
  EXPECT_EQ(value->get_variable_id(), "sum");
  EXPECT_EQ(value->get_variable()->get_info(), variable->get_info());
  EXPECT_EQ(keep->get_variable()->get_info(), variable->get_info());
}

TEST(LayerAttributes, WhatFollowsFromThemIsInferredByTheModel) {
  const auto image = input({1, 1, 8, 8});
  const auto pool = make<v1::MaxPool>(image, Strides{1, 1}, Shape{0, 0}, Shape{0, 0}, Shape{2, 2});
  pool->set_strides({2, 2});
  EXPECT_EQ(pool->get_output_shape(0), (Shape{1, 1, 7, 7}));
  const auto model = make<Model>(OutputVector{make<v0::Relu>(pool)}, ParameterVector{image});
  EXPECT_EQ(model->output().get_shape(), (Shape{1, 1, 4, 4}));

  pool->set_kernel({3, 3});
  model->validate_nodes_and_infer_types();
  EXPECT_EQ(model->output().get_shape(), (Shape{1, 1, 3, 3}));
  pool->set_strides({0, 2});
  EXPECT_EQ(caught([&] { model->validate_nodes_and_infer_types(); }).code(), ErrorCode::invalid_argument);
}

TEST(LayerAttributes, ChangedInADraftThatJoinsALargerOne) {
  const auto small = input({4, 6});
  const auto parts = make<v1::Split>(small, number(1), 2);
  parts->set_num_splits(3);
  std::shared_ptr<Node> large = input({4, 2});
  for (int i = 0; i < 9; ++i) large = make<v0::Relu>(large);
  const auto model = make<Model>(OutputVector{parts->output(0), make<v0::Abs>(large)});
  EXPECT_EQ(model->output(0).get_shape(), (Shape{4, 2}));
}

TEST(LayerAttributes, RefuseWhatIsNoValue) {
  const auto softmax = make<v8::Softmax>(input({2, 3}), 1);
  EXPECT_EQ(caught([&] { detail::set_attribute(*softmax, "axes", 1); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { detail::set_attribute(*softmax, "axis", std::string("one")); }).code(),
            ErrorCode::parse_error);
  EXPECT_EQ(softmax->get_axis(), 1);
}

TEST(LayerAttributes, PlainPointersOfAClassLiveAsLongAsTheNode) {
  const auto data = input({2, 3});
  const auto model = make<Model>(OutputVector{make<v8::Softmax>(data, 1)}, ParameterVector{data});
  const std::shared_ptr<Node> node = model->get_ordered_ops().at(1);
  auto* const softmax = as_type<v8::Softmax>(node.get());
  ASSERT_NE(softmax, nullptr);
  EXPECT_EQ(as_type<v8::Softmax>(node.get()), softmax);
  EXPECT_EQ(*softmax, *node);
  EXPECT_EQ(softmax->shared_from_this().get(), softmax);
  EXPECT_EQ(as_type<v1::Softmax>(node.get()), nullptr);
  EXPECT_EQ(as_type<v8::Softmax>(static_cast<Node*>(nullptr)), nullptr);
  const Node* const unchanging = node.get();
  EXPECT_EQ(as_type<const v8::Softmax>(unchanging), softmax);
  const auto made = make<v0::Relu>(data);
  EXPECT_EQ(as_type<v0::Relu>(static_cast<Node*>(made.get())), made.get());
}

}  // namespace
}  // namespace terroir
