// What: Fourier transforms of one bucket: lines in and out. Contract: fft.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/fft/fft.hpp"
#include "plugins/cpu/kernels/fft/stages.hpp"
#include "plugins/cpu/simd/interleave.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

TERROIR_INLINE int64_t offset_of(const FftLines& lines, int64_t line) {
  return line / lines.inner * lines.outer_stride + line % lines.inner * lines.inner_stride;
}

// Lines [first, first + count) side by side in memory.
TERROIR_INLINE bool adjacent(const FftLines& lines, int64_t first, int64_t count, int64_t unit) {
  return lines.inner_stride == unit && first % lines.inner + count <= lines.inner;
}

TERROIR_NOINLINE void clear_rows(float* rows, int64_t begin, int64_t end, int64_t b) {
  for (int64_t i = begin * b; i < end * b; ++i) rows[i] = 0.0f;
}

// Where the lines of one call begin; their places cost divisions.
struct LineStarts {
  int64_t at[kLanes];
  TERROIR_INLINE_MEMBER LineStarts(const FftLines& lines, int64_t first, int64_t b) {
    for (int64_t l = 0; l < b; ++l) at[l] = offset_of(lines, first + l);
  }
};

// Numbers of `unit` floats to rows of their own: column c of a line becomes row c of planes[c % unit].
// Whole blocks of kLanes lines by kLanes floats are transposed in registers.
template <int Unit>
TERROIR_NOINLINE void load_lines(const float* src, const FftLines& from, int64_t first, int64_t n, int64_t b,
                                 float* const (&planes)[Unit]) {
  if (adjacent(from, first, b, Unit)) {
    const float* base = src + offset_of(from, first);
    for (int64_t i = 0; i < n; ++i) {
      const float* row = base + i * from.step;
      if (b == kLanes) {
        if constexpr (Unit == 1) {
          storeu(planes[0] + i * kLanes, loadu(row));
        } else {
          V re, im;
          take_apart(row, re, im);
          storeu(planes[0] + i * kLanes, re);
          storeu(planes[1] + i * kLanes, im);
        }
        continue;
      }
      for (int64_t l = 0; l < b; ++l)
        for (int u = 0; u < Unit; ++u) planes[u][i * b + l] = row[l * Unit + u];
    }
    return;
  }
  constexpr int64_t kNumbers = kLanes / Unit;
  const LineStarts starts(from, first, b);
  int64_t i = 0;
  if (b == kLanes && from.step == Unit) {
    for (; i + kNumbers <= n; i += kNumbers) {
      V rows[kLanes];
      for (int64_t l = 0; l < kLanes; ++l) rows[l] = loadu(src + starts.at[l] + i * Unit);
      transpose(rows);
      for (int64_t j = 0; j < kLanes; ++j) storeu(planes[j % Unit] + (i + j / Unit) * kLanes, rows[j]);
    }
  }
  for (int64_t l = 0; l < b; ++l) {
    const float* line = src + starts.at[l];
    for (int64_t j = i; j < n; ++j)
      for (int u = 0; u < Unit; ++u) planes[u][j * b + l] = line[j * from.step + u];
  }
}

