#include "plugins/cpu/kernels/copy/copy_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace terroir::cpu {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

// Words at any address, over data of any type: what memcpy of a constant size compiles to.
template <class W>
W load(const char* src) {
  W word;
  std::memcpy(&word, src, sizeof(W));
  return word;
}
template <class W>
void store(char* dst, W word) {
  std::memcpy(dst, &word, sizeof(W));
}

template <class W>
struct Tag {};

/// fn(Tag of the word of this size); false when there is none.
template <class Fn>
bool with_word(int64_t unit, Fn&& fn) {
  switch (unit) {
    case 1:
      fn(Tag<uint8_t>{});
      return true;
    case 2:
      fn(Tag<uint16_t>{});
      return true;
    case 4:
      fn(Tag<uint32_t>{});
      return true;
    case 8:
      fn(Tag<uint64_t>{});
      return true;
    case 16:
      fn(Tag<Bytes16>{});
      return true;
    default:
      return false;
  }
}

/// Up to 64 bytes by words that may overlap: far cheaper than a call for so little.
inline void copy_unit(const char* src, char* dst, int64_t unit) {
  const auto ends = [&]<class W>(Tag<W>) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(W));
    const W first = load<W>(src), last = load<W>(src + unit - kSize);
    store(dst, first);
    store(dst + unit - kSize, last);
  };
  if (unit > 64) {
    std::memcpy(dst, src, static_cast<size_t>(unit));
  } else if (unit >= 16) {
    for (int64_t at = 0; at + 16 < unit; at += 16) store(dst + at, load<Bytes16>(src + at));
    store(dst + unit - 16, load<Bytes16>(src + unit - 16));
  } else if (unit >= 8) {
    ends(Tag<uint64_t>{});
  } else if (unit >= 4) {
    ends(Tag<uint32_t>{});
  } else if (unit >= 2) {
    ends(Tag<uint16_t>{});
  } else if (unit == 1) {
    *dst = *src;
  }
}

/// A step known to the compiler becomes shuffles of vectors.
template <int64_t kStep, class W>
void gather_words(const char* src, char* dst, int64_t count) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(W));
  for (int64_t i = 0; i < count; ++i) store(dst + i * kSize, load<W>(src + i * kStep * kSize));
}

template <class W>
void copy_words(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t count) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(W));
  if (dst_step == kSize && src_step % kSize == 0) {
    switch (src_step / kSize) {
      case -1:
        return gather_words<-1, W>(src, dst, count);
      case 2:
        return gather_words<2, W>(src, dst, count);
      case 3:
        return gather_words<3, W>(src, dst, count);
      case 4:
        return gather_words<4, W>(src, dst, count);
      default:
        break;
    }
  }
  for (int64_t i = 0; i < count; ++i) store(dst + i * dst_step, load<W>(src + i * src_step));
}

/// kCount vectors of N lanes as one sequence, shuffled like a deck of cards: element p goes to 2 p modulo kCount N - 1.
/// log2 N times are N p, so element c of group i goes from i kCount + c to c N + i: each place of the groups gets a
/// vector of its own. Backwards, it is the way home.
template <class T, int kCount>
struct Deck {
  typedef T Vector __attribute__((vector_size(16)));
  static constexpr int kLanes = 16 / static_cast<int>(sizeof(T));

  /// Halves of two vectors, lane by lane in turn.
  template <int kFirst, int kSecond, int... kLane>
  static Vector zip(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(
        a, b, (kLane % 2 ? kLanes + kSecond * kLanes / 2 + kLane / 2 : kFirst * kLanes / 2 + kLane / 2)...);
  }
  /// Every second lane of two vectors, one behind the other.
  template <int kFirst, int kSecond, int... kLane>
  static Vector unzip(Vector a, Vector b, std::integer_sequence<int, kLane...>) {
    return __builtin_shufflevector(
        a, b, (kLane < kLanes / 2 ? 2 * kLane + kFirst : kLanes + 2 * (kLane - kLanes / 2) + kSecond)...);
  }

