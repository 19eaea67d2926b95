#pragma once
// What: the transforms of all lines along one axis, shared out over threads.
#include <algorithm>
#include <memory>

#include "ir/base/machine_memory.hpp"
#include "plugins/cpu/kernels/fft/plan.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

/// What there is to know before pointers are: args without them, lines in all.
class FourierLines {
 public:
  FourierLines(const FftKernels& kernels, int64_t numbers, const FftArgs& args, int64_t lines,
               std::vector<float> turns = {})
      : kernels_(&kernels),
        tables_(tables_for(numbers, args.src_side != FftSide::complex || args.dst_side != FftSide::complex)),
        args_(args),
        turns_(std::move(turns)),
        lines_(lines) {
    args_.plan = &tables_->plan();
    if (!turns_.empty()) args_.turns = turns_.data();
    // A call whose lines lie side by side is fastest, so long runs of them are cut each for itself.
    run_ = args_.from.inner >= kernels.lanes ? args_.from.inner : lines;
    calls_per_run_ = (run_ + kernels.lanes - 1) / kernels.lanes;
  }

  int64_t calls() const { return calls_per_run_ * (lines_ / run_); }
  int64_t work_floats(int64_t threads) const { return std::min(threads, calls()) * call_floats(); }

  size_t table_bytes() const { return tables_->bytes() + turns_.size() * sizeof(float); }

  /// `work`: work_floats() of them, 64-byte aligned. `src` may be `dst` where lines keep their places.
  void run(const parallel::Arena& arena, const float* src, float* dst, float* work,
           const float* window = nullptr) const noexcept {
    const int64_t slices = std::min<int64_t>(arena.threads(), calls());
    arena.parallel_for(slices, [&](int64_t slice) {
      run_calls(calls() * slice / slices, calls() * (slice + 1) / slices, src, dst, work + slice * call_floats(),
                window);
    });
  }

  /// On this thread.
  void run_calls(int64_t begin, int64_t end, const float* src, float* dst, float* work,
                 const float* window = nullptr) const noexcept {
    FftArgs args = args_;
    args.src = src;
    args.dst = dst;
    args.window = window;
    for (int64_t call = begin; call < end; ++call) {
      const int64_t at = call % calls_per_run_ * kernels_->lanes, first = call / calls_per_run_ * run_ + at;
      kernels_->lines(args, first, std::min(kernels_->lanes, run_ - at), work);
    }
  }

 private:
  /// Throws Exception (out_of_memory) for lengths whose tables would fill the machine.
  static std::unique_ptr<const FftTables> tables_for(int64_t numbers, bool real_side) {
    constexpr size_t kPerNumber = 160;  // the longest: chirps of lengths with a large prime factor
    ir::require_table_fits("the tables of a Fourier transform", numbers, kPerNumber);
    return std::make_unique<const FftTables>(numbers, real_side);
  }

  int64_t call_floats() const { return (kernels_->work_floats(tables_->plan().length) + 15) / 16 * 16; }

  const FftKernels* kernels_;
  std::unique_ptr<const FftTables> tables_;
  FftArgs args_;
  std::vector<float> turns_;
  int64_t lines_, run_ = 1, calls_per_run_ = 1;
};

/// Long lines one behind the other, each as a matrix: its columns, then its rows, by way of memory that the second
/// cache holds. Threads: a line each, or where there are fewer lines than threads the columns and rows of each.
class FourierMatrix {
 public:
  /// `args`: sides, direction and scale.
  FourierMatrix(const FftKernels& kernels, const FftMatrix& matrix, const FftArgs& args, int64_t lines)
      : lines_(lines),
        line_floats_(2 * matrix.rows * matrix.columns),
        columns_(kernels, matrix.rows, by_columns(matrix, args), matrix.columns, fft_turns(matrix)),
        rows_(kernels, matrix.columns, by_rows(matrix, args), matrix.rows) {}

  size_t table_bytes() const { return columns_.table_bytes() + rows_.table_bytes(); }
  int64_t work_floats(int64_t threads) const {
    return std::min(threads, std::max(lines_, columns_.calls())) *
           (between_floats() + std::max(columns_.work_floats(threads), rows_.work_floats(threads)));
  }

  /// `src` may be `dst`.
  void run(const parallel::Arena& arena, const float* src, float* dst, float* work) const noexcept {
    const int64_t threads = arena.threads();
    if (lines_ < threads) {
      for (int64_t at = 0; at < lines_ * line_floats_; at += line_floats_) {
        columns_.run(arena, src + at, work, work + between_floats());
        rows_.run(arena, work, dst + at, work + between_floats());
      }
      return;
    }
    const int64_t slice_floats = work_floats(1);
    arena.parallel_for(threads, [&](int64_t slice) {
      float* between = work + slice * slice_floats;
      for (int64_t line = lines_ * slice / threads; line < lines_ * (slice + 1) / threads; ++line) {
        const int64_t at = line * line_floats_;
        columns_.run_calls(0, columns_.calls(), src + at, between, between + between_floats());
        rows_.run_calls(0, rows_.calls(), between, dst + at, between + between_floats());
      }
    });
  }

 private:
  static FftArgs by_columns(const FftMatrix& matrix, FftArgs args) {
    args.from = args.to = {matrix.columns, 0, 2, 2 * matrix.columns};
    args.valid = matrix.rows;
    args.scale = 1.0f;
    return args;
  }
  static FftArgs by_rows(const FftMatrix& matrix, FftArgs args) {
    args.from = {matrix.rows, 0, 2 * matrix.columns, 2};
    args.to = {matrix.rows, 0, 2, 2 * matrix.rows};
    args.valid = matrix.columns;
    return args;
  }
  int64_t between_floats() const { return (line_floats_ + 15) / 16 * 16; }

  int64_t lines_, line_floats_;
  FourierLines columns_, rows_;
};

}  // namespace terroir::cpu
