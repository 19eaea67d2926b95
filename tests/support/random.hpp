#pragma once
// What: random numbers for tests: splitmix64, one stream per seed, the same on every machine (the standard library's
// distributions are not).
// Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), section 4.
#include <cstddef>
#include <cstdint>

namespace terroir::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
  }
  /// In [0, bound); 0 for a bound of 0.
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(next() % bound); }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<size_t>(high - low + 1)));
  }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
  /// In [0, 1), a multiple of 2^-24.
  double unit() { return static_cast<double>(next() >> 40) / (1 << 24); }

 private:
  uint64_t state_;
};

}  // namespace terroir::test
