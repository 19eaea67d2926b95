// Operations that only move elements.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

OpRows padding() {
  OpRows rows;
  for (const char* mode : {"constant", "edge", "reflect", "symmetric"})
    rows.push_back({std::string("Pad/") + mode,
                    "Pad",
                    "opset12",
                    {{"pad_mode", mode}},
                    {tensor(kImage), integers({0, 0, 2, 2}), integers({0, 0, 2, 2}), scalar(0)}});
  return rows;
}

OpRows slices() {
  const AnyMap masks{{"begin_mask", "0,0,0,0"}, {"end_mask", "0,0,0,0"}};
  return {
      {"StridedSlice/crop",
       "StridedSlice",
       "opset1",
       masks,
       {tensor(kImage), integers({0, 0, 8, 8}), integers({1, 64, 104, 104}), integers({1, 1, 1, 1})}},
      {"StridedSlice/every_second",
       "StridedSlice",
       "opset1",
       masks,
       {tensor(kImage), integers({0, 0, 0, 0}), integers({1, 64, 112, 112}), integers({1, 1, 2, 2})}},
      {"Slice/channels",
       "Slice",
       "opset8",
       {},
       {tensor({4, 64, 56, 56}), integers({8}), integers({56}), integers({1}), integers({1})}},
      {"Slice/backwards",
       "Slice",
       "opset8",
       {},
       {tensor(kTokens), integers({-1}), integers({-10000}), integers({-1}), integers({2})}},
      {"Concat/channels",
       "Concat",
       "opset1",
       {{"axis", "1"}},
       {tensor({4, 32, 56, 56}), tensor({4, 24, 56, 56}), tensor({4, 8, 56, 56})}},
      {"Concat/last", "Concat", "opset1", {{"axis", "2"}}, {tensor({1, 8400, 4}), tensor({1, 8400, 80})}},
      {"Split/channels", "Split", "opset1", {{"num_splits", "2"}}, {tensor({4, 64, 56, 56}), scalar(1, element::i64)}},
      {"VariadicSplit/last",
       "VariadicSplit",
       "opset1",
       {},
       {tensor({1, 8400, 84}), scalar(2, element::i64), integers({4, 80})}},
  };
}

OpRows repeats() {
  return {
      {"Tile/rows", "Tile", "opset1", {}, {tensor({1, 64, 768}), integers({4, 2, 1})}},
      {"Tile/last", "Tile", "opset1", {}, {tensor({512, 100}), integers({1, 8})}},
      {"Broadcast/channels", "Broadcast", "opset3", {}, {tensor({1, 64, 1, 1}), integers({1, 64, 112, 112})}},
      {"Broadcast/rows", "Broadcast", "opset3", {}, {tensor({1, 1, 768}), integers({4, 256, 768})}},
  };
}

OpRows transposes() {
  return {
      {"Transpose/nchw_to_nhwc", "Transpose", "opset1", {}, {tensor(kImage), integers({0, 2, 3, 1})}},
      {"Transpose/large_map", "Transpose", "opset1", {}, {tensor({1, 64, 400, 400}), integers({0, 2, 3, 1})}},
      {"Transpose/heads", "Transpose", "opset1", {}, {tensor({1, 512, 12, 64}), integers({0, 2, 1, 3})}},
      {"Transpose/u8_nhwc_to_nchw",
       "Transpose",
       "opset1",
       {},
       {tensor({1, 448, 448, 3}, element::u8), integers({0, 3, 1, 2})}},
      {"Transpose/five_axes", "Transpose", "opset1", {}, {tensor({1, 3, 85, 40, 40}), integers({0, 1, 3, 4, 2})}},
      {"Reverse/last", "Reverse", "opset1", {{"mode", "index"}}, {tensor(kTokens), integers({2})}},
      {"ReverseSequence",
       "ReverseSequence",
       "opset1",
       {{"batch_axis", "0"}, {"seq_axis", "1"}},
       {tensor({8, 128, 256}), indices({8}, 128)}},
      {"Roll", "Roll", "opset7", {}, {tensor({1, 56, 56, 96}), integers({3, 3}), integers({1, 2})}},
      {"DepthToSpace",
       "DepthToSpace",
       "opset1",
       {{"mode", "blocks_first"}, {"block_size", "2"}},
       {tensor({1, 256, 56, 56})}},
      {"SpaceToDepth",
       "SpaceToDepth",
       "opset1",
       {{"mode", "blocks_first"}, {"block_size", "2"}},
       {tensor({1, 64, 112, 112})}},
      {"BatchToSpace",
       "BatchToSpace",
       "opset2",
       {},
       {tensor({4, 64, 56, 56}), integers({1, 1, 2, 2}), integers({0, 0, 0, 0}), integers({0, 0, 0, 0})}},
      {"SpaceToBatch",
       "SpaceToBatch",
       "opset2",
       {},
       {tensor(kImage), integers({1, 1, 2, 2}), integers({0, 0, 0, 0}), integers({0, 0, 0, 0})}},
      {"ShuffleChannels", "ShuffleChannels", "opset1", {{"axis", "1"}, {"group", "2"}}, {tensor({1, 232, 56, 56})}},
      {"ReorgYolo", "ReorgYolo", "opset2", {{"stride", "2"}}, {tensor({1, 64, 104, 104})}},
      {"ExtractImagePatches",
       "ExtractImagePatches",
       "opset3",
       {{"sizes", "3,3"}, {"strides", "1,1"}, {"rates", "1,1"}, {"auto_pad", "same_upper"}},
       {tensor({1, 32, 56, 56})}},
      {"Col2Im",
       "Col2Im",
       "opset15",
       {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}},
       {tensor({1, 288, 3136}), integers({56, 56}), integers({3, 3})}},
  };
}

