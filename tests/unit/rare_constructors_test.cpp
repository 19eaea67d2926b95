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

}  // namespace
}  // namespace terroir
