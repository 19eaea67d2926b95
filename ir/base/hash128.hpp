#pragma once
// What: a hash of 128 bits over bytes, as fast as memory gives them; for finding what has been seen and for noticing
// damage. It is not cryptographic: who wants two texts of one hash can make them.
// Formula: eight accumulators of 64 bits take 64 bytes per round: each word x is added to its neighbour's, and with its
//   key k, that of the round, (x ^ k) mod 2^32 * ((x ^ k) / 2^32) to its own. After 16 rounds the accumulators are
//   scrambled. In the end products of 128 bits fold them and the length into two halves.
// Threads: any. Source: the accumulation is that of Y. Collet, XXH3 (github.com/Cyan4973/xxHash); keys and ends differ.
#include <cstddef>
#include <cstdint>
#include <string>

namespace terroir {

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
  /// 32 hexadecimal digits.
  std::string text() const;
};

Hash128 hash128(const void* data, size_t bytes, uint64_t seed = 0) noexcept;
inline Hash128 hash128(const std::string& text) noexcept { return hash128(text.data(), text.size()); }

}  // namespace terroir