  template <int... kAt>
  static void shuffle(Vector (&v)[kCount], std::integer_sequence<int, kAt...>) {
    constexpr std::make_integer_sequence<int, kLanes> kAll;
    const Vector out[] = {zip<kAt % 2, (kAt + kCount) % 2>(v[kAt / 2], v[(kAt + kCount) / 2], kAll)...};
    for (int i = 0; i < kCount; ++i) v[i] = out[i];
  }
  template <int... kAt>
  static void unshuffle(Vector (&v)[kCount], std::integer_sequence<int, kAt...>) {
    constexpr std::make_integer_sequence<int, kLanes> kAll;
    const Vector out[] = {
        unzip<(2 * kAt >= kCount), (2 * kAt + 1 >= kCount)>(v[2 * kAt % kCount], v[(2 * kAt + 1) % kCount], kAll)...};
    for (int i = 0; i < kCount; ++i) v[i] = out[i];
  }

  /// Row c of `rows` gets element c of each group of kCount, or gives it.
  template <bool kToRows>
  static void run(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t groups) {
    constexpr int64_t kSize = sizeof(T);
    constexpr std::make_integer_sequence<int, kCount> kAll;
    int64_t g = 0;
    for (; g + kLanes <= groups; g += kLanes) {
      Vector v[kCount];
      for (int i = 0; i < kCount; ++i)
        v[i] = load<Vector>(kToRows ? src + g * kCount * kSize + i * 16 : src + i * src_step + g * kSize);
      for (int stage = 1; stage < kLanes; stage *= 2) {
        if constexpr (kToRows)
          shuffle(v, kAll);
        else
          unshuffle(v, kAll);
      }
      for (int i = 0; i < kCount; ++i)
        store(kToRows ? dst + i * dst_step + g * kSize : dst + g * kCount * kSize + i * 16, v[i]);
    }
    for (; g < groups; ++g) {
      for (int64_t i = 0; i < kCount; ++i) {
        const int64_t in_group = (g * kCount + i) * kSize;
        store(kToRows ? dst + i * dst_step + g * kSize : dst + in_group,
              load<T>(kToRows ? src + in_group : src + i * src_step + g * kSize));
      }
    }
  }
};

/// Below this, an axis is walked, or woven, rather than cut into squares.
constexpr int64_t kFew = 8;

/// Groups of `count` words, 1 < count < kFew, to as many rows or from them.
template <bool kToRows, class W>
void run_deck(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t count, int64_t groups) {
  switch (count) {
    case 2:
      return Deck<W, 2>::template run<kToRows>(src, src_step, dst, dst_step, groups);
    case 3:
      return Deck<W, 3>::template run<kToRows>(src, src_step, dst, dst_step, groups);
    case 4:
      return Deck<W, 4>::template run<kToRows>(src, src_step, dst, dst_step, groups);
    case 5:
      return Deck<W, 5>::template run<kToRows>(src, src_step, dst, dst_step, groups);
    case 6:
      return Deck<W, 6>::template run<kToRows>(src, src_step, dst, dst_step, groups);
    default:
      return Deck<W, 7>::template run<kToRows>(src, src_step, dst, dst_step, groups);
  }
}

/// A square of 16-byte rows, transposed by a network of perfect shuffles.
template <class T>
struct Square {
  typedef T Vector __attribute__((vector_size(16)));
  static constexpr int64_t kSide = 16 / static_cast<int64_t>(sizeof(T));

  template <int... kLane>
  static void shuffle(Vector (&rows)[kSide], std::integer_sequence<int, kLane...>) {
    constexpr int kHalf = static_cast<int>(kSide) / 2, kAll = static_cast<int>(kSide);
    Vector out[kSide];
    for (int i = 0; i < kHalf; ++i) {
      const Vector a = rows[i], b = rows[i + kHalf];
      out[2 * i] = __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kAll)...);
      out[2 * i + 1] = __builtin_shufflevector(a, b, (kHalf + kLane / 2 + kLane % 2 * kAll)...);
    }
    for (int i = 0; i < kAll; ++i) rows[i] = out[i];
  }

  static void transpose(Vector (&rows)[kSide]) {
    for (int64_t stage = 1; stage < kSide; stage *= 2)
      shuffle(rows, std::make_integer_sequence<int, static_cast<int>(kSide)>());
  }

  static void transpose(const char* src, int64_t src_step, char* dst, int64_t dst_step) {
    Vector rows[kSide];
    for (int64_t r = 0; r < kSide; ++r) rows[r] = load<Vector>(src + r * src_step);
    transpose(rows);
    for (int64_t c = 0; c < kSide; ++c) store(dst + c * dst_step, rows[c]);
  }
};