template <int Unit>
TERROIR_NOINLINE void store_lines(float* dst, const FftLines& to, int64_t first, int64_t n, int64_t b,
                                  const float* const (&planes)[Unit]) {
  if (adjacent(to, first, b, Unit)) {
    float* base = dst + offset_of(to, first);
    for (int64_t i = 0; i < n; ++i) {
      float* row = base + i * to.step;
      if (b == kLanes) {
        if constexpr (Unit == 1)
          storeu(row, loadu(planes[0] + i * kLanes));
        else
          put_together(loadu(planes[0] + i * kLanes), loadu(planes[1] + i * kLanes), row);
        continue;
      }
      for (int64_t l = 0; l < b; ++l)
        for (int u = 0; u < Unit; ++u) row[l * Unit + u] = planes[u][i * b + l];
    }
    return;
  }
  constexpr int64_t kNumbers = kLanes / Unit;
  const LineStarts starts(to, first, b);
  int64_t i = 0;
  if (b == kLanes && to.step == Unit) {
    for (; i + kNumbers <= n; i += kNumbers) {
      V rows[kLanes];
      for (int64_t j = 0; j < kLanes; ++j) rows[j] = loadu(planes[j % Unit] + (i + j / Unit) * kLanes);
      transpose(rows);
      for (int64_t l = 0; l < kLanes; ++l) storeu(dst + starts.at[l] + i * Unit, rows[l]);
    }
  }
  for (int64_t l = 0; l < b; ++l) {
    float* line = dst + starts.at[l];
    for (int64_t j = i; j < n; ++j)
      for (int u = 0; u < Unit; ++u) line[j * to.step + u] = planes[u][j * b + l];
  }
}

TERROIR_INLINE C load_row(Planes p, int64_t at) { return {loadu(p.re + at), loadu(p.im + at)}; }
// A row of fewer lines than lanes writes over the beginning of the next one: for rows that are written in order.
TERROIR_INLINE void store_row(Planes p, int64_t at, V re, V im) {
  storeu(p.re + at, re);
  storeu(p.im + at, im);
}

// Rows z of a real line, its even numbers in the real parts and the odd ones in the imaginary parts, are transformed:
// z[k] and z[h - k] give the spectra of both, which make the whole one: x[k] = even[k] + w^k odd[k].
void split_spectrum(const FftPlan& plan, Planes z, Planes x, int64_t b) {
  const int64_t h = plan.signal;
  const V half(0.5f);
  for (int64_t k = 0; k <= h; ++k) {
    const C low = load_row(z, (k < h ? k : 0) * b), high = load_row(z, (k > 0 ? h - k : 0) * b);
    const C odd = {half * (low.im + high.im), half * (high.re - low.re)};
    const C turned = times(odd, V(plan.rotations[2 * k]), V(plan.rotations[2 * k + 1]));
    store_row(x, k * b, fma(half, low.re + high.re, turned.re), fma(half, low.im - high.im, turned.im));
  }
}

// The other way; gives twice `scale` times z.
void join_spectrum(const FftPlan& plan, Planes x, Planes z, int64_t b, float scale) {
  const int64_t h = plan.signal;
  const V factor(scale);
  clear_rows(x.im, 0, 1, b);
  clear_rows(x.im, h, h + 1, b);
  for (int64_t k = 0; k < h; ++k) {
    const C low = load_row(x, k * b), high = load_row(x, (h - k) * b);
    const C odd = times({low.re - high.re, low.im + high.im}, V(plan.rotations[2 * k]), -V(plan.rotations[2 * k + 1]));
    store_row(z, k * b, factor * (low.re + high.re - odd.im), factor * (low.im - high.im + odd.re));
  }
}

// The spectrum of a real line of odd length from its first half, in place.
void mirror_spectrum(Planes x, int64_t n, int64_t b) {
  clear_rows(x.im, 0, 1, b);
  for (int64_t k = 1; k <= n / 2; ++k) {
    for (int64_t l = 0; l < b; ++l) {
      x.re[(n - k) * b + l] = x.re[k * b + l];
      x.im[(n - k) * b + l] = -x.im[k * b + l];
    }
  }
}

TERROIR_INLINE FftLines with_step(FftLines lines, int64_t step) {
  lines.step = step;
  return lines;
}

