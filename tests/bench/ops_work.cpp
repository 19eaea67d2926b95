// What the arithmetic of an operation costs, for rows that a copy of their bytes does not explain. Counted in the
// kernels' sources, per element of `elements`; multiply-adds of f32 are one, those of f64 two (four where the loops are
// built for AVX2 at most), divisions and roots of f32 0.3 to half a one of f64: Intel's divide 16 floats in 10 cycles,
// 8 doubles in 16.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

constexpr double kImage = 64 * 112 * 112;       // elements of most pointwise rows
constexpr double kPhoto = 224 * 224 * 3;        // bytes of a photo resized ...
constexpr double kBlendedRows = 224 * 640 * 3;  // ... whose rows were blended before,
constexpr double kNarrowed = 480 * 224 * 3;     // or, in Pillow's modes, its columns
constexpr double kFrame = 1920 * 1080;
constexpr double kSampled = 64 * 56 * 56;
constexpr double kTokens = 512 * 768;
constexpr double kClasses = 21 * 128 * 128;
constexpr double kLongs = 512 * 512;

// Transforms: a stage of radix 8 is 52 additions, 4 products by a root and 7 turns of 4 operations for 8 numbers, one
// of radix 4 16 and 3 turns, one of radix 5 36 and 4 turns; telling two spectra apart, or joining them, takes 12 a
// pair. The planes of 16 lines, twice as many for what a stage reads and what it writes, leave the first cache from
// about 190 numbers on: each stage, the loading and the storing read and write 8 bytes a number in the second cache.
// Lines are put side by side by transposes of 64 shuffles for 256 floats, on one port.
constexpr const char* kStages = "four stages of radix 8, 5 or 4, lines transposed on the way in and out";
constexpr const char* kHalves =
    "a matrix of 64 x 512 for half as many pairs: five stages, turns; two spectra by the pair";
// A sequence reads the weights of its state in every step, none of which can begin before the one in front of it.
constexpr double kOfState = 128.0 * 256 * 256;
constexpr const char* kEveryStep = "all weights of the state in each step, from the second cache";
// Rows are moved by 16 x 16 transposes.
constexpr double kShuffled = 0.25;
constexpr const char* kTransposed = "transposed in registers: 64 shuffles for 256 elements, on one port";
// Every second element: a shuffle of two loads, and a store, for 4 elements. Runs of a row each end in a branch that is
// not foreseen, of 20 cycles.
constexpr double kDealt = 0.25;
constexpr double kUnforeseen = 20;
// Light and two colours to f32, four multiply-adds, three colours rounded, limited and joined.
constexpr TableRows kBagRows = {4096, 128 * 4, 30522};
constexpr const char* kBag = "a multiply-add each; every cache line of a row fetched early, then loaded";
constexpr const char* kFourPixels = "30 operations of f32; a shuffle and a store for four pixels";
// In recurrent layers of 16 rows the state has a sixteenth as many elements as each of its weights.
constexpr double kPerWeight = 1.0 / 16;
constexpr const char* kGatesToo = "beside the products all weights of the state in each step, and the gates' functions";

struct Row {
  const char* name;
  double elements;
  Work each;
};

