// Counted in the sources, as in ops_work.cpp, for the data of detection_main.cpp: of scores that are the eighth power
// of a uniform number 44 % are above 0.01, a quarter above 0.1; of fourth powers 44 % above 0.1.
#include <cmath>

#include "tests/bench/detection.hpp"

namespace terroir::bench {
namespace {

// A comparison in a sort: four instructions, and a branch of 20 cycles that is not foreseen every second time.
constexpr double kCompared = 11;
// Four boxes against one: sixteen operations and a division of vectors of four.
constexpr double kFourBoxes = 8;

double sorted(double n) { return n * std::log2(n) * kCompared; }

struct Classes {
  double count, boxes;
  double candidates;  // of a class: above the threshold
  double in_order;    // of those, as many as come to their turn
  double kept;        // of a class
  double four_boxes = kFourBoxes;
};

/// Scores looked at twice, the best parted from the rest by two comparisons each, sorted, and compared with half of
/// those that are kept in the end. None of it is work for vectors of sixteen.
Work suppression(const Classes& c, const char* why) {
  Work work;
  const double parted = c.in_order < c.candidates ? 2 * c.candidates * kCompared : 0;
  work.steps =
      c.count * (2 * c.boxes + parted + sorted(c.in_order) + c.in_order * std::ceil(c.kept / 2 / 4) * c.four_boxes);
  work.why = why;
  return work;
}

/// `each`: of one of `elements`.
Work times(double elements, const Work& each) {
  return {each.vectors * elements, each.quotients * elements, each.steps * elements, each.cached * elements, each.why};
}

struct Row {
  const char* name;
  double elements;
  Work each;
};

// What has a factor in ops_work.cpp has it here for the same reasons.
constexpr Row kRows[] = {
    {"TopK 50257, k 50", 50257, {2, 0, 0.18, 0, "a comparison each; 450 elements kept for a while"}},
    {"TopK 32 x 1000, k 5", 32000, {2, 0, 0.8, 0, "a comparison each; some forty elements of a row kept for a while"}},
    {"TopK 32 x 50257, k 1", 32 * 50257, {2, 0, 0, 0, "a comparison and a selection"}},
    {"TopK 242991, k 6000", 242991, {0, 0, 10, 0, "keys, a bound by partition, a fortieth sorted"}},
    {"TopK channels of 21 x 512 x 512, k 1", 21 * 512 * 512, {5, 0, 0, 0, "two comparisons, two selections"}},
    {"Bucketize 1M, 100 bounds", 1 << 20, {14, 0, 7, 0, "seven steps of a binary search"}},
    {"SearchSorted 1M in 1000", 1 << 20, {20, 0, 10, 0, "ten steps of a binary search"}},
    {"ROIFeatureExtractor 1000, 256 x 7 x 7",
     1000.0 * 49 * 256,
     {64, 0, 0, 0, "four points of four taps, each a line from the second cache"}},
    {"ROIAlign 1000, 256 x 7 x 7",
     1000.0 * 49 * 256,
     {64, 0, 0, 0, "four points of four taps, each a line from the second cache"}},
    {"ROIAlignRotated 300, 256 x 7 x 7",
     300.0 * 49 * 256,
     {64, 0, 0, 0, "four points of four taps, each a line from the second cache"}},
    {"ROIPooling max 300, 512 x 7 x 7",
     300.0 * 49 * 512,
     {18, 0, 0.44, 0, "nine elements of a cell, each a load and a maximum; a tile that is transposed"}},
    {"PSROIPooling 300, 21 x 7 x 7",
     300.0 * 21 * 49,
     {0, 1, 42, 0, "the bounds of a bin, nine elements whose sum waits four cycles for each, a division"}},
    {"RegionYolo 3 x 85 x 52 x 52", 3 * 83 * 52 * 52, {19, 0, 0, 0, "an exponential of 12 operations, a reciprocal"}},
    {"GridSample 64 x 128 x 128, bilinear", 64 * 128 * 128, {8, 0, 4, 0, "four taps fetched"}},
    {"GridSample 64 x 128 x 128, bicubic", 64 * 128 * 128, {32, 0, 16, 0, "sixteen taps fetched"}},
    {"AdaptiveAvgPool 512 x 28 x 28 to 7 x 7",
     4 * 512 * 28 * 28,
     {1, 0, 1.0 / 8, 0, "a sum down the rows in vectors, across the quarter that is left by the element"}},
    {"AdaptiveMaxPool 512 x 28 x 28 to 7 x 7",
     4 * 512 * 28 * 28,
     {2, 0, 1, 0, "a comparison that takes value and place along"}},
    {"MaxPool with indices 64 x 256 x 256",
     64 * 256 * 256,
     {6, 0, 0.5, 0, "a shuffle, a comparison, two selections; places of 16 windows by division"}},
    {"CTCGreedyDecoderSeqLen 16 x 500 x 1000", 16 * 500 * 1000, {12, 0, 0, 0, "a maximum and its place, by fours"}},
    {"CTCLoss 16 x 500 x 100",
     16 * 500 * 121,
     {0, 0, 65, 0, "two exponentials and a logarithm of the library, 20 cycles each, for a sum of three"}},
    {"RandomUniform 1M",
     1 << 20,
     {0, 0, 20, 0, "ten rounds of two products of 64 bits and six operations for four numbers"}},
};

}  // namespace

Work detection_work_of(const std::string& row) {
  for (const Row& known : kRows)
    if (row == known.name) return times(known.elements, known.each);
  constexpr const char* kSuppressed = "scores sorted, boxes compared with those kept";
  if (row == "NonMaxSuppression 8400 x 80") return suppression({80, 8400, 3680, 3680, 41}, kSuppressed);
  if (row == "NonMaxSuppression 1917 x 91") return suppression({91, 1917, 480, 480, 25}, kSuppressed);
  if (row == "MulticlassNms 8400 x 80") return suppression({80, 8400, 3680, 1000, 41}, kSuppressed);
  // Candidate n decays by all n before it, each a second division and six operations more.
  if (row == "MatrixNms 3600 x 80") return suppression({80, 3600, 900, 500, 500, 13}, "every pair of 500 candidates");
  return {};
}

}  // namespace terroir::bench
