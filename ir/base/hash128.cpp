#include "ir/base/hash128.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace terroir {
namespace {

__extension__ using Wide = unsigned __int128;
using Pair [[gnu::vector_size(16)]] = uint64_t;

constexpr size_t kPairs = 4;
constexpr size_t kRound = kPairs * sizeof(Pair);
constexpr size_t kRoundsToScramble = 16;
constexpr size_t kAhead = 2048;  // what is fetched early; the processor itself stops at the end of each page
// Random odd numbers, as many bits set as not.
constexpr std::array<uint64_t, 2 * kPairs> kKeys = {0x9e3779b97f4a7c15U, 0xd1b54a32d192ed03U, 0xa3b195354a39b70dU,
                                                    0x1b03738712fad5c9U, 0xe7037ed1a0b428dbU, 0x8ebc6af09c88c6e3U,
                                                    0x589965cc75374cc3U, 0x1d8e4e27c47d124fU};
constexpr Pair kStep = {0xd6e8feb86659fd93U, 0xcaf649a9b2a3d5e1U};

/// The products of the halves of each element.
Pair products(Pair x) noexcept {
#if defined(__SSE2__)
  using Words [[gnu::vector_size(16)]] = int;  // the compiler does not see that half the product is zero
  return (Pair)__builtin_ia32_pmuludq128((Words)x, (Words)(x >> 32));
#else
  return (x & 0xffffffffU) * (x >> 32);
#endif
}

uint64_t fold(uint64_t a, uint64_t b) noexcept {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

struct State {
  std::array<Pair, kPairs> sums, keys;

  explicit State(uint64_t seed) noexcept {
    for (size_t i = 0; i < kPairs; ++i) {
      keys[i] = Pair{kKeys[2 * i] + seed, kKeys[2 * i + 1] - seed};
      sums[i] = Pair{kKeys[2 * i + 1], kKeys[2 * i]};
    }
  }

  void take(const unsigned char* from) noexcept {
    for (size_t i = 0; i < kPairs; ++i) {
      Pair x;
      std::memcpy(&x, from + i * sizeof x, sizeof x);
      const Pair swapped = {x[1], x[0]};
      sums[i] += swapped + products(x ^ keys[i]);
      keys[i] += kStep;  // so that rounds cannot be exchanged
    }
  }

  void scramble() noexcept {
    for (size_t i = 0; i < kPairs; ++i) sums[i] = ((sums[i] ^ (sums[i] >> 47)) ^ keys[i]) * 0x9e3779b1U;
  }
};

}  // namespace

Hash128 hash128(const void* data, size_t bytes, uint64_t seed) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  State state(seed);
  size_t rounds = bytes / kRound;
  while (rounds > 0) {
    const size_t now = std::min(rounds, kRoundsToScramble);
    for (size_t i = 0; i < now; ++i, at += kRound) {
      __builtin_prefetch(at + kAhead);
      state.take(at);
    }
    state.scramble();
    rounds -= now;
  }
  if (const size_t rest = bytes % kRound; rest > 0) {
    std::array<unsigned char, kRound> last{};
    std::memcpy(last.data(), at, rest);
    state.take(last.data());
  }
  state.scramble();
  Hash128 hash{bytes, ~static_cast<uint64_t>(bytes)};
  for (size_t i = 0; i < kPairs; ++i) {
    const Pair sum = state.sums[i];
    hash.low = fold(hash.low ^ sum[0], kKeys[i] ^ sum[1]) + hash.high;
    hash.high = fold(hash.high ^ sum[1], kKeys[7 - i] + sum[0]) ^ hash.low;
  }
  return {fold(hash.low ^ kKeys[2], hash.high ^ kKeys[3]) ^ hash.low,
          fold(hash.high ^ kKeys[6], hash.low + kKeys[7]) ^ hash.high};
}

std::string Hash128::text() const {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string digits;
  for (const uint64_t half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) digits += kDigits[(half >> shift) & 15];
  return digits;
}

}  // namespace terroir
