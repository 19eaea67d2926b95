#include "benchmark_app/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>

namespace benchmark_app {

ProgressBar::ProgressBar() : on_terminal_(isatty(STDOUT_FILENO) != 0) {}

void ProgressBar::show(double done) {
  const int percent = static_cast<int>(std::min(1.0, std::max(0.0, done)) * 100);
  if (!on_terminal_ || percent <= percent_) return;
  percent_ = percent;
  constexpr size_t kWidth = 50;
  const size_t filled = kWidth * static_cast<size_t>(percent) / 100;
  std::cout << "\r[" << std::string(filled, '#') << std::string(kWidth - filled, ' ') << "] " << percent << " %"
            << std::flush;
}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) std::cout << '\n';
}

}  // namespace benchmark_app
