#include "ops/reference/sort/radix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace terroir::ops::reference {
namespace {

template <class Key>
using RankOf = decltype(rank_of(Key{}));

/// One pass counts the values of all digits.
template <class Key>
Key* sort_by_bytes(Key* keys, Key* spare, int64_t n) {
  constexpr size_t kDigits = sizeof(RankOf<Key>), kValues = 256;
  std::array<std::array<uint32_t, kValues>, kDigits> counts{};
  for (int64_t i = 0; i < n; ++i) {
    RankOf<Key> rank = rank_of(keys[i]);
#pragma GCC unroll 8
    for (size_t d = 0; d < kDigits; ++d, rank >>= 8) ++counts[d][rank & 0xff];
  }
  for (size_t d = 0; d < kDigits; ++d) {
    const size_t shift = 8 * d;
    const auto digit = [shift](const Key& key) { return static_cast<size_t>(rank_of(key) >> shift & 0xff); };
    if (counts[d][digit(keys[0])] == static_cast<uint64_t>(n)) continue;  // one value everywhere
    uint32_t begin = 0;
    for (uint32_t& count : counts[d]) begin += std::exchange(count, begin);
    for (int64_t i = 0; i < n; ++i) spare[counts[d][digit(keys[i])]++] = keys[i];
    std::swap(keys, spare);
  }
  return keys;
}

/// Only bits that differ count, in digits so wide that sums over their values pay only for many keys.
template <class Key>
[[gnu::noinline]] Key* sort_by_wide_digits(Key* keys, Key* spare, int64_t n) {
  using Rank = RankOf<Key>;
  Rank any = 0, all = ~Rank{0};
  for (int64_t i = 0; i < n; ++i) {
    any |= rank_of(keys[i]);
    all &= rank_of(keys[i]);
  }
  const Rank differing = any ^ all;
  if (differing == 0) return keys;
  constexpr int kWidest = 11;
  const int lowest = std::countr_zero(differing), bits = static_cast<int>(std::bit_width(differing)) - lowest;
  const int passes = (bits + kWidest - 1) / kWidest, width = (bits + passes - 1) / passes;
  const Rank mask = (Rank{1} << width) - 1;
  std::array<uint32_t, 1 << kWidest> counts;
  for (int shift = lowest; shift < lowest + bits; shift += width) {
    if ((differing >> shift & mask) == 0) continue;
    const auto digit = [=](const Key& key) { return static_cast<size_t>(rank_of(key) >> shift & mask); };
    std::fill_n(counts.begin(), mask + 1, 0);
    for (int64_t i = 0; i < n; ++i) ++counts[digit(keys[i])];
    uint32_t begin = 0;
    for (size_t value = 0; value <= mask; ++value) begin += std::exchange(counts[value], begin);
    for (int64_t i = 0; i < n; ++i) spare[counts[digit(keys[i])]++] = keys[i];
    std::swap(keys, spare);
  }
  return keys;
}

template <class Key>
Key* sort_keys(Key* keys, Key* spare, int64_t n) {
  // So few that counting 256 values of each digit would cost more.
  constexpr int64_t kFew = 64;
  if (n <= kFew) {
    for (int64_t i = 1; i < n; ++i) {
      const Key key = keys[i];
      int64_t at = i;
      for (; at > 0 && rank_of(keys[at - 1]) > rank_of(key); --at) keys[at] = keys[at - 1];
      keys[at] = key;
    }
    return keys;
  }
  return n < 2560 ? sort_by_bytes(keys, spare, n) : sort_by_wide_digits(keys, spare, n);
}

/// The one that would be at `k` if the ranks were sorted; k becomes its place among those that equal it.
template <class Rank>
Rank rank_at(const Rank* ranks, Rank* candidates, int64_t n, int64_t& k) {
  constexpr int kBits = 8 * sizeof(Rank), kDigit = 11, kTop = (kBits - 1) / kDigit * kDigit;
  for (int shift = kTop; shift >= 0; shift -= kDigit) {
    constexpr Rank kMask = (1 << kDigit) - 1;
    std::array<uint32_t, kMask + 1> counts{};
    for (int64_t i = 0; i < n; ++i) ++counts[ranks[i] >> shift & kMask];
    size_t wanted = 0;
    for (; k >= counts[wanted]; ++wanted) k -= counts[wanted];
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Rank rank = ranks[i];
      candidates[kept] = rank;
      kept += (rank >> shift & kMask) == wanted;
    }
    ranks = candidates;
    n = kept;
  }
  return ranks[0];
}

template <class Rank, class Key>
void find_lowest(const Rank* ranks, Rank* spare, int64_t n, int64_t k, Key* keys) {
  if (k == n) {
    for (int64_t i = 0; i < n; ++i) keys[i] = ranked(ranks[i], static_cast<uint32_t>(i));
    return;
  }
  int64_t last = k - 1;
  const Rank bound = rank_at(ranks, spare, n, last);
  int64_t kept = 0, equals = last + 1;
  for (int64_t i = 0; kept < k; ++i) {
    const Rank rank = ranks[i];
    const bool equal = (rank == bound) & (equals > 0);
    keys[kept] = ranked(rank, static_cast<uint32_t>(i));
    kept += (rank < bound) | equal;
    equals -= equal;
  }
}

}  // namespace

#pragma GCC push_options
#pragma GCC optimize("O3")
void rank_floats(const float* values, int64_t n, uint32_t flip, uint32_t* ranks) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = values[i] + 0.0f;
    const auto bits = __builtin_bit_cast(int32_t, x);
    const auto rank = static_cast<uint32_t>(bits ^ (bits >> 31 | INT32_MIN));
    ranks[i] = (x != x ? UINT32_MAX : rank) ^ flip;
  }
}
#pragma GCC pop_options

uint64_t* sort_by_rank(uint64_t* keys, uint64_t* spare, int64_t n) { return n > 1 ? sort_keys(keys, spare, n) : keys; }
WideKey* sort_by_rank(WideKey* keys, WideKey* spare, int64_t n) { return n > 1 ? sort_keys(keys, spare, n) : keys; }

void lowest_keys(const uint32_t* ranks, uint32_t* spare, int64_t n, int64_t k, uint64_t* keys) {
  find_lowest(ranks, spare, n, k, keys);
}
void lowest_keys(const uint64_t* ranks, uint64_t* spare, int64_t n, int64_t k, WideKey* keys) {
  find_lowest(ranks, spare, n, k, keys);
}

}  // namespace terroir::ops::reference
