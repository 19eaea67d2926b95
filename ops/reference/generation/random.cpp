#include "ops/reference/generation/random.hpp"

#include "ops/reference/control_flow/iteration.hpp"

namespace terroir::ops::reference {
namespace {

std::array<uint32_t, 4> philox_4x32_10(uint64_t key, uint64_t counter, uint64_t block_number) {
  auto key_low = static_cast<uint32_t>(key);
  auto key_high = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> x = {static_cast<uint32_t>(block_number), static_cast<uint32_t>(block_number >> 32),
                               static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key_low, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ key_high, static_cast<uint32_t>(a)};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return x;
}

}  // namespace

RandomWords::RandomWords(RandomAlignment alignment, uint64_t global_seed, uint64_t op_seed, int64_t numbers)
    : alignment_(alignment), key_(global_seed), counter_(op_seed) {
  constexpr uint64_t kBlocksPerNumber = 256, kSeedsApart = 0x9E3779B9;
  if (global_seed == 0 && op_seed == 0) {
    std::random_device device;
    key_ = uint64_t{device()} << 32 | device();
    counter_ = uint64_t{device()} << 32 | device();
  } else if (is_numbered()) {
    block_number_ = drawn_before({global_seed, op_seed}, static_cast<uint64_t>(numbers)) * kBlocksPerNumber;
  }
  if (!is_numbered()) twister_.seed(static_cast<uint32_t>(key_ + current_iteration() * kSeedsApart));
}

uint32_t RandomWords::next() {
  if (alignment_ == RandomAlignment::pytorch) return static_cast<uint32_t>(twister_());
  if (used_ == block_.size()) {
    block_ = philox_4x32_10(key_, counter_, block_number_++);
    used_ = 0;
  }
  return block_[used_++];
}

void RandomWords::skip(uint64_t words) {
  if (!is_numbered()) return twister_.discard(words);
  for (; words > 0 && used_ < block_.size(); --words) ++used_;
  block_number_ += words / block_.size();
  for (uint64_t i = 0; i < words % block_.size(); ++i) next();
}

}  // namespace terroir::ops::reference