constexpr Row kRows[] = {
    {"Acos", kImage, {88, 1, 0, 0, "26 + 18 operations of f64 and a root"}},
    {"Acosh", kImage, {76, 3, 0, 0, "38 operations of f64, two divisions and a root"}},
    {"Asin", kImage, {76, 1, 0, 0, "26 + 12 operations of f64 and a root"}},
    {"Asinh", kImage, {80, 4, 0, 0, "40 operations of f64, three divisions and a root"}},
    {"Atan", kImage, {76, 2, 0, 0, "24 + 14 operations of f64 and two divisions"}},
    {"Atanh", kImage, {76, 3, 0, 0, "38 operations of f64 and three divisions"}},
    {"Cos", kImage, {84, 0, 0, 0, "sine and cosine: 42 operations of f64"}},
    {"Cosh", kImage, {64, 1, 0, 0, "32 operations of f64 and a division"}},
    {"Sin", kImage, {84, 0, 0, 0, "sine and cosine: 42 operations of f64"}},
    {"Sinh", kImage, {100, 1, 0, 0, "50 operations of f64 and a division"}},
    {"SoftPlus",
     kImage,
     {60, 0, 0, 0, "exponential of 12 operations, logarithm of 35, a reciprocal of 4, nine around them"}},
    {"Tan", kImage, {88, 1, 0, 0, "44 operations of f64 and a division"}},
    {"Mod/same", kImage, {56, 1, 0, 0, "14 operations of f64 in AVX2 and a division"}},
    {"Mod/channels", kImage, {56, 1, 0, 0, "14 operations of f64 in AVX2 and a division"}},
    {"FloorMod/same", kImage, {64, 1, 0, 0, "16 operations of f64 in AVX2 and a division"}},
    {"FloorMod/channels", kImage, {64, 1, 0, 0, "16 operations of f64 in AVX2 and a division"}},
    {"Power/same", kImage, {110, 1, 0, 0, "logarithm and exponential of 45 operations of f64, a division, 20 of f32"}},
    {"Power/channels",
     kImage,
     {110, 1, 0, 0, "logarithm and exponential of 45 operations of f64, a division, 20 of f32"}},
    {"BatchNormInference", kImage, {6, 1, 0, 0, "a division and a root of f32, six operations"}},
    {"Log", kImage, {35, 0, 0, 0, "35 operations: exponent and mantissa, eight products, five special values"}},
    {"Exp", kImage, {12, 0, 0, 0, "12 operations"}},
    {"Tanh", kImage, {22, 0.3, 0, 0, "an exponential of 16 operations, a division of f32"}},
    {"Erf", kImage, {17, 0.3, 0, 0, "two polynomials, a division of f32"}},
    {"Gelu", kImage, {20, 0.3, 0, 0, "the error function: two polynomials, a division of f32"}},
    {"Swish", kImage, {20, 0, 0, 0, "an exponential, a reciprocal of 4 operations"}},
    {"Mish", kImage, {18, 0.3, 0, 0, "an exponential of 12 operations, a division of f32"}},
    {"Inverse/256",
     256 * 256,
     {2 * 256, 0, 4.5, 16 * 16,
      "256 products of f64, read and written for each of 16 panels; two stores for a step of its panel, copied in and "
      "out"}},
    {"Inverse/4x4",
     4096 * 16,
     {0, 0, 4.4, 0,
      "nine instructions to put an element in its lane and take it out; of eight in a vector 36 for exchanges, sums "
      "and "
      "products, a quarter of a quotient"}},
    {"SparseFillEmptyRows",
     65536,
     {0, 0, 31, 0, "checked and counted, placed; three lines of the second cache each, which nothing fetches ahead",
      40}},
    {"RegionYolo", 83.0 * 3 * 26 * 26, {19, 0, 0, 0, "an exponential of 12 operations, a reciprocal of 4"}},
    {"FakeQuantize/tensor", kImage, {20, 0.6, 0, 0, "two divisions of f32, twelve operations in AVX2"}},
    {"FakeQuantize/channels", kImage, {20, 0.6, 0, 0, "two divisions of f32, twelve operations in AVX2"}},
    {"SoftMax/last", 12.0 * 512 * 512, {17, 0, 0, 0, "maximum, exponential of 12 operations, sum and product"}},
    {"ScaledDotProductAttention",
     12.0 * 512 * 512,
     {18, 0, 0, 0, "beside the products: scale, maximum, exponential of 12 operations, sum and product"}},
    {"SoftMax/channels", kClasses, {17, 0, 0, 0, "maximum, exponential of 12 operations, sum and product"}},
    {"LogSoftmax/last", 512.0 * 1000, {17, 0, 0, 0, "maximum, exponential of 12 operations, sum and difference"}},
    {"LogSoftmax/channels", kClasses, {17, 0, 0, 0, "maximum, exponential of 12 operations, sum and difference"}},
    {"MVN/spatial", kImage, {6, 0, 0, 0, "a sum, a sum of squared distances, a difference and a product"}},
    {"MVN/channels", kImage, {6, 0, 0, 0, "a sum, a sum of squared distances, a difference and a product"}},
    {"MVN/last", kTokens, {6, 0, 0, 0, "a sum, a sum of squared distances, a difference and a product"}},
    {"GroupNormalization",
     kImage,
     {7, 0, 0, 8, "a sum, squared distances, a difference, two products; groups of 400 kB read three times"}},
    {"NormalizeL2/channels", kImage, {2, 0, 0, 4, "a sum of squares, a product; read again from the second cache"}},
    {"ReduceL2/i32",
     kTokens,
     {14, 0, 0, 0, "made f64 and kept: three shuffles for 16 on one port; a square and a sum for four"}},
    {"CumSum/last",
     kTokens,
     {0, 0, 1.5, 0, "to f64 and back by the element, for the order of a sum: six instructions"}},
    {"CumSum/first", kTokens, {12, 0, 0, 0, "to f64 and back, four at a time, each two instructions, and a sum"}},
    {"ScatterElementsUpdate/none", 512.0 * 256, {0, 0, 2.5, 0, "an index checked, an update fetched and stored"}},
    {"ScatterElementsUpdate/sum",
     512.0 * 256,
     {0, 0, 5, 0, "an index checked and kept, then two loads, a sum and a store"}},
    {"GatherElements", 512.0 * 512, {0, 0, 2.5, 0, "an index checked, an element fetched and stored"}},
    {"Equal/i64_scalar", kLongs, {0, 0, 0.7, 0, "22 shuffles and comparisons for 32 elements, on one port"}},
    {"NotEqual/i64_scalar", kLongs, {0, 0, 0.7, 0, "22 shuffles and comparisons for 32 elements, on one port"}},
    {"Less/i64_scalar", kLongs, {0, 0, 0.7, 0, "22 shuffles and comparisons for 32 elements, on one port"}},
    {"LessEqual/i64_scalar", kLongs, {0, 0, 0.7, 0, "22 shuffles and comparisons for 32 elements, on one port"}},
    {"Greater/i64_scalar", kLongs, {0, 0, 0.7, 0, "22 shuffles and comparisons for 32 elements, on one port"}},
    {"GreaterEqual/i64_scalar", kLongs, {0, 0, 0.7, 0, "22 shuffles and comparisons for 32 elements, on one port"}},
    {"TopK/argmax_channels", kClasses, {5, 0, 0, 0, "two comparisons, both of them, and two selections"}},
    {"TopK/vocabulary_50_of_50257",
     50257,
     {3, 0, 0.1, 0, "half of a row read for its 64 bests, then a comparison each; some 200 elements kept for a while"}},
    {"Col2Im",
     288.0 * 3136,
     {0, 0, 0.375, 0, "two loads, a sum and a store for four elements, without an instruction set"}},
    {"DFT/1024", 64.0 * 1024, {35, 0, 1, 80, kStages}},
    {"DFT/rows_of_1000", 64.0 * 1000, {41.7, 0, 1, 80, kStages}},
    {"DFT/two_axes", 4.0 * 128 * 128, {49, 0, 1.25, 16, "three stages for each of two axes, lines taken apart"}},
    {"DFT/one_line", 65536, {60, 0, 1, 168, "a matrix of 256 x 256: three stages twice, turns between"}},
    {"RDFT/one_line", 32768, {56.5, 0, 5, 192, kHalves}},
    {"IRDFT/one_line", 32768, {56.5, 0, 5, 192, kHalves}},
    {"DFT/long_lines", 32.0 * 8192, {49.5, 0, 1, 24, "matrices of 64 x 128: two stages, turns, three stages"}},
    {"DFT/prime_1009", 64.0 * 2048, {85, 0, 0.5, 176, "two transforms of 2048 in four stages, three products"}},
    {"RDFT/1024", 64.0 * 1024, {22, 0, 0.5, 40, "three stages of half as many pairs, two spectra told apart"}},
    {"IRDFT/1024", 64.0 * 1024, {22, 0, 0.5, 40, "two spectra joined, three stages of half as many pairs"}},
    {"STFT", 997.0 * 512, {21, 0, 0.5, 48, "a window, three stages of half as many pairs, two spectra told apart"}},
    {"ISTFT", 1000.0 * 512, {24, 0, 0.5, 56, "two spectra joined, three stages of half as many pairs, sums of frames"}},
    {"LSTMSequence/forward_batch1", 4 * kOfState, {0, 0, 0, 4, kEveryStep}},
    {"LSTMSequence/bidirectional_batch1", 8 * kOfState, {0, 0, 0, 4, kEveryStep}},
    {"GRUSequence/forward_batch1", 3 * kOfState, {0, 0, 0, 4, kEveryStep}},
    {"GRUSequence/bidirectional_batch1", 6 * kOfState, {0, 0, 0, 4, kEveryStep}},
    {"RNNSequence/forward_batch1", kOfState, {0, 0, 0, 4, kEveryStep}},
    {"RNNSequence/bidirectional_batch1", 2 * kOfState, {0, 0, 0, 4, kEveryStep}},
    {"LSTMSequence/forward_batch16", 4 * kOfState, {kPerWeight * 101 / 4, 0, 0, 4, kGatesToo}},
    {"LSTMSequence/bidirectional_batch16", 8 * kOfState, {kPerWeight * 101 / 4, 0, 0, 4, kGatesToo}},
    {"GRUSequence/forward_batch16", 3 * kOfState, {kPerWeight * 60 / 3, 0, 0, 4, kGatesToo}},
    {"GRUSequence/bidirectional_batch16", 6 * kOfState, {kPerWeight * 60 / 3, 0, 0, 4, kGatesToo}},
    {"RNNSequence/forward_batch16", kOfState, {kPerWeight * 22, 0, 0, 4, kGatesToo}},
    {"RNNSequence/bidirectional_batch16", 2 * kOfState, {kPerWeight * 22, 0, 0, 4, kGatesToo}},
    {"Sigmoid", kImage, {19, 0, 0, 0, "an exponential of 12 operations, a sum, a reciprocal of 5"}},
    {"Elu", kImage, {20, 0, 0, 0, "an exponential less 1 of 17 operations, a comparison, a selection"}},
    {"Selu", kImage, {21, 0, 0, 0, "an exponential less 1 of 17 operations, two products, a comparison, a selection"}},
    {"Transpose/five_axes", 3.0 * 85 * 1600, {0, 0, kShuffled, 0, kTransposed}},
    {"Transpose/nchw_to_nhwc", kImage, {0, 0, kShuffled, 0, kTransposed}},
    {"SpaceToDepth", kImage, {0, 0, kDealt + kUnforeseen / 112, 0, "dealt to two rows, a row of 112 at a time"}},
    {"ReorgYolo", 64 * 104 * 104, {0, 0, kDealt + kUnforeseen / 104, 0, "dealt to two rows, a row of 104 at a time"}},
    {"SpaceToBatch", kImage, {0, 0, kDealt + kUnforeseen / 112, 0, "dealt to two rows, a row of 112 at a time"}},
    {"DepthToSpace", 256 * 56 * 56, {0, 0, kDealt + kUnforeseen / 112, 0, "two rows merged, a row of 112 at a time"}},
    {"BatchToSpace",
     4 * 64 * 56 * 56,
     {0, 0, kDealt + kUnforeseen / 112, 0, "two rows merged, a row of 112 at a time"}},
    {"ExtractImagePatches", 288.0 * 56, {0, 0, 2 * kUnforeseen + 14, 0, "rows of 56: a copy and a border each"}},
    {"Gather/batch_dims",
     4096,
     {0, 0, 15, 0, "of each row an index checked and kept, a call, a page that the first table of pages lacks"}},
    {"Einsum/heads",
     2 * 128 * 12 * 64,
     {0, 0, 10.0 / 64, 8, "both operands put head by head first, a call for each row of 64"}},
    {"Gather/last", 4096.0 * 80, {0, 0, 1, 0, "an offset and an element loaded, a store"}},
    {"Gather/rgb_to_bgr",
     480 * 640 * 3 / 15.0,
     {0, 0, 1.25, 0, "five pixels at once: a load, a shuffle and a store, every fourth across two cache lines"}},
    {"Reverse/last", kTokens, {0, 0, 0.25, 0, "a load, a shuffle and a store for four elements"}},
    {"StridedSlice/every_second",
     64 * 56 * 56,
     {0, 0, kDealt + kUnforeseen / 56, 0, "every second of two loads, a row of 56 at a time"}},
    {"EmbeddingBagOffsetsSum", 4096.0 * 128, {1, 0, 1.0 / 16, 0, kBag, 0, kBagRows}},
    {"EmbeddingBagOffsets/mean", 4096.0 * 128, {1, 0, 1.0 / 16, 0, kBag, 0, kBagRows}},
    {"EmbeddingBagPackedSum", 4096.0 * 128, {1, 0, 1.0 / 16, 0, kBag, 0, kBagRows}},
    {"NV12toRGB/f32", kFrame, {32, 0, 1, 0, "32 operations of f32 and a store per pixel"}},
    {"ROIPooling/300",
     300.0 * 36 * 256,
     {0, 0, kShuffled + 3.0 / 16 + 60.0 / 256, 0, "cells of 60 steps, through a tile that is transposed"}},
    {"Convert/f32_bf16", 3 * 512 * 512, {10, 0, 0, 0, "rounded by integers: 8 operations, narrowed by 2"}},
    {"Select/mask", 12 * 128 * 128, {4, 0, 0, 0, "a byte widened, tested, a selection"}},
    {"Transpose/u8_nhwc_to_nchw", 448 * 448, {0, 0, 0.65, 0, "18 shuffles and insertions for 32 pixels, on one port"}},
    {"LRN/channels", kImage, {24, 0, 0, 0, "five squares, a power of -3/4 by Newton's steps of 17 operations"}},
    {"Interpolate/photo_u8_linear",
     kPhoto,
     {2 * 2 * kBlendedRows / kPhoto, 0, 2, 0, "two taps fetched, two rows blended"}},
    {"Interpolate/photo_u8_nearest", kPhoto, {0, 0, 2.0 / 3, 0, "a pixel fetched and stored"}},
    {"Interpolate/photo_u8_cubic",
     kPhoto,
     {2 * 4 * kBlendedRows / kPhoto, 0, 4, 0, "four taps fetched, four rows blended"}},
    {"Interpolate/photo_u8_bilinear_pillow",
     kPhoto,
     {2 * 5, 0, 6 * kNarrowed / kPhoto, 0, "six taps fetched for every row of the input, five rows blended"}},
    {"Interpolate/photo_u8_bicubic_pillow",
     kPhoto,
     {2 * 9, 0, 12 * kNarrowed / kPhoto, 0, "twelve taps fetched for every row of the input, nine rows blended"}},
    {"Interpolate/nearest_odd", 64 * 75 * 75, {4, 0, 0, 0, "a place, a permutation and a store that is not aligned"}},
    {"Interpolate/linear_onnx", kImage, {12, 0, 0, 0, "two taps of five operations, two half rows of two"}},
    {"Interpolate/linear", kImage, {12, 0, 0, 0, "two taps of five operations, two half rows of two"}},
    {"Interpolate/bilinear_pillow", kImage, {12, 0, 0, 0, "two taps of five operations, two half rows of two"}},
    {"Interpolate/cubic", kImage, {24, 0, 0, 0, "four taps of five operations, four half rows of two"}},
    {"Interpolate/bicubic_pillow", kImage, {24, 0, 0, 0, "four taps of five operations, four half rows of two"}},
    {"Interpolate/photo_f32_linear",
     kPhoto,
     {2 * 2 * kBlendedRows / kPhoto, 0, 2, 0, "two taps fetched, two rows blended"}},
    {"Interpolate/photo_f32_cubic",
     kPhoto,
     {4 * 2 * kBlendedRows / kPhoto, 0, 4, 0, "four taps fetched, four rows blended"}},
    {"NV12toRGB/one_plane", kFrame, {30, 0, 0.3, 0, kFourPixels}},
    {"NV12toBGR/two_planes", kFrame, {30, 0, 0.3, 0, kFourPixels}},
    {"I420toRGB/one_plane", kFrame, {30, 0, 0.3, 0, kFourPixels}},
    {"I420toBGR/three_planes", kFrame, {30, 0, 0.3, 0, kFourPixels}},
    {"GridSample/bilinear", kSampled, {8, 0, 4, 0, "four taps fetched"}},
    {"ROIAlign/1000",
     1000.0 * 49 * 256,
     {4 * 4.3, 0, kShuffled, 0, "four or six taps, each a line from the second cache; results transposed"}},
    {"PSROIPooling/300", 300.0 * 21 * 9, {0, 1, 6, 0, "the bounds of a bin, a division"}},
    {"AdaptiveAvgPool",
     256.0 * 56 * 56,
     {1, 0, 1.0 / 16, 0, "a sum down the rows in vectors, across the eighth that is left by the element"}},
    {"AdaptiveMaxPool", 256.0 * 56 * 56, {2, 0, 1, 0, "a comparison that takes value and place along"}},
    {"MaxPool/indices",
     kImage,
     {6, 0, 0.5, 0, "a shuffle, a comparison, two selections; places of 16 windows by division"}},
    {"MaxPool/u8",
     kImage,
     {0, 0, 1.25 * kShuffled / 2, 1.25,
      "blocks of channels, to and from which bytes are transposed; two shuffles a cycle"}},
    {"Bucketize", 512.0 * 512, {12, 0, 6, 0, "six steps of a binary search"}},
    {"SearchSorted", 4096, {16, 0, 8, 0, "eight steps of a binary search"}},
    {"Unique", 16384, {0, 0, 30, 0, "ranks, two digits sorted by counting, groups, and four results each"}},
    {"NonZero",
     1024.0 * 1024,
     {2, 0, 1.3, 0, "eight flags to bits, a third of the elements listed and stored one by one"}},
    {"GatherTree", 64.0 * 32 * 8, {0, 0, 4, 0, "a load that waits for the one before, and a test for the end"}},
    {"CTCGreedyDecoderSeqLen", 8.0 * 128 * 96, {2, 0, 0.33, 0, "a maximum, then its place; 32 steps per row"}},
    {"TopK/all_of_1000", 32000, {0, 0, 24, 0, "four digits sorted by counting: one step to count, three to move"}},
    {"TopK/boxes_1000_of_8400", 80 * 8400, {0, 0, 10, 0, "keys, a bound by partition, an eighth sorted twice"}},
    {"TopK/classes_5_of_1000",
     32000,
     {4, 0, 0.5, 0, "a row read twice; its bests parted by ten steps each, six elements kept by forty"}},
    {"NonMaxSuppression/yolo", 80 * 8400, {80, 0, 2, 0, "a score each; four boxes each compared with in vectors"}},
};

}  // namespace

Work work_of(const std::string& row) {
  for (const Row& known : kRows)
    if (row == known.name)
      return {known.each.vectors * known.elements,
              known.each.quotients * known.elements,
              known.each.steps * known.elements,
              known.each.cached * known.elements,
              known.each.why,
              known.each.copied * known.elements,
              known.each.rows};
  return {};
}

}  // namespace terroir::bench
