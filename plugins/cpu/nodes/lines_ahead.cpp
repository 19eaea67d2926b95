#include "plugins/cpu/nodes/lines_ahead.hpp"

#include <algorithm>

#include "plugins/cpu/isa.hpp"

namespace terroir::cpu {

LinesAhead::LinesAhead(const RunArgs& args, int64_t slice, int64_t runs, int64_t share, int64_t shares) noexcept
    : ahead_{lines_.data(), 0, runs} {
  constexpr int64_t kLine = 64;
  int64_t room = cache_sizes().l2 / 2 / kLine;
  if (slice >= static_cast<int64_t>(args.ahead.size())) return;
  const std::vector<FirstConstants>& all = args.ahead[static_cast<size_t>(slice)];
  for (size_t i = 0; i < std::min(all.size(), lines_.size()); ++i) {
    const FirstConstants& first = all[i];
    const int64_t count = std::min(room, static_cast<int64_t>(first.bytes.size()) / kLine);
    const int64_t begin = share * count / shares, end = (share + 1) * count / shares;
    lines_[i] = {reinterpret_cast<const float*>(first.bytes.data()) + begin * kLine / 4, end - begin};
    ++ahead_.count;
    room -= count;
  }
}

}  // namespace terroir::cpu
