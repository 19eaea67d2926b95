// The constructors of operations that few models have: what they make is what the operation's attributes say.
#include <gtest/gtest.h>

#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using namespace op;

TEST(LayerConstructors, Signals) {
  const auto spectrum = input({4, 8, 2});
  EXPECT_EQ(text(v7::DFT(spectrum, list({0, 1}))), "[4,8,2]");
  EXPECT_EQ(text(v7::DFT(spectrum, list({0, 1}), list({2, 16}))), "[2,16,2]");
  EXPECT_EQ(text(v7::IDFT(spectrum, list({0}))), "[4,8,2]");
  EXPECT_EQ(text(v7::IDFT(spectrum, list({1}), list({5}))), "[4,5,2]");
  EXPECT_EQ(text(v9::RDFT(input({4, 8}), list({1}))), "[4,5,2]");
  EXPECT_EQ(text(v9::RDFT(input({4, 8}), list({1}), list({4}))), "[4,3,2]");
  EXPECT_EQ(text(v9::IRDFT(spectrum, list({1}))), "[4,14]");
  EXPECT_EQ(text(v9::IRDFT(spectrum, list({1}), list({9}))), "[4,9]");
  const auto window = input({8});
  EXPECT_EQ(text(v15::STFT(input({2, 32}), window, number(8), number(4), true), {"transpose_frames"}),
            "[2,5,7,2] transpose_frames=true");
  EXPECT_EQ(text(v16::ISTFT(input({2, 5, 7, 2}), window, number(8), number(4), false, true), {"center", "normalized"}),
            "[2,32] center=false normalized=true");
  EXPECT_EQ(text(v16::ISTFT(input({2, 5, 7, 2}), window, number(8), number(4), number(30), true, false),
                 {"center", "normalized"}),
            "[2,30] center=true normalized=false");
}

TEST(LayerConstructors, Embeddings) {
  const auto table = input({9, 4}), weights = input({6});
  const auto indices = input({6}, element::i32), offsets = input({3}, element::i32);
  const auto spare = std::make_shared<v0::Constant>(element::i32, Shape{}, 0);
  using Reduction = v15::EmbeddingBagOffsets::Reduction;
  EXPECT_EQ(text(v15::EmbeddingBagOffsets(table, indices, offsets, Reduction::MEAN), {"reduction"}),
            "[3,4] reduction=mean");
  EXPECT_EQ(text(v15::EmbeddingBagOffsets(table, indices, offsets, spare, weights), {"reduction"}),
            "[3,4] reduction=sum");
  EXPECT_EQ(v15::EmbeddingBagOffsets(table, indices, offsets, spare).get_input_size(), 4u);
  EXPECT_EQ(text(v3::EmbeddingBagOffsetsSum(table, indices, offsets)), "[3,4]");
  EXPECT_EQ(v3::EmbeddingBagOffsetsSum(table, indices, offsets, spare).get_input_size(), 4u);
  EXPECT_EQ(v3::EmbeddingBagOffsetsSum(table, indices, offsets, spare, weights).get_input_size(), 5u);
  const auto bags = input({3, 2}, element::i32);
  EXPECT_EQ(text(v15::EmbeddingBagPacked(table, bags, Reduction::MEAN), {"reduction"}), "[3,4] reduction=mean");
  EXPECT_EQ(v15::EmbeddingBagPacked(table, bags, input({3, 2})).get_input_size(), 3u);
  EXPECT_EQ(text(v3::EmbeddingBagPackedSum(table, bags)), "[3,4]");
  EXPECT_EQ(v3::EmbeddingBagPackedSum(table, bags, input({3, 2})).get_input_size(), 3u);
  const auto count = std::make_shared<v0::Constant>(element::i32, Shape{}, 5);
  EXPECT_EQ(text(v3::EmbeddingSegmentsSum(table, indices, indices, count)), "[5,4]");
  EXPECT_EQ(v3::EmbeddingSegmentsSum(table, indices, indices, count, spare).get_input_size(), 5u);
  EXPECT_EQ(v3::EmbeddingSegmentsSum(table, indices, indices, count, spare, weights).get_input_size(), 6u);
}

