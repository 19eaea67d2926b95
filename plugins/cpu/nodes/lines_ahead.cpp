#include "plugins/cpu/nodes/lines_ahead.hpp"

#include <algorithm>

#include "plugins/cpu/isa.hpp"

namespace terroir::cpu {

LinesAhead::LinesAhead(const RunArgs& args, int64_t slice, int64_t runs, int64_t share, int64_t shares) noexcept
    : ahead_{lines_.data(), 0, runs} {
  constexpr int64_t kLine = 64;
  if (slice >= static_cast<int64_t>(args.ahead.size())) return;
  const std::vector<FirstConstants>& all = args.ahead[static_cast<size_t>(slice)];
  const auto lines_of = [](const FirstConstants& first) { return static_cast<int64_t>(first.bytes.size()) / kLine; };
  int64_t sum = 0;
  for (const FirstConstants& first : all) sum += lines_of(first);
  sum = std::min(sum, cache_sizes().l2 / 2 / kLine);
  // A share is a part of all lines together: a run takes from one stretch of lines.
  const int64_t begin = share * sum / shares, end = (share + 1) * sum / shares;
  int64_t at = 0;
  for (const FirstConstants& first : all) {
    const int64_t from = std::max(begin, at), to = std::min(end, at + lines_of(first));
    if (from < to && ahead_.count < static_cast<int64_t>(lines_.size()))
      lines_[static_cast<size_t>(ahead_.count++)] = {
          reinterpret_cast<const float*>(first.bytes.data()) + (from - at) * kLine / 4, to - from};
    at += lines_of(first);
  }
}

}  // namespace terroir::cpu
