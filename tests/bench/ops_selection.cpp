// Operations that sort, search, suppress and pool regions.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

void add_sorting(OpRows& rows) {
  const auto add = [&](const char* name, Shape shape, double k, const char* axis, const char* sort) {
    rows.push_back({std::string("TopK/") + name,
                    "TopK",
                    "opset11",
                    {{"axis", axis}, {"mode", "max"}, {"sort", sort}, {"index_element_type", "i32"}},
                    {tensor(std::move(shape)), scalar(k, element::i64)}});
  };
  add("classes_5_of_1000", {32, 1000}, 5, "1", "value");
  add("vocabulary_50_of_50257", {1, 50257}, 50, "1", "value");
  add("argmax_channels", {1, 21, 128, 128}, 1, "1", "value");
  add("all_of_1000", {32, 1000}, 1000, "1", "value");
  add("boxes_1000_of_8400", {80, 8400}, 1000, "1", "index");
  rows.push_back({"Bucketize",
                  "Bucketize",
                  "opset3",
                  {{"output_type", "i32"}, {"with_right_bound", "true"}},
                  {tensor({512, 512}), weights({64})}});
  rows.push_back(
      {"SearchSorted", "SearchSorted", "opset15", {{"right_mode", "false"}}, {same({256}, 0.5), tensor({4096})}});
  std::vector<int64_t> runs(4096);
  for (size_t i = 0; i < runs.size(); ++i) runs[i] = static_cast<int64_t>(i) / 8;
  rows.push_back({"SegmentMax/rows",
                  "SegmentMax",
                  "opset16",
                  {{"fill_mode", "ZERO"}},
                  {tensor({4096, 256}), integers(runs), scalar(512, element::i64)}});
  rows.push_back({"SparseFillEmptyRows",
                  "SparseFillEmptyRows",
                  "opset16",
                  {},
                  {tensor({65536}), integers({65536, 65536}), indices({65536, 2}, 65536, element::i64), scalar(0)}});
  rows.push_back({"Unique", "Unique", "opset10", {{"sorted", "true"}}, {indices({16384}, 1000)}});
}

void add_regions(OpRows& rows) {
  rows.push_back({"NonMaxSuppression/yolo",
                  "NonMaxSuppression",
                  "opset9",
                  {{"box_encoding", "center"}, {"sort_result_descending", "false"}, {"output_type", "i32"}},
                  {tensor({1, 8400, 4}), tensor({1, 80, 8400}), scalar(100, element::i64), scalar(0.5), scalar(0.9)}});
  rows.push_back({"ROIAlign/1000",
                  "ROIAlign",
                  "opset9",
                  {{"pooled_h", "7"},
                   {"pooled_w", "7"},
                   {"sampling_ratio", "2"},
                   {"spatial_scale", "0.0625"},
                   {"mode", "avg"},
                   {"aligned_mode", "asymmetric"}},
                  {tensor({1, 256, 50, 68}), tensor({1000, 4}), same({1000}, 0, element::i32)}});
  rows.push_back(
      {"ROIPooling/300",
       "ROIPooling",
       "opset2",
       {{"pooled_h", "6"}, {"pooled_w", "6"}, {"output_size", "6,6"}, {"spatial_scale", "0.0625"}, {"method", "max"}},
       {tensor({1, 256, 38, 50}), indices({300, 5}, 1, element::f32)}});
  rows.push_back({"PSROIPooling/300",
                  "PSROIPooling",
                  "opset1",
                  {{"output_dim", "21"},
                   {"group_size", "3"},
                   {"spatial_scale", "0.0625"},
                   {"mode", "average"},
                   {"spatial_bins_x", "1"},
                   {"spatial_bins_y", "1"}},
                  {tensor({1, 189, 38, 50}), indices({300, 5}, 1, element::f32)}});
  rows.push_back({"RegionYolo",
                  "RegionYolo",
                  "opset1",
                  {{"coords", "4"},
                   {"classes", "80"},
                   {"num", "3"},
                   {"do_softmax", "false"},
                   {"mask", "0,1,2"},
                   {"axis", "1"},
                   {"end_axis", "3"}},
                  {tensor({1, 255, 26, 26})}});
  rows.push_back({"GridSample/bilinear",
                  "GridSample",
                  "opset9",
                  {{"align_corners", "false"}, {"mode", "bilinear"}, {"padding_mode", "zeros"}},
                  {tensor({1, 64, 56, 56}), tensor({1, 56, 56, 2})}});
  rows.push_back({"AdaptiveAvgPool", "AdaptiveAvgPool", "opset8", {}, {tensor({1, 256, 56, 56}), integers({7, 7})}});
  rows.push_back({"AdaptiveMaxPool",
                  "AdaptiveMaxPool",
                  "opset8",
                  {{"index_element_type", "i64"}},
                  {tensor({1, 256, 56, 56}), integers({7, 7})}});
  rows.push_back(
      {"MaxPool/indices",
       "MaxPool",
       "opset8",
       {{"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}},
       {tensor({1, 64, 112, 112})}});
  rows.push_back({"MaxPool/u8",
                  "MaxPool",
                  "opset1",
                  {{"strides", "2,2"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}},
                  {tensor({1, 64, 112, 112}, element::u8)}});
  rows.push_back({"CTCGreedyDecoderSeqLen",
                  "CTCGreedyDecoderSeqLen",
                  "opset6",
                  {{"merge_repeated", "true"}},
                  {tensor({8, 128, 96}), same({8}, 128, element::i32)}});
}

}  // namespace

OpRows selection_rows() {
  OpRows rows;
  add_sorting(rows);
  add_regions(rows);
  return rows;
}

}  // namespace terroir::bench
