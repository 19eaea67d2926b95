#pragma once
// What: the two generators of 32-bit random words that models ask for by name of a framework.
// Formula: tensorflow: Philox 4x32 with 10 rounds, key = global seed, counter = (block number, op seed). pytorch:
// Mersenne Twister 19937, seeded with the global seed.
// Edge cases: both seeds 0 mean another sequence each time. In a loop, every iteration draws other numbers: it begins
// at block 256 * (numbers that the iterations before have drawn), as OpenVINO's CPU device goes on from run to run, or
// with a seed of its own for the twister.
// Source: operation page RandomUniform-8; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
#include <array>
#include <cstdint>
#include <random>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

enum class RandomAlignment { tensorflow, pytorch };

class RandomWords {
 public:
  /// For a layer that draws so many numbers at once, in the iteration that it runs in.
  RandomWords(RandomAlignment alignment, uint64_t global_seed, uint64_t op_seed, int64_t numbers);

  uint32_t next();
  /// As so many calls of next(): at once for Philox, whose blocks are numbered.
  void skip(uint64_t words);
  RandomAlignment alignment() const { return alignment_; }
  /// Whether skip() costs nothing, so that parts of a sequence can be drawn on their own.
  bool is_numbered() const { return alignment_ == RandomAlignment::tensorflow; }
  /// The first word in the upper half.
  uint64_t next_pair() {
    const uint64_t high = next();
    return high << 32 | next();
  }

 private:
  RandomAlignment alignment_;
  uint64_t key_, counter_;
  uint64_t block_number_ = 0;
  std::array<uint32_t, 4> block_{};
  size_t used_ = 4;
  std::mt19937 twister_;
};

/// All elements, from the next words on: those of one number make up a part of the range from `low` to below `high`.
/// Threads: ranges of elements, where the words are numbered.
void fill_random_reals(const RandomWords& words, double low, double high, const ir::MutableTensorView& dst);
void fill_random_integers(const RandomWords& words, int64_t low, int64_t high, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