// Numbers of real lines to rows: one number a row, or even ones to real and odd ones to imaginary parts.
void load_real(const FftArgs& a, int64_t first, int64_t b, Planes rows) {
  const FftPlan& plan = *a.plan;
  float* const re[1] = {rows.re};
  float* const im[1] = {rows.im};
  if (plan.rotations == nullptr) {
    load_lines<1>(a.src, a.from, first, a.valid, b, re);
    clear_rows(rows.re, a.valid, plan.signal, b);
    clear_rows(rows.im, 0, plan.signal, b);
  } else {
    const FftLines pairs = with_step(a.from, 2 * a.from.step);
    const int64_t evens = (a.valid + 1) / 2, odds = a.valid / 2;
    if (a.from.step == 1) {
      float* const both[2] = {rows.re, rows.im};
      load_lines<2>(a.src, pairs, first, odds, b, both);
      float* const last[1] = {rows.re + odds * b};
      load_lines<1>(a.src + 2 * odds, pairs, first, evens - odds, b, last);
    } else {
      load_lines<1>(a.src, pairs, first, evens, b, re);
      load_lines<1>(a.src + a.from.step, pairs, first, odds, b, im);
    }
    clear_rows(rows.re, evens, plan.signal, b);
    clear_rows(rows.im, odds, plan.signal, b);
  }
  if (a.window == nullptr) return;
  for (int64_t i = 0; i < a.valid; ++i) {
    float* row = plan.rotations == nullptr ? rows.re + i * b : (i % 2 == 0 ? rows.re : rows.im) + i / 2 * b;
    const Tail t = tail(b);
    store_tail(row, load_tail(row, t) * V(a.window[i]), t);
  }
}

void store_real(const FftArgs& a, int64_t first, int64_t b, Planes rows) {
  const FftPlan& plan = *a.plan;
  const float* const re[1] = {rows.re};
  const float* const im[1] = {rows.im};
  const float* const both[2] = {rows.re, rows.im};
  const FftLines pairs = with_step(a.to, 2 * a.to.step);
  if (plan.rotations == nullptr) {
    store_lines<1>(a.dst, a.to, first, plan.signal, b, re);
  } else if (a.to.step == 1) {
    store_lines<2>(a.dst, pairs, first, plan.signal, b, both);
  } else {
    store_lines<1>(a.dst, pairs, first, plan.signal, b, re);
    store_lines<1>(a.dst + a.to.step, pairs, first, plan.signal, b, im);
  }
}

// Rows behind those that exist are cleared up to `n`.
void load_complex(const FftArgs& a, int64_t first, int64_t n, int64_t b, Planes rows) {
  float* const planes[2] = {rows.re, rows.im};
  load_lines<2>(a.src, a.from, first, a.valid, b, planes);
  clear_rows(rows.re, a.valid, n, b);
  clear_rows(rows.im, a.valid, n, b);
}

TERROIR_NOINLINE void scale_rows(float* rows, int64_t n, float scale) {
  if (scale == 1.0f) return;
  for (int64_t i = 0; i < n; ++i) rows[i] *= scale;
}

TERROIR_INLINE Planes swapped(Planes p) { return {p.im, p.re}; }

// The transform of rows of `data`; `spare` is memory of the same size. Both change.
TERROIR_NOINLINE Planes transform(const FftPlan& plan, Planes data, Planes& spare, int64_t b) {
  if (plan.chirp == nullptr) return run_stages(plan, data, spare, b);
  multiply_rows(data, plan.chirp, plan.signal, b);
  clear_rows(data.re, plan.signal, plan.length, b);
  clear_rows(data.im, plan.signal, plan.length, b);
  data = run_stages(plan, data, spare, b);
  multiply_rows(data, plan.spectrum, plan.length, b);
  // With real and imaginary parts exchanged, on the way in and out, the transform is the inverse.
  data = swapped(run_stages(plan, swapped(data), spare, b));
  multiply_rows(data, plan.chirp, plan.signal, b);
  return data;
}