OpRows gathers() {
  return {
      {"Gather/embedding",
       "Gather",
       "opset8",
       {},
       {table({30522, 768}, 512 * 768), indices({1, 512}, 30522), scalar(0, element::i64)}},
      {"Gather/batch_dims",
       "Gather",
       "opset8",
       {{"batch_dims", "1"}},
       {table({8, 1024, 64}, 8 * 512 * 64), indices({8, 512}, 1024), scalar(1, element::i64)}},
      {"Gather/last", "Gather", "opset8", {}, {tensor({4096, 100}), indices({80}, 100), scalar(1, element::i64)}},
      {"GatherElements", "GatherElements", "opset6", {{"axis", "1"}}, {tensor({512, 1024}), indices({512, 512}, 1024)}},
      {"GatherND", "GatherND", "opset8", {}, {table({256, 256, 64}, 4096 * 64), indices({4096, 2}, 256)}},
      {"GatherTree",
       "GatherTree",
       "opset1",
       {},
       {indices({64, 32, 8}, 1000), indices({64, 32, 8}, 8), same({32}, 64, element::i32), scalar(1, element::i32)}},
      {"ScatterUpdate",
       "ScatterUpdate",
       "opset3",
       {},
       {tensor({4096, 256}), indices({512}, 4096), tensor({512, 256}), scalar(0, element::i64)}},
      {"ScatterElementsUpdate/none",
       "ScatterElementsUpdate",
       "opset12",
       {},
       {tensor({512, 1024}), indices({512, 256}, 1024), tensor({512, 256}), scalar(1, element::i64)}},
      {"ScatterElementsUpdate/sum",
       "ScatterElementsUpdate",
       "opset12",
       {{"reduction", "sum"}},
       {tensor({512, 1024}), indices({512, 256}, 1024), tensor({512, 256}), scalar(1, element::i64)}},
      {"ScatterNDUpdate",
       "ScatterNDUpdate",
       "opset4",
       {},
       {tensor({256, 256, 64}), indices({4096, 2}, 256), tensor({4096, 64})}},
      {"SliceScatter",
       "SliceScatter",
       "opset15",
       {},
       {tensor(kTokens), tensor({1, 256, 768}), integers({128}), integers({384}), integers({1}), integers({1})}},
  };
}

OpRows conversions() {
  OpRows rows{
      {"OneHot/last",
       "OneHot",
       "opset1",
       {{"axis", "-1"}},
       {indices({4096}, 256), scalar(256, element::i64), scalar(1), scalar(0)}},
      {"NonZero", "NonZero", "opset3", {{"output_type", "i64"}}, {tensor({1024, 1024}, element::boolean)}},
  };
  const std::vector<std::pair<element::Type, const char*>> pairs{
      {element::u8, "f32"},   {element::f32, "u8"},     {element::f32, "f16"}, {element::f16, "f32"},
      {element::f32, "bf16"}, {element::i64, "i32"},    {element::i32, "i64"}, {element::i32, "f32"},
      {element::f32, "i64"},  {element::boolean, "f32"}};
  for (const auto& [from, to] : pairs)
    rows.push_back({"Convert/" + from.get_type_name() + "_" + to,
                    "Convert",
                    "opset1",
                    {{"destination_type", to}},
                    {tensor({1, 3, 512, 512}, from)}});
  return rows;
}

}  // namespace

OpRows movement_rows() {
  OpRows rows;
  for (const auto& part : {padding(), slices(), repeats(), transposes(), gathers(), conversions()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace terroir::bench
