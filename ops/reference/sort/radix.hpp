#pragma once
// What: sorts and selects elements by rank, an unsigned number in the order of their values, digit by digit and so
// without comparing them. Edge cases: NaN ranks above everything and all NaNs are equal, as are both zeros.
// Cost: linear, no branches to guess wrong: few keys are moved once for each byte that is not the same everywhere, many
// for up to 11 of the bits that differ.
// Source: D. E. Knuth, The Art of Computer Programming, volume 3, 5.2.5 (sorting by distribution).
#include <bit>
#include <compare>
#include <cstdint>
#include <type_traits>

#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {

/// Unsigned numbers in the order of the values, of 32 bits unless the type has more.
template <class T>
auto ascending_rank(T value) {
  using C = compute_t<T>;
  using Unsigned = std::conditional_t<sizeof(C) == 8, uint64_t, uint32_t>;
  constexpr Unsigned kSign = Unsigned{1} << (sizeof(Unsigned) * 8 - 1);
  if constexpr (std::is_floating_point_v<C>) {
    const C x = static_cast<C>(value) + C{0};  // -0 becomes 0
    const auto bits = std::bit_cast<Unsigned>(x);
    // All bits of negative numbers, by a shift: a branch on the sign is guessed wrong half of the time.
    const auto flip =
        static_cast<Unsigned>(static_cast<std::make_signed_t<Unsigned>>(bits) >> (8 * sizeof(C) - 1)) | kSign;
    return x != x ? static_cast<Unsigned>(~Unsigned{0}) : static_cast<Unsigned>(bits ^ flip);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Unsigned>(static_cast<Unsigned>(value) ^ kSign);
  } else {
    return static_cast<Unsigned>(value);
  }
}

/// ranks[i] = ascending_rank(values[i]) ^ flip, in vectors.
void rank_floats(const float* values, int64_t n, uint32_t flip, uint32_t* ranks);

/// A rank of 64 bits, and the position.
struct WideKey {
  uint64_t rank;
  uint32_t position;
  auto operator<=>(const WideKey&) const = default;
};

/// A rank and a position: in one word if the rank has 32 bits. Keys are in the order of their ranks, then of their
/// positions.
inline uint64_t ranked(uint32_t rank, uint32_t position) { return uint64_t{rank} << 32 | position; }
inline WideKey ranked(uint64_t rank, uint32_t position) { return {rank, position}; }
inline uint32_t rank_of(uint64_t key) { return static_cast<uint32_t>(key >> 32); }
inline uint64_t rank_of(const WideKey& key) { return key.rank; }
inline uint32_t position_of(uint64_t key) { return static_cast<uint32_t>(key); }
inline uint32_t position_of(const WideKey& key) { return key.position; }

/// The keys by rank, equal ones in the order they had; where they are now: `keys` or `spare`, which has as much room.
uint64_t* sort_by_rank(uint64_t* keys, uint64_t* spare, int64_t n);
WideKey* sort_by_rank(WideKey* keys, WideKey* spare, int64_t n);

/// The k keys of the lowest ranks, in the order of the positions; of equal ranks the first ones count. 0 < k <= n;
/// `spare` has room for n ranks.
void lowest_keys(const uint32_t* ranks, uint32_t* spare, int64_t n, int64_t k, uint64_t* keys);
void lowest_keys(const uint64_t* ranks, uint64_t* spare, int64_t n, int64_t k, WideKey* keys);

}  // namespace terroir::ops::reference
