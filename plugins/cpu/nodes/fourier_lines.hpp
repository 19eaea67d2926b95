#pragma once
// What: the transform of all lines along one axis, shared out over threads.
#include <algorithm>
#include <memory>

#include "plugins/cpu/kernels/fft/plan.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

/// What there is to know before pointers are: args without them, lines in all.
class FourierLines {
 public:
  FourierLines(const FftKernels& kernels, int64_t numbers, const FftArgs& args, int64_t lines,
               std::vector<float> turns = {})
      : kernels_(&kernels),
        tables_(std::make_unique<const FftTables>(
            numbers, args.src_side != FftSide::complex || args.dst_side != FftSide::complex)),
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
      FftArgs args = args_;
      args.src = src;
      args.dst = dst;
      args.window = window;
      for (int64_t call = calls() * slice / slices; call < calls() * (slice + 1) / slices; ++call) {
        const int64_t at = call % calls_per_run_ * kernels_->lanes, first = call / calls_per_run_ * run_ + at;
        kernels_->lines(args, first, std::min(kernels_->lanes, run_ - at), work + slice * call_floats());
      }
    });
  }

 private:
  int64_t call_floats() const { return (kernels_->work_floats(tables_->plan().length) + 15) / 16 * 16; }

  const FftKernels* kernels_;
  std::unique_ptr<const FftTables> tables_;
  FftArgs args_;
  std::vector<float> turns_;
  int64_t lines_, run_ = 1, calls_per_run_ = 1;
};

}  // namespace terroir::cpu
