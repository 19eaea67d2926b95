#pragma once
// What: the two generators of 32-bit random words that models ask for by name of a framework.
// Formula: tensorflow: Philox 4x32 with 10 rounds, key = global seed, counter = (block number, op seed). pytorch:
// Mersenne Twister 19937, seeded with the global seed.
// Edge cases: both seeds 0 mean another sequence each time.
// Source: operation page RandomUniform-8; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
#include <array>
#include <cstdint>
#include <random>

namespace terroir::ops::reference {

enum class RandomAlignment { tensorflow, pytorch };

class RandomWords {
 public:
  RandomWords(RandomAlignment alignment, uint64_t global_seed, uint64_t op_seed);

  uint32_t next();
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

}  // namespace terroir::ops::reference