TEST(LayerConstructors, Images) {
  const auto y = input({1, 4, 6, 1}, element::u8), half = input({1, 2, 3, 1}, element::u8);
  const auto whole = input({1, 6, 6, 1}, element::u8), uv = input({1, 2, 3, 2}, element::u8);
  EXPECT_EQ(text(v8::NV12toRGB(whole)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::NV12toRGB(y, uv)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::NV12toBGR(whole)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::NV12toBGR(y, uv)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::I420toRGB(whole)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::I420toRGB(y, half, half)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::I420toBGR(whole)), "[1,4,6,3]");
  EXPECT_EQ(text(v8::I420toBGR(y, half, half)), "[1,4,6,3]");
  using Sample = v9::GridSample;
  EXPECT_EQ(text(Sample(input({1, 3, 9, 9}), input({1, 4, 5, 2}),
                        Sample::Attributes(true, Sample::InterpolationMode::BICUBIC, Sample::PaddingMode::REFLECTION)),
                 {"align_corners", "mode", "padding_mode"}),
            "[1,3,4,5] align_corners=true mode=bicubic padding_mode=reflection");
  EXPECT_EQ(text(v3::ExtractImagePatches(input({1, 3, 9, 9}), Shape{3, 3}, Strides{2, 2}, Shape{1, 1}, PadType::VALID),
                 {"sizes", "strides", "rates", "auto_pad"}),
            "[1,27,4,4] sizes=3, 3 strides=2, 2 rates=1, 1 auto_pad=valid");
  EXPECT_EQ(text(v15::Col2Im(input({1, 12, 9}), list({4, 4}), list({2, 2}))), "[1,3,4,4]");
  EXPECT_EQ(text(v15::Col2Im(input({1, 12, 9}), list({4, 4}), list({2, 2}), Strides{2, 2}, Strides{1, 1}, Shape{1, 1},
                             Shape{1, 1}),
                 {"strides", "pads_begin", "pads_end"}),
            "[1,3,4,4] strides=2, 2 pads_begin=1, 1 pads_end=1, 1");
}

TEST(LayerConstructors, BlocksAndSlices) {
  EXPECT_EQ(text(v1::BatchToSpace(input({4, 3, 2, 2}), list({1, 1, 2, 2}), list({0, 0, 0, 0}), list({0, 0, 1, 0}))),
            "[1,3,3,4]");
  EXPECT_EQ(text(v1::SpaceToBatch(input({1, 3, 3, 4}), list({1, 1, 2, 2}), list({0, 0, 0, 0}), list({0, 0, 1, 0}))),
            "[4,3,2,2]");
  const auto data = input({5, 7});
  EXPECT_EQ(text(v15::SliceScatter(data, input({2, 7}), list({1}), list({3}), list({1}), list({0}))), "[5,7]");
  EXPECT_EQ(v15::SliceScatter(data, input({2, 7}), list({1}), list({3}), list({1})).get_input_size(), 5u);
}

TEST(LayerConstructors, IndicesAndOrders) {
  const auto data = input({5, 7});
  const auto beams = input({4, 2, 3}, element::i32);
  EXPECT_EQ(text(v1::GatherTree(beams, beams, input({2}, element::i32), input({}, element::i32))), "[4,2,3]");
  EXPECT_EQ(text(v3::Bucketize(data, input({3}), element::i32, false), {"output_type", "with_right_bound"}),
            "[5,7] output_type=i32 with_right_bound=false");
  EXPECT_EQ(text(v9::Eye(number(3), number(4), number(0), element::i8), {"output_type"}), "[3,4] output_type=i8");
  EXPECT_EQ(text(v9::Eye(number(3), number(4), number(0), list({2}), element::f32)), "[2,3,4]");
  EXPECT_EQ(text(v10::Unique(data, false, element::i32), {"sorted", "index_element_type", "count_element_type"}),
            "[1..35] sorted=false index_element_type=i32 count_element_type=i64");
  EXPECT_EQ(text(v10::Unique(data, number(0))), "[1..5,7]");
  using Scatter = v15::ScatterNDUpdate;
  EXPECT_EQ(text(Scatter(data, input({3, 2}, element::i32), input({3}), Scatter::Reduction::SUB), {"reduction"}),
            "[5,7] reduction=sub");
  EXPECT_EQ(text(v15::SearchSorted(data, input({5, 3}), true, element::i32), {"right_mode", "output_type"}),
            "[5,3] right_mode=true output_type=i32");
}

