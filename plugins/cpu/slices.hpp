// How finely work is cut that several threads share. Threads of rented machines are rarely equally fast, so what each
// of them is given is cut again, and who is done early takes over slices of the others.
#pragma once

#include <algorithm>
#include <cstdint>

namespace terroir::cpu {

/// Into how many slices to cut what takes one of several threads so many cycles: short enough that nobody waits long
/// for the last one, long enough that beginning one costs next to nothing.
inline int64_t slices_for(int64_t threads, double cycles) noexcept {
  constexpr double kCycles = 1e5;
  constexpr int64_t kMost = 16;
  return threads <= 1 ? 1 : std::clamp<int64_t>(static_cast<int64_t>(cycles / kCycles), 1, kMost);
}

/// Less than this is done before a second thread has begun.
inline constexpr double kCyclesToShare = 4000;

struct Stretch {
  int64_t begin, end;
};

/// The part `index` of `count` nearly equal ones; cuts lie at multiples of `unit` from the beginning.
inline Stretch part_of(Stretch all, int64_t index, int64_t count, int64_t unit = 1) noexcept {
  const int64_t units = (all.end - all.begin + unit - 1) / unit;
  return {all.begin + units * index / count * unit, std::min(all.end, all.begin + units * (index + 1) / count * unit)};
}

}  // namespace terroir::cpu
