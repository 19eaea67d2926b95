#include <algorithm>
#include <limits>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/generation/random.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

/// In [0, 1). Philox fills the mantissa of a number in [1, 2), the twister scales an integer of one bit more.
template <class T>
double unit(RandomWords& words) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr bool kPair = kDigits > 32;
  const int bits = words.alignment() == RandomAlignment::pytorch ? kDigits : kDigits - 1;
  const uint64_t word = kPair ? words.next_pair() : words.next();
  return static_cast<double>(word & ((uint64_t{1} << bits) - 1)) / static_cast<double>(uint64_t{1} << bits);
}

/// out[i] = number(words) for all i, each from `words_each` words.
template <class T, class Number>
void fill(const RandomWords& words, uint64_t words_each, T* out, int64_t count, const Number& number) {
  constexpr int64_t kTogether = 16384;
  parallel_ranges(count, words.is_numbered() ? kTogether : std::max<int64_t>(count, 1),
                  [&](int64_t begin, int64_t end) {
                    RandomWords mine = words;
                    mine.skip(static_cast<uint64_t>(begin) * words_each);
                    for (int64_t i = begin; i < end; ++i) out[i] = number(mine);
                  });
}

template <class T>
void fill_real(const RandomWords& all, double low, double high, T* out, int64_t count) {
  using C = compute_t<T>;
  const C width = static_cast<C>(high) - static_cast<C>(low);
  fill(all, std::numeric_limits<T>::digits > 32 ? 2 : 1, out, count, [&](RandomWords& words) {
    return static_cast<T>(static_cast<C>(unit<T>(words)) * width + static_cast<C>(low));
  });
}

template <class T>
void fill_integer(const RandomWords& all, int64_t low, int64_t high, T* out, int64_t count) {
  // A difference of 2^63 and more is right as a number without sign.
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  constexpr int64_t kWord = std::numeric_limits<uint32_t>::max();
  const bool one_word =
      sizeof(T) == 4 || (all.alignment() == RandomAlignment::pytorch && low <= kWord && high <= kWord);
  fill(all, one_word ? 1 : 2, out, count, [&](RandomWords& words) {
    uint64_t word = words.next();
    // TensorFlow puts the first word into the lower half, PyTorch into the upper one.
    if (!one_word) {
      const uint64_t second = words.next();
      word = words.alignment() == RandomAlignment::pytorch ? word << 32 | second : second << 32 | word;
    }
    return static_cast<T>(static_cast<uint64_t>(low) + word % width);
  });
}

}  // namespace

void fill_random_reals(const RandomWords& words, double low, double high, const ir::MutableTensorView& dst) {
  dispatch_type<TERROIR_FLOATS>(dst.type, "RandomUniform",
                                [&](auto tag) { fill_real(words, low, high, dst.as<decltype(tag)>(), dst.count()); });
}

void fill_random_integers(const RandomWords& words, int64_t low, int64_t high, const ir::MutableTensorView& dst) {
  dispatch_type<int32_t, int64_t>(dst.type, "RandomUniform", [&](auto tag) {
    fill_integer(words, low, high, dst.as<decltype(tag)>(), dst.count());
  });
}

}  // namespace terroir::ops::reference
