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

/// Rows of the planes of images (a plane: one of an image's channel blocks), at most `most` to a task. Of fewer images
/// than threads each thread has its part of the rows of every plane, if that is not too little. Convolutions give it
/// the same part, so it reads what it wrote itself, and writes where nobody else has read: where two cores share no
/// cache, to write what the other one has read takes 20 times as long.
class RowTasks {
 public:
  RowTasks(int64_t images, int64_t planes, int64_t rows, int64_t most, int64_t threads) noexcept
      : planes_(rows > 0 ? images * planes : 0), rows_(rows) {
    constexpr int64_t kLeastShare = 8;  // of a task
    if (images < threads && planes_ > 1)
      parts_ = std::clamp<int64_t>(kLeastShare * rows / most, 1, std::min(threads, rows));
    per_part_ = std::max<int64_t>(1, (longest_part() + most - 1) / most);
  }
  int64_t count() const noexcept { return parts_ * planes_ * per_part_; }

  struct Rows {
    int64_t plane;  // of all images
    int64_t begin, end;
  };
  Rows operator[](int64_t task) const noexcept {
    const int64_t of_part = planes_ * per_part_, i = task % of_part;
    const Stretch rows = part_of(part_of({0, rows_}, task / of_part, parts_), i % per_part_, per_part_);
    return {i / per_part_, rows.begin, rows.end};
  }

 private:
  int64_t longest_part() const noexcept { return (rows_ + parts_ - 1) / parts_; }

  int64_t planes_, rows_, parts_ = 1, per_part_ = 1;
};

}  // namespace terroir::cpu
