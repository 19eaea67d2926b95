// What the steps behind a convolution read first, parted among the runs of its kernel: every line once, in order.
#include "plugins/cpu/nodes/lines_ahead.hpp"

#include <gtest/gtest.h>

#include "ir/base/aligned_buffer.hpp"
#include "plugins/cpu/isa.hpp"

namespace terroir::cpu {
namespace {

constexpr size_t kLine = 64;

/// The lines that all shares of a slice fetch, one after the other.
std::vector<const float*> fetched(std::span<const std::vector<FirstConstants>> ahead, int64_t slice, int64_t shares) {
  const parallel::Arena arena(1);
  const RunArgs args{nullptr, nullptr, nullptr, {}, arena, ahead};
  std::vector<const float*> lines;
  for (int64_t share = 0; share < shares; ++share) {
    LinesAhead of_share(args, slice, 1, share, shares);
    for (int64_t i = 0; i < of_share.get()->count; ++i)
      for (int64_t line = 0; line < of_share.get()->lines[i].count; ++line)
        lines.push_back(of_share.get()->lines[i].begin + line * static_cast<int64_t>(kLine / sizeof(float)));
  }
  return lines;
}

TEST(LinesAheadTest, SharesAreStretchesOfAllLinesTogether) {
  const AlignedBuffer buffer(200 * kLine);
  const auto* bytes = buffer.as<std::byte>();
  const FirstConstants first{{bytes, 100 * kLine}, true}, second{{bytes + 100 * kLine, 7 * kLine + 5}, true},
      third{{bytes + 120 * kLine, 50 * kLine}, false};
  const std::vector<std::vector<FirstConstants>> ahead{{}, {first, second, third}};
  std::vector<const float*> all;
  for (const FirstConstants& constants : ahead[1])
    for (size_t line = 0; line < constants.bytes.size() / kLine; ++line)
      all.push_back(reinterpret_cast<const float*>(constants.bytes.data() + line * kLine));
  for (const int64_t shares : {1, 2, 5, 16, 400}) {
    EXPECT_EQ(fetched(ahead, 1, shares), all) << shares;
    EXPECT_TRUE(fetched(ahead, 0, shares).empty()) << shares;
    EXPECT_TRUE(fetched(ahead, 2, shares).empty()) << shares;  // beyond the slices that are known
  }
}

TEST(LinesAheadTest, NoMoreThanHalfOfL2) {
  const auto room = static_cast<size_t>(cache_sizes().l2 / 2) / kLine;
  const AlignedBuffer buffer((room + 10) * kLine);
  const FirstConstants first{{buffer.as<std::byte>(), (room + 10) * kLine}, true};
  const std::vector<std::vector<FirstConstants>> ahead{{first, first}};
  for (const int64_t shares : {1, 3}) EXPECT_EQ(fetched(ahead, 0, shares).size(), room) << shares;
}

}  // namespace
}  // namespace terroir::cpu
