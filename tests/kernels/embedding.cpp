#include "plugins/cpu/kernels/embedding/embedding.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

class Embedding : public KernelTest {};

template <typename Index>
void check_bags(cpu::Isa isa, int64_t length, int64_t entries, bool weighted, bool mean) {
  constexpr int64_t kRows = 5;
  const GuardedBuffer<float> table(random_floats(kRows * length, 1)), weights(random_floats(entries, 2));
  std::vector<Index> chosen(static_cast<size_t>(entries));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<Index>((i * 3 + 1) % kRows);
  const GuardedBuffer<Index> rows(chosen);
  GuardedBuffer<float> dst(length);
  cpu::BagArgs args;
  args.table = table.data();
  args.length = length;
  args.rows = rows.data();
  args.rows_are_i64 = sizeof(Index) == 8;
  args.entries = entries;
  args.weights = weighted ? weights.data() : nullptr;
  args.mean = mean;
  args.dst = dst.data();
  const int64_t half = length / 2;
  cpu::embedding_kernels(isa).bag(args, half, length);
  cpu::embedding_kernels(isa).bag(args, 0, half);
  ASSERT_TRUE(dst.intact());
  for (int64_t k = 0; k < length; ++k) {
    double want = 0;
    for (int64_t i = 0; i < entries; ++i)
      want += double(table[chosen[static_cast<size_t>(i)] * length + k]) * (weighted ? weights[i] : 1.0f);
    if (mean) want /= static_cast<double>(entries);
    ASSERT_NEAR(dst[k], want, dot_tolerance(entries)) << length << ' ' << entries << " column " << k;
  }
}

TEST_P(Embedding, Bags) {
  for (const int64_t length : sizes_around(8 * lanes()))
    for (const int64_t entries : {1, 2, 5, 37})
      for (const bool weighted : {false, true}) {
        check_bags<int64_t>(isa(), length, entries, weighted, false);
        check_bags<int32_t>(isa(), length, entries, weighted, true);
      }
}

TEST_P(Embedding, NoEntriesAreZeros) {
  GuardedBuffer<float> dst(19);
  cpu::BagArgs args;
  args.length = 19;
  args.dst = dst.data();
  cpu::embedding_kernels(isa()).bag(args, 0, 19);
  EXPECT_TRUE(dst.intact());
  for (const float x : dst) EXPECT_EQ(x, 0.0f);
}

TERROIR_INSTANTIATE_PER_ISA(Embedding);

}  // namespace
}  // namespace terroir::testing
