// Counted in the sources, as in ops_work.cpp, for the data of detection_main.cpp. How many boxes are compared depends
// on them: it was counted in a run, as blocks of sixteen kept boxes that a candidate was compared with.
#include "tests/bench/detection.hpp"

namespace terroir::bench {
namespace {

// What goes score by score, in steps. To see whether it passes and note its place; to part the best by digits of 11
// bits (ranked, counted, kept and looked at once more); to sort by four digits of 8, or three of 11 where they are many
// (ranked, one step to count and three to move for each, its place noted again).
constexpr double kSeen = 1.5, kParted = 10, kSorted = 24;
// Each sorted list: sums over 256 values of four digits.
constexpr double kSums = 1536;
// A block in vectors of four, as every processor has them: 24 operations, three in a cycle, and a division of five
// cycles, four times; nine operations more where boxes that touch, or include their last row, are told apart.
constexpr double kBlock = 4 * 13.0, kCarefulBlock = 4 * 16.0;
// A function of the C library, and a branch that is not foreseen.
constexpr double kFunction = 20, kUnforeseen = 20;
// A box moved and scaled by two exponentials, forty operations and four loads from rows of their own.
constexpr double kRefined = 2 * kFunction + 15;

struct Lists {
  double count, scores;  // lists, and scores in each
  double passed;         // in each list
  double sorted;         // of those
  double blocks;         // in all lists
  double block = kBlock;
};

double steps(const Lists& l) {
  const double parted = l.sorted < l.passed ? kParted * l.passed : 0;
  // Where a candidate is dropped, no branch foresees.
  const double compared = l.blocks > 0 ? kUnforeseen / 2 * l.sorted : 0;
  return l.count * (kSeen * l.scores + parted + kSorted * l.sorted + kSums + compared) + l.blocks * l.block;
}

Work in_steps(double steps, const char* why) {
  Work work;
  work.steps = steps;
  work.why = why;
  return work;
}

/// `each`: of one of `elements`.
Work times(double elements, const Work& each) {
  return {each.vectors * elements, each.quotients * elements, each.steps * elements, each.cached * elements, each.why,
          each.copied * elements};
}

struct Row {
  const char* name;
  double elements;
  Work each;
};

// Regions are pooled with the channels of a position side by side: maps of so many positions are read and written once
// more to put them so, and results are transposed back in registers.
// Four points of a cell that lie beside each other share some of their taps: those that are left were counted.
constexpr const char* kShared = "maps put channels last; eight or twelve taps, each a line from the second cache";
constexpr const char* kPoints = "maps put channels last; four points of four taps, each a line from the second cache";

// What has a factor in ops_work.cpp has it here for the same reasons.
constexpr Row kRows[] = {
    {"TopK 50257, k 50", 50257, {3, 0, 0.1, 0, "half of it read for its bests, then a comparison each"}},
    {"TopK 32 x 1000, k 5", 32000, {4, 0, 0.5, 0, "a row read twice; its bests parted, six elements kept"}},
    {"TopK 32 x 50257, k 1", 32 * 50257, {2, 0, 0, 0, "a comparison and a selection"}},
    {"TopK 242991, k 6000", 242991, {0, 0, 10, 0, "keys, a bound by partition, a fortieth sorted"}},
    {"TopK channels of 21 x 512 x 512, k 1", 21 * 512 * 512, {5, 0, 0, 0, "two comparisons, two selections"}},
    {"Bucketize 1M, 100 bounds", 1 << 20, {14, 0, 7, 0, "seven steps of a binary search"}},
    {"SearchSorted 1M in 1000", 1 << 20, {20, 0, 10, 0, "ten steps of a binary search"}},
    {"ROIFeatureExtractor 1000, 256 x 7 x 7",
     1000.0 * 49 * 256,
     {4 * 11.7, 0, 0.25, 0, kShared, 2 * 4 * 80750 / (1000.0 * 49)}},
    {"ROIAlign 1000, 256 x 7 x 7", 1000.0 * 49 * 256, {4 * 8.2, 0, 0.25, 0, kShared, 2 * 4 * 3800 / (1000.0 * 49)}},
    {"ROIAlignRotated 300, 256 x 7 x 7", 300.0 * 49 * 256, {64, 0, 0.25, 0, kPoints, 2 * 4 * 3800 / (300.0 * 49)}},
    {"ROIPooling max 300, 512 x 7 x 7",
     300.0 * 49 * 512,
     {18, 0, 0.44, 0, "nine elements of a cell, each a load and a maximum; a tile that is transposed",
      2 * 4 * 2394 / (300.0 * 49)}},
    {"PSROIPooling 300, 21 x 7 x 7",
     300.0 * 21 * 49,
     {0, 1, 18, 0, "the bounds of a bin, nine elements loaded, widened and added beside those of three more outputs"}},
    {"PriorGridGenerator 200 x 304 x 3",
     200 * 304 * 3 * 4,
     {0, 0, 0.3, 0, "a load, a sum and a store for four elements, without an instruction set"}},
    {"RegionYolo 3 x 85 x 52 x 52", 3 * 83 * 52 * 52, {19, 0, 0, 0, "an exponential of 12 operations, a reciprocal"}},
    {"GridSample 64 x 128 x 128, bilinear", 64 * 128 * 128, {8, 0, 4, 0, "four taps fetched"}},
    {"GridSample 64 x 128 x 128, bicubic", 64 * 128 * 128, {32, 0, 16, 0, "sixteen taps fetched"}},
    {"AdaptiveAvgPool 512 x 28 x 28 to 7 x 7",
     4 * 512 * 28 * 28,
     {1, 0, 25.0 / 6 / 16, 0, "a sum down the rows in vectors; for each cell of sixteen 25 instructions across"}},
    {"AdaptiveMaxPool 512 x 28 x 28 to 7 x 7",
     4 * 512 * 28 * 28,
     {2, 0, 1, 0, "a comparison that takes value and place along"}},
    {"MaxPool with indices 64 x 256 x 256",
     64 * 256 * 256,
     {6, 0, 0.5, 0, "a shuffle, a comparison, two selections; places of 16 windows by division"}},
    {"CTCGreedyDecoderSeqLen 16 x 500 x 1000", 16 * 500 * 1000, {2, 0, 0, 0, "a maximum, then its place"}},
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
  constexpr const char* kSuppressed = "scores sorted by digits, boxes compared with those kept";
  constexpr const char* kRefinedToo = "boxes refined by two exponentials each, scores sorted by digits, boxes compared";
  if (row == "NonMaxSuppression 8400 x 80") return in_steps(steps({80, 8400, 3675, 3675, 394332}), kSuppressed);
  if (row == "NonMaxSuppression 1917 x 91") return in_steps(steps({91, 1917, 484, 484, 54875}), kSuppressed);
  if (row == "NonMaxSuppression soft 1917 x 91") {
    // Those whose scores sink wait in a heap of some 60, six levels whose order nothing foresees. Pairs are compared in
    // blocks, with a product and a sum for each; an exponential for each candidate that meets some.
    constexpr double kPopped = 6 * (kUnforeseen / 2 + 4), kPushed = 30;
    return in_steps(steps({91, 1917, 484, 484, 486446 / 16.0, kBlock + 4 * 2}) + 49682 * kUnforeseen +
                        5656 * (kPopped + kPushed + kFunction),
                    "scores sorted by digits, most boxes compared with all that are kept");
  }
  if (row == "NMSRotated 1000 x 15") {
    // Centres tell most pairs apart; of the others four edges cut four to five corners, two of them by a division, at
    // places that nothing foresees.
    constexpr double kEdge = 4.5 * 8 + 11 + kUnforeseen, kApart = 4;
    return in_steps(1000 * (3 * kFunction + 30) + steps({15, 1000, 437, 437, 0}) + 77213 * kApart +
                        7171 * (4 * kEdge + 14 + kUnforeseen),
                    "77000 pairs, of which 7000 are cut to a common polygon");
  }
  if (row == "MulticlassNms 8400 x 80")
    return in_steps(steps({80, 8400, 3675, 1000, 107205, kCarefulBlock}), kSuppressed);
  // Candidate n decays by all n before it, each a second division and no tests of unused places. Those that are left
  // are merged by score, sixteen levels of a comparison that is not foreseen every second time.
  if (row == "MatrixNms 3600 x 80")
    return in_steps(
        steps({80, 3600, 900, 500, 80 * 500 * 250.0 / 16, kBlock + 4 * 5}) + 80 * 500 * 16 * kUnforeseen / 2,
        "every pair of 500 candidates, all that are left sorted");
  if (row == "DetectionOutput 1917 x 91")
    // Scores are put class by class; 80 classes' kept boxes of 5148 are parted once more.
    return in_steps(1917 * kRefined + 2 * 1917 * 91 + steps({90, 1917, 839, 400, 53108}) + 5148 * 3 * kUnforeseen / 2,
                    kRefinedToo);
  if (row == "Proposal 14 x 14 x 9 x 16")
    return in_steps(38 * 63 * 9 * kRefined + steps({1, 38 * 63 * 9, 38 * 63 * 9, 6000, 5407, kCarefulBlock}),
                    kRefinedToo);
  if (row == "GenerateProposals 200 x 304 x 3")
    return in_steps(
        200 * 304 * 3 * kRefined + steps({1, 200 * 304 * 3, 32000 + 200 * 304 * 3 / 16.0, 2000, 31403, kCarefulBlock}),
        kRefinedToo);
  if (row == "GenerateProposalsSingleImage 50 x 76 x 15")
    return in_steps(50 * 76 * 15 * kRefined + steps({1, 50 * 76 * 15, 50 * 76 * 15, 6000, 87343, kCarefulBlock}),
                    kRefinedToo);
  if (row == "ExperimentalDetectronDetectionOutput 1000 x 81")
    // Four divisions and a branch nobody foresees for each score; half of the roots of fourths are above the threshold.
    return in_steps(81 * 1000 * (kSeen + kUnforeseen / 2) + 52871 * (kRefined + 4 * 4) +
                        steps({80, 0, 661, 661, 53016, kCarefulBlock}),
                    kRefinedToo);
  if (row == "TopKROIs 4000, 1000")
    return in_steps(steps({1, 4000, 4000, 1000, 0}) + 1000 * 4, "scores parted and sorted by digits, boxes copied");
  // Of few among many a part of sixteen times as many gives a bound, which about a sixteenth of all pass.
  if (row == "TopKROIs 300000, 1000")
    return in_steps(steps({1, 300000, 16000 + 300000 / 16.0, 1000, 0}) + 1000 * 4,
                    "scores compared with a bound, those above it parted and sorted by digits, boxes copied");
  if (row == "Unique 100k")
    return in_steps(100000 * 30, "ranks, digits sorted by counting, groups, and four results each");
  if (row == "DeformablePSROIPooling 300, 81 x 7 x 7")
    // In f64: two coordinates, four elements from rows of their own, nine operations that wait for each other in part.
    return in_steps(300.0 * 8 * 49 * (16 * 18 + 60), "sixteen points of a bin, four taps each, in f64, one by one");
  return {};
}

}  // namespace terroir::bench