TEST(LayerConstructors, DeformedProducts) {
  const auto image = input({1, 8, 9, 9}), filters = input({4, 4, 3, 3}), offsets = input({1, 36, 7, 7});
  const Strides one{1, 1};
  const CoordinateDiff none{0, 0};
  EXPECT_EQ(text(v1::DeformableConvolution(image, offsets, filters, one, none, none, one, PadType::EXPLICIT, 2, 2),
                 {"group", "deformable_group"}),
            "[1,4,7,7] group=2 deformable_group=2");
  const std::vector<std::string> names{"group", "deformable_group", "bilinear_interpolation_pad"};
  EXPECT_EQ(
      text(v8::DeformableConvolution(image, offsets, filters, one, none, none, one, PadType::VALID, 2, 2, true), names),
      "[1,4,7,7] group=2 deformable_group=2 bilinear_interpolation_pad=true");
  EXPECT_EQ(v8::DeformableConvolution(image, offsets, filters, input({1, 18, 7, 7}), one, none, none, one,
                                      PadType::EXPLICIT, 2, 2)
                .get_input_size(),
            4u);
  EXPECT_EQ(text(v7::Einsum({input({2, 3}), input({3, 5})}, "ij,jk->ki"), {"equation"}), "[5,2] equation=ij,jk->ki");
  EXPECT_EQ(text(v0::GRN(image, 0.25f), {"bias"}), "[1,8,9,9] bias=0.25");
  EXPECT_EQ(text(v10::IsInf(image), {"detect_negative", "detect_positive"}),
            "[1,8,9,9] detect_negative=true detect_positive=true");
  EXPECT_EQ(text(v10::IsInf(image, {false, true}), {"detect_negative", "detect_positive"}),
            "[1,8,9,9] detect_negative=false detect_positive=true");
}

TEST(LayerConstructors, BitsAndMatrices) {
  using Binary = v1::BinaryConvolution;
  const auto image = input({1, 8, 9, 9});
  const auto bits = input({4, 8, 3, 3}, element::u1);
  const std::vector<std::string> names{"mode", "pad_value", "auto_pad"};
  EXPECT_EQ(text(Binary(image, bits, Strides{2, 2}, CoordinateDiff{0, 0}, CoordinateDiff{0, 0}, Strides{1, 1},
                        Binary::BinaryConvolutionMode::XNOR_POPCOUNT, -1.f),
                 names),
            "[1,4,4,4] mode=xnor-popcount pad_value=-1 auto_pad=explicit");
  EXPECT_EQ(text(Binary(image, bits, Strides{1, 1}, CoordinateDiff{1, 1}, CoordinateDiff{1, 1}, Strides{1, 1},
                        "xnor-popcount", 0.f, PadType::SAME_UPPER),
                 names),
            "[1,4,9,9] mode=xnor-popcount pad_value=0 auto_pad=same_upper");
  EXPECT_EQ(text(v14::Inverse(input({2, 3, 3})), {"adjoint"}), "[2,3,3] adjoint=false");
  EXPECT_EQ(text(v14::Inverse(input({2, 3, 3}), true), {"adjoint"}), "[2,3,3] adjoint=true");
}