// Results multiplied on their way out, to lines that lie side by side.
void store_turned(const FftArgs& a, int64_t first, int64_t b, Planes data) {
  const int64_t columns = a.from.inner, n = a.plan->numbers;
  const Tail t = tail(b);
  float* row = a.dst + offset_of(a.to, first);
  for (int64_t i = 0; i < n; ++i, row += a.to.step) {
    const float* re = a.turns + i * columns + first % columns;
    const C x = times({load_tail(data.re + i * b, t), load_tail(data.im + i * b, t)}, load_tail(re, t),
                      load_tail(re + n * columns, t));
    float pairs[2 * kLanes];
    put_together(a.inverse ? x.im : x.re, a.inverse ? x.re : x.im, b == kLanes ? row : pairs);
    for (int64_t l = 0; b < kLanes && l < 2 * b; ++l) row[l] = pairs[l];
  }
}

// Half a spectrum has one number more than the signal of its line.
int64_t work_floats(int64_t length) { return 4 * (length + 1) * kLanes; }

void lines(const FftArgs& a, int64_t first, int64_t b, float* work) {
  const FftPlan& plan = *a.plan;
  const int64_t n = plan.signal, bins = plan.numbers / 2 + 1, plane = (plan.length + 1) * kLanes;
  Planes data = {work, work + plane}, spare = {work + 2 * plane, work + 3 * plane};
  if (a.src_side == FftSide::complex) {
    load_complex(a, first, n, b, data);
  } else if (a.src_side == FftSide::real) {
    load_real(a, first, b, data);
  } else if (plan.rotations != nullptr) {
    load_complex(a, first, bins, b, spare);
    join_spectrum(plan, spare, data, b, a.scale);
  } else {
    load_complex(a, first, bins, b, data);
    mirror_spectrum(data, n, b);
  }

  if (a.inverse) {
    data = swapped(data);
    spare = swapped(spare);
  }
  data = transform(plan, data, spare, b);
  if (a.turns != nullptr) {
    store_turned(a, first, b, data);
    return;
  }
  if (a.inverse) data = swapped(data);

  if (a.dst_side == FftSide::half) {
    if (plan.rotations != nullptr) {
      split_spectrum(plan, data, spare, b);
      data = spare;
    }
    const float* const planes[2] = {data.re, data.im};
    store_lines<2>(a.dst, a.to, first, bins, b, planes);
    return;
  }
  if (a.src_side != FftSide::half || plan.rotations == nullptr) {
    scale_rows(data.re, n * b, a.scale);
    scale_rows(data.im, n * b, a.scale);
  }
  if (a.dst_side == FftSide::real) {
    store_real(a, first, b, data);
  } else {
    const float* const planes[2] = {data.re, data.im};
    store_lines<2>(a.dst, a.to, first, n, b, planes);
  }
}

void add_frames(const FrameSum& s, int64_t begin, int64_t end, float* dst) {
  // Where no window reaches nothing is known of the signal.
  constexpr int64_t kRange = 512;
  for (; begin < end; begin += kRange, dst += kRange) {
    const int64_t n = end - begin < kRange ? end - begin : kRange;
    float sum[kRange] = {}, weight[kRange] = {};
    const int64_t reach = begin - s.size + 1;  // the first position at which a frame may begin and reach this one
    for (int64_t f = reach > 0 ? (reach + s.step - 1) / s.step : 0; f < s.count && f * s.step < begin + n; ++f) {
      const int64_t start = f * s.step - begin;
      const int64_t from = start > 0 ? start : 0, to = start + s.size < n ? start + s.size : n;
      const float* numbers = s.frames + f * s.size;
      for (int64_t i = from; i < to; ++i) {
        const float w = s.window[i - start];
        sum[i] += numbers[i - start] * w;
        weight[i] += w * w;
      }
    }
    for (int64_t i = 0; i < n; ++i) dst[i] = weight[i] > 0 ? sum[i] / weight[i] : sum[i];
  }
}

}  // namespace

const FftKernels& fft_table() {
  static constexpr FftKernels kTable = {kLanes, &work_floats, &lines, &add_frames};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