template <class T>
void copy_squares(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t rows, int64_t columns) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kSide = Square<T>::kSide, kBand = 64 / kSize;  // a cache line of the source at once
  for (int64_t c0 = 0; c0 < columns; c0 += kBand) {
    const int64_t band_end = std::min(columns, c0 + kBand);
    for (int64_t r = 0; r < rows; r += kSide) {
      const int64_t height = std::min(kSide, rows - r);
      int64_t c = c0;
      for (; height == kSide && c + kSide <= band_end; c += kSide)
        Square<T>::transpose(src + r * src_step + c * kSize, src_step, dst + c * dst_step + r * kSize, dst_step);
      for (; c < band_end; ++c)
        copy_units(src + r * src_step + c * kSize, src_step, dst + c * dst_step + r * kSize, kSize, kSize, height);
    }
  }
}

/// Columns of the source whose rows are side by side in the destination. Where these do not begin with cache lines, a
/// tile in the first cache is copied on in one go: its pieces would each read the lines that they share.
constexpr int64_t kStagedWords = 4096, kMostStaged = 256;

void copy_staged(const char* src, int64_t src_step, char* dst, int64_t rows, int64_t columns, Transpose4 transpose) {
  constexpr int64_t kLine = 16;
  alignas(64) float tile[kStagedWords];
  const int64_t step = kStagedWords / rows / kLine * kLine;
  for (int64_t c = 0; c < columns; c += step) {
    const int64_t n = std::min(step, columns - c);
    transpose(reinterpret_cast<const float*>(src + 4 * c), src_step / 4, tile, rows, rows, n, rows);
    std::memcpy(dst + 4 * c * rows, tile, static_cast<size_t>(4 * n * rows));
  }
}

// Of strided reads that come again to the same cache lines for the next column.
constexpr int64_t kChunkBytes = 16384;
// Of filling, where the way that it is done pays.
constexpr int64_t kLongRun = 4096;
// Borders of rows: a call that keeps registers would store more than they do.
constexpr int64_t kFewWords = 4;

template <class W>
inline void copy_few(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i, src += src_step, dst += dst_step) store(dst, load<W>(src));
}

__attribute__((noinline, noclone)) void copy_spread(const char* src, int64_t src_step, char* dst, int64_t dst_step,
                                                    int64_t unit, int64_t count) {
  if (!with_word(unit, [&]<class W>(Tag<W>) { copy_words<W>(src, src_step, dst, dst_step, count); }))
    for (int64_t i = 0; i < count; ++i) copy_unit(src + i * src_step, dst + i * dst_step, unit);
}

__attribute__((noinline, noclone)) void repeat_often(const char* src, char* dst, int64_t unit, int64_t count) {
  const int64_t bytes = unit * count;
  // memset fills long runs without reading the lines that it writes.
  const auto is_one_byte = [&] { return std::memcmp(src, src + 1, static_cast<size_t>(unit - 1)) == 0; };
  if (unit == 1 || (bytes >= kLongRun && is_one_byte())) {
    std::memset(dst, *reinterpret_cast<const unsigned char*>(src), static_cast<size_t>(bytes));
    return;
  }
  const auto fill = [&]<class W>(Tag<W>) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(W));
    const W value = load<W>(src);
    for (int64_t i = 0; i < count; ++i) store(dst + i * kSize, value);
  };
  if (with_word(unit, fill)) return;
  // Once from the source, then ever longer runs of what is there already, until they are long enough.
  copy_unit(src, dst, unit);
  int64_t run = unit;
  for (int64_t done = unit; done < bytes; done += std::min(run, bytes - done)) {
    if (run < kLongRun) run = done;
    copy_unit(dst, dst + done, std::min(run, bytes - done));
  }
}

}  // namespace

