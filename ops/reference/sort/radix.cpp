#include "ops/reference/sort/radix.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace terroir::ops::reference {
namespace {

template <class Key>
using RankOf = decltype(rank_of(Key{}));

template <class Key>
Key* sort_keys(Key* keys, Key* spare, int64_t n) {
  constexpr size_t kDigits = sizeof(RankOf<Key>), kValues = 256;
  std::array<std::array<uint32_t, kValues>, kDigits> counts{};
  for (int64_t i = 0; i < n; ++i) {
    RankOf<Key> rank = rank_of(keys[i]);
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

/// The rank of the key that would be at `k` if the keys were sorted; k becomes its place among those of that rank.
/// The keys of `candidates` are lost.
template <class Key>
RankOf<Key> rank_at(const Key* keys, Key* candidates, int64_t n, int64_t& k) {
  constexpr int kBits = 8 * sizeof(RankOf<Key>), kDigit = 11, kTop = (kBits - 1) / kDigit * kDigit;
  for (int shift = kTop; shift >= 0; shift -= kDigit) {
    constexpr RankOf<Key> kMask = (1 << kDigit) - 1;
    std::array<uint32_t, kMask + 1> counts{};
    const auto digit = [shift](const Key& key) { return rank_of(key) >> shift & kMask; };
    for (int64_t i = 0; i < n; ++i) ++counts[digit(keys[i])];
    size_t wanted = 0;
    for (; k >= counts[wanted]; ++wanted) k -= counts[wanted];
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      candidates[kept] = key;
      kept += digit(key) == wanted;
    }
    keys = candidates;
    n = kept;
  }
  return rank_of(keys[0]);
}

template <class Key>
void keep_lowest_keys(Key* keys, Key* spare, int64_t n, int64_t k) {
  int64_t last = k - 1;
  const RankOf<Key> bound = rank_at(keys, spare, n, last);
  int64_t kept = 0, equals = last + 1;
  for (int64_t i = 0; kept < k; ++i) {
    const Key key = keys[i];
    const bool equal = (rank_of(key) == bound) & (equals > 0);
    keys[kept] = key;
    kept += (rank_of(key) < bound) | equal;
    equals -= equal;
  }
}

}  // namespace

uint64_t* sort_by_rank(uint64_t* keys, uint64_t* spare, int64_t n) { return n > 1 ? sort_keys(keys, spare, n) : keys; }
WideKey* sort_by_rank(WideKey* keys, WideKey* spare, int64_t n) { return n > 1 ? sort_keys(keys, spare, n) : keys; }

void keep_lowest(uint64_t* keys, uint64_t* spare, int64_t n, int64_t k) {
  if (k < n) keep_lowest_keys(keys, spare, n, k);
}
void keep_lowest(WideKey* keys, WideKey* spare, int64_t n, int64_t k) {
  if (k < n) keep_lowest_keys(keys, spare, n, k);
}

}  // namespace terroir::ops::reference