TEST(LayerConstructors, TypesAndTexts) {
  const auto data = input({2, 3});
  EXPECT_EQ(text(v13::FakeConvert(data, real(1)), {"destination_type"}), "[2,3] destination_type=f8e4m3");
  EXPECT_EQ(text(v13::FakeConvert(data, real(1), "f8e5m2"), {"destination_type"}), "[2,3] destination_type=f8e5m2");
  EXPECT_EQ(text(v13::FakeConvert(data, real(1), element::f8e5m2), {"destination_type"}),
            "[2,3] destination_type=f8e5m2");
  EXPECT_EQ(v13::FakeConvert(data, real(1), real(0)).get_input_size(), 3u);
  EXPECT_EQ(text(v13::FakeConvert(data, real(1), real(0), element::f8e5m2), {"destination_type"}),
            "[2,3] destination_type=f8e5m2");
  const std::vector<std::string> promotions{"promote_unsafe", "pytorch_scalar_promotion",
                                            "u64_integer_promotion_target"};
  EXPECT_EQ(text(v14::ConvertPromoteTypes(data, data), promotions),
            "[2,3] promote_unsafe=false pytorch_scalar_promotion=false u64_integer_promotion_target=f32");
  EXPECT_EQ(text(v14::ConvertPromoteTypes(data, number(1), true, true, element::f64), promotions),
            "[2,3] promote_unsafe=true pytorch_scalar_promotion=true u64_integer_promotion_target=f64");
  EXPECT_EQ(text(v16::Identity(data)), "[2,3]");
  const auto offsets = input({4}, element::i32);
  const v15::StringTensorPack texts(offsets, offsets, input({9}, element::u8));
  EXPECT_EQ(texts.get_element_type(), element::string);
  EXPECT_EQ(text(texts), "[4]");
  const v15::StringTensorUnpack bytes(input({4}, element::string));
  EXPECT_EQ(bytes.get_output_size(), 3u);
  EXPECT_EQ(bytes.get_output_element_type(2), element::u8);
}

TEST(LayerConstructors, RandomNumbersAndSegments) {
  EXPECT_EQ(text(v8::RandomUniform(list({2, 3}), real(0), real(1), element::f32),
                 {"output_type", "global_seed", "op_seed", "alignment"}),
            "[2,3] output_type=f32 global_seed=0 op_seed=0 alignment=tensorflow");
  EXPECT_EQ(text(v8::RandomUniform(list({4}), number(0), number(9), element::i64, 5, 7, PhiloxAlignment::PYTORCH),
                 {"output_type", "global_seed", "op_seed", "alignment"}),
            "[4] output_type=i64 global_seed=5 op_seed=7 alignment=pytorch");
  EXPECT_EQ(text(v13::Multinomial(input({2, 5}), number(3), element::i64, true, false, 4),
                 {"convert_type", "with_replacement", "log_probs", "global_seed", "op_seed"}),
            "[2,3] convert_type=i64 with_replacement=true log_probs=false global_seed=4 op_seed=0");
  const auto ids = input({5}, element::i32);
  using Hot = v16::OneHot;
  EXPECT_EQ(text(Hot(ids, number(3), real(1), real(0), -1), {"axis", "negative_indices_mode"}),
            "[5,3] axis=-1 negative_indices_mode=ignore_negative");
  EXPECT_EQ(text(Hot(ids, number(3), real(1), real(0), 0, Hot::NegativeIndicesMode::NORMALIZE),
                 {"axis", "negative_indices_mode"}),
            "[3,5] axis=0 negative_indices_mode=normalize");
  EXPECT_EQ(text(v16::SegmentMax(input({5, 2}), ids, FillMode::LOWEST), {"fill_mode"}), "[?,2] fill_mode=LOWEST");
  EXPECT_EQ(text(v16::SegmentMax(input({5, 2}), ids, number(4), FillMode::ZERO), {"fill_mode"}),
            "[4,2] fill_mode=ZERO");
  const v16::SparseFillEmptyRows filled(input({6}), list({4, 9}), input({6, 2}, element::i64), real(-1));
  EXPECT_EQ(filled.get_output_shape(2), (Shape{4}));
}

TEST(LayerConstructors, VariablesByName) {
  const v3::ReadValue read(real(0), "state");
  EXPECT_EQ(text(read, {"variable_id"}), "[] variable_id=state");
  EXPECT_EQ(text(v3::Assign(std::make_shared<v3::ReadValue>(real(0), "state"), "state"), {"variable_id"}),
            "[] variable_id=state");
}

}  // namespace
}  // namespace terroir