void copy_units(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t unit, int64_t count) noexcept {
  if (count <= 0) return;
  if (dst_step == unit && src_step == unit) return copy_unit(src, dst, unit * count);
  if (unit == 4 && count <= kFewWords) return copy_few<uint32_t>(src, src_step, dst, dst_step, count);
  if (dst_step == unit && src_step == 0) return repeat_unit(src, dst, unit, count);
  copy_spread(src, src_step, dst, dst_step, unit, count);
}

void repeat_unit(const char* src, char* dst, int64_t unit, int64_t count) noexcept {
  if (unit == 4 && count <= kFewWords) return copy_few<uint32_t>(src, 0, dst, 4, count);
  repeat_often(src, dst, unit, count);
}

void copy_indexed(const char* src, const int64_t* sources, char* dst, int64_t unit, int64_t count) noexcept {
  const auto words = [&]<class W>(Tag<W>) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(W));
    for (int64_t i = 0; i < count; ++i) store(dst + i * kSize, load<W>(src + sources[i]));
  };
  if (with_word(unit, words)) return;
  for (int64_t i = 0; i < count; ++i) copy_unit(src + sources[i], dst + i * unit, unit);
}

void copy_tile(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t unit, int64_t rows,
               int64_t columns, const TileKernels& kernels) noexcept {
  if (kernels.split && unit == 1 && columns == 3 && src_step == 3) {
    kernels.split(reinterpret_cast<const uint8_t*>(src), reinterpret_cast<uint8_t*>(dst), dst_step, rows);
  } else if (1 < columns && columns < kFew && src_step == columns * unit) {
    with_word(unit, [&]<class W>(Tag<W>) {
      if constexpr (std::is_integral_v<W>) run_deck<true, W>(src, 0, dst, dst_step, columns, rows);
    });
  } else if (columns < kFew) {
    const int64_t chunk = std::max<int64_t>(1, kChunkBytes / (unit * columns));
    for (int64_t r = 0; r < rows; r += chunk)
      for (int64_t c = 0; c < columns; ++c)
        copy_units(src + r * src_step + c * unit, src_step, dst + c * dst_step + r * unit, unit, unit,
                   std::min(chunk, rows - r));
  } else if (1 < rows && rows < kFew && dst_step == rows * unit) {
    with_word(unit, [&]<class W>(Tag<W>) {
      if constexpr (std::is_integral_v<W>) run_deck<false, W>(src, src_step, dst, 0, rows, columns);
    });
  } else if (rows < kFew) {
    for (int64_t r = 0; r < rows; ++r) copy_units(src + r * src_step, unit, dst + r * unit, dst_step, unit, columns);
  } else if (unit == 4 && kernels.transpose && src_step % 4 == 0 && dst_step % 4 == 0) {
    // 16: rows of whole cache lines.
    if (dst_step == rows * unit && rows % 16 != 0 && rows <= kMostStaged)
      copy_staged(src, src_step, dst, rows, columns, kernels.transpose);
    else
      kernels.transpose(reinterpret_cast<const float*>(src), src_step / 4, reinterpret_cast<float*>(dst), dst_step / 4,
                        rows, columns, rows);
  } else {
    with_word(unit, [&]<class W>(Tag<W>) {
      if constexpr (std::is_integral_v<W>) copy_squares<W>(src, src_step, dst, dst_step, rows, columns);
    });
  }
}

void transpose_quads(const char* const* src, int64_t src_step, char* const* dst, int64_t dst_step, int64_t squares,
                     int64_t count) noexcept {
  using Words = Square<uint32_t>;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t at = 0; at < 4 * squares; at += 4) {
      Words::Vector rows[4];
      for (int k = 0; k < 4; ++k) rows[k] = load<Words::Vector>(src[at + k] + i * src_step);
      Words::transpose(rows);
      for (int j = 0; j < 4; ++j) store(dst[at + j] + i * dst_step, rows[j]);
    }
}

}  // namespace terroir::cpu
