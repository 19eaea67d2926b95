#include "plugins/cpu/tile_operand.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/error.hpp"

namespace terroir::cpu {
namespace {

/// Calls fn with an unsigned integer as wide as an element.
template <class Fn>
void with_width(size_t width, Fn fn) {
  switch (width) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    default:
      return fn(uint64_t{});
  }
}

/// A call of memcpy costs more than a few elements.
template <class T>
void copy_run(const T* src, int64_t n, T* dst) {
  if (n * static_cast<int64_t>(sizeof(T)) >= 64) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
}

/// Elements done ... n - 1 as those before them, doubled from the first ones on: memcpy is vectorised wherever this is
/// compiled.
template <class T>
void repeat_run(T* dst, int64_t done, int64_t n) {
  for (; done < n; done *= 2) std::memcpy(dst + done, dst, static_cast<size_t>(std::min(done, n - done)) * sizeof(T));
}

template <class T>
constexpr int64_t kRun = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
void fill_run(T value, int64_t n, T* dst) {
  for (int64_t i = 0; i < std::min(n, kRun<T>); ++i) dst[i] = value;
  repeat_run(dst, kRun<T>, n);
}

/// `n` elements of src[0] ... src[period - 1] over and over, from src[phase] on.
template <class T>
void fill_periods(const T* src, int64_t period, int64_t phase, int64_t n, T* dst) {
  const int64_t first = (kRun<T> + period - 1) / period * period;
  for (int64_t i = 0; i < std::min(n, first); ++i) {
    dst[i] = src[phase];
    if (++phase == period) phase = 0;
  }
  repeat_run(dst, first, n);
}

}  // namespace

TileOperand::TileOperand(const ir::Dims& dims, const ir::Dims& result, size_t width) : width_(width) {
  TERROIR_ASSERT(dims.size() == result.size(), dims, result);
  whole_ = dims == result;
  single_ = ir::element_count(dims) == 1 && !whole_;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (result[i] == 1) continue;
    const bool varies = dims[i] != 1;
    if (!axes_.empty() && varies == (axes_.back().stride != 0))
      axes_.back().extent *= result[i];
    else
      axes_.push_back({result[i], varies ? stride : 0});
    if (varies) stride *= dims[i];
  }
  if (axes_.empty()) axes_.push_back({1, 0});
  std::reverse(axes_.begin(), axes_.end());
  TERROIR_ASSERT(axes_.size() <= kMaxAxes, axes_.size());
}

int64_t TileOperand::place(int64_t begin, std::array<int64_t, kMaxAxes>& at) const noexcept {
  int64_t element = 0;
  for (size_t k = axes_.size(); k-- > 0;) {
    at[k] = begin % axes_[k].extent;
    begin /= axes_[k].extent;
    element += at[k] * axes_[k].stride;
  }
  return element;
}

template <class T>
void TileOperand::expand_as(const T* src, int64_t begin, int64_t n, T* dst) const noexcept {
  const size_t last = axes_.size() - 1;
  std::array<int64_t, kMaxAxes> at{};
  int64_t offset = place(begin, at);
  // Few channels side by side, the same at every pixel: no run is long, but all are alike.
  const bool periodic =
      last > 0 && axes_[last].stride != 0 && axes_[last - 1].stride == 0 && axes_[last].extent <= kRun<T>;
  // A value per pixel, the same for all channels of a block.
  const bool spread =
      last > 0 && axes_[last].stride == 0 && axes_[last - 1].stride == 1 && axes_[last].extent == kRun<T>;
  while (n > 0) {
    if (periodic) {
      const int64_t period = axes_[last].extent, phase = at[last];
      const int64_t run = std::min((axes_[last - 1].extent - at[last - 1]) * period - phase, n);
      fill_periods(src + (offset - phase * axes_[last].stride), period, phase, run, dst);
      dst += run;
      n -= run;
      if (n == 0) return;
      // The whole axis before the last one is done.
      at[last] = 0;
      offset -= phase * axes_[last].stride;
      at[last - 1] = axes_[last - 1].extent;
      carry(at, offset, last - 1);
      continue;
    }
    if (spread && at[last] == 0 && n >= kRun<T>) {
      const int64_t count = std::min(axes_[last - 1].extent - at[last - 1], n / kRun<T>);
      for (int64_t i = 0; i < count; ++i, dst += kRun<T>) std::fill_n(dst, kRun<T>, src[offset + i]);
      n -= count * kRun<T>;
      offset += count;
      at[last - 1] += count;
      carry(at, offset, last - 1);
      continue;
    }
    const int64_t run = std::min(axes_[last].extent - at[last], n);
    if (axes_[last].stride != 0)
      copy_run(src + offset, run, dst);
    else
      fill_run(src[offset], run, dst);
    dst += run;
    n -= run;
    at[last] += run;
    offset += run * axes_[last].stride;
    carry(at, offset, last);
  }
}

void TileOperand::carry(std::array<int64_t, kMaxAxes>& at, int64_t& offset, size_t from) const noexcept {
  for (size_t k = from; k > 0 && at[k] == axes_[k].extent; --k) {
    offset += axes_[k - 1].stride - axes_[k].extent * axes_[k].stride;
    at[k] = 0;
    ++at[k - 1];
  }
}

TileOperand::Stretch TileOperand::stretch(int64_t begin, int64_t n) const noexcept {
  using Form = Stretch::Form;
  std::array<int64_t, kMaxAxes> at;
  const int64_t element = place(begin, at);
  const size_t last = axes_.size() - 1;
  const Axis& inner = axes_[last];
  const int64_t to_end = inner.extent - at[last];
  if (n <= to_end) return {inner.stride == 0 ? Form::constant : Form::contiguous, element, 0, begin + to_end};
  if (last == 0) return {};
  const int64_t to_outer_end = (axes_[last - 1].extent - at[last - 1]) * inner.extent - at[last];
  if (n > to_outer_end) return {};
  if (inner.stride != 0) return {Form::periodic, element, 0, begin + to_outer_end};
  if (at[last] != 0 || n % inner.extent != 0) return {};
  return {Form::rows, element, inner.extent, begin + to_outer_end};
}

void TileOperand::expand(const void* src, int64_t begin, int64_t n, void* dst) const noexcept {
  with_width(width_, [&](auto tag) {
    using T = decltype(tag);
    expand_as(static_cast<const T*>(src), begin, n, static_cast<T*>(dst));
  });
}

void fill_elements(const void* value, size_t width, int64_t n, void* dst) noexcept {
  with_width(width, [&](auto tag) {
    using T = decltype(tag);
    T element;
    std::memcpy(&element, value, sizeof(element));
    fill_run(element, n, static_cast<T*>(dst));
  });
}

}  // namespace terroir::cpu
