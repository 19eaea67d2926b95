#include "ops/reference/detection/best_first.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "ir/base/error.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/reference/sort/radix.hpp"

namespace terroir::ops::reference {
namespace {

template <class F, class Passes>
std::vector<int64_t> chosen(std::span<const F> scores, int64_t most, const Passes& passes) {
  using Rank = decltype(ascending_rank(F{}));
  using Key = decltype(ranked(Rank{}, 0));
  const size_t count = scores.size();
  if (count > UINT32_MAX) throw_error(ErrorCode::unsupported, "cannot sort more than 2^32 - 1 scores, got ", count);
  const auto keys = std::make_unique_for_overwrite<Key[]>(2 * count + 1);
  const auto positions = std::make_unique_for_overwrite<uint32_t[]>(count + 1);
  // Ranks are half as wide as keys and lie where those go when they are sorted.
  Key* const spare = keys.get() + count;
  auto* const ranks = reinterpret_cast<Rank*>(spare);
  // Each chunk first has those that pass at its own beginning. Without a branch, which nothing foresees: one place is
  // written again until what is there passes.
  constexpr size_t kChunk = 16384;
  std::vector<int64_t> passed_in((count + kChunk - 1) / kChunk);
  parallel_ranges(static_cast<int64_t>(count), kChunk, [&](int64_t begin, int64_t end) {
    size_t next = static_cast<size_t>(begin);
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      positions[next] = static_cast<uint32_t>(i);
      next += passes(scores[i]);
    }
    passed_in[static_cast<size_t>(begin) / kChunk] = static_cast<int64_t>(next) - begin;
  });
  int64_t passed = 0;
  for (size_t chunk = 0; chunk < passed_in.size(); ++chunk) {
    std::copy_n(positions.get() + chunk * kChunk, passed_in[chunk], positions.get() + passed);
    passed += passed_in[chunk];
  }
  for (int64_t i = 0; i < passed; ++i) {
    const F score = scores[positions[static_cast<size_t>(i)]], worst = -std::numeric_limits<F>::infinity();
    ranks[i] = static_cast<Rank>(~ascending_rank(std::isnan(score) ? worst : score));
  }
  const int64_t kept = std::clamp<int64_t>(most, 0, passed);
  std::vector<int64_t> order(static_cast<size_t>(kept));
  if (kept == 0) return order;
  lowest_keys(ranks, ranks + passed, passed, kept, keys.get());
  const Key* key = sort_by_rank(keys.get(), spare, kept);
  for (int64_t& position : order) position = positions[position_of(*key++)];
  return order;
}

}  // namespace

std::vector<int64_t> best_first(std::span<const float> scores, int64_t most) {
  const auto all = [](float) { return true; };
  // Of few among many: the last of the best in a part of them, from everywhere, is a bound that most do not reach.
  constexpr int64_t kPart = 16;
  const auto count = static_cast<int64_t>(scores.size());
  const int64_t step = most > 0 ? count / kPart / most : 0;
  if (step < 4) return chosen(scores, most, all);
  std::vector<float> part(static_cast<size_t>(kPart * most));
  for (size_t i = 0; i < part.size(); ++i) part[i] = scores[i * static_cast<size_t>(step)];
  const float bound = part[static_cast<size_t>(chosen(std::span<const float>(part), most, all).back())];
  // NaN is worse than all that reach it, unless there is nothing better.
  if (!(bound > -std::numeric_limits<float>::infinity())) return chosen(scores, most, all);
  return chosen(scores, most, [=](float score) { return score >= bound; });
}

template <class F>
std::vector<int64_t> best_above(std::span<const F> scores, F least, bool with_equal, int64_t most) {
  // Two loops: one that asks for equality in each turn takes half as long again.
  if (with_equal) return chosen(scores, most, [=](F score) { return score >= least; });
  return chosen(scores, most, [=](F score) { return score > least; });
}
template std::vector<int64_t> best_above(std::span<const float>, float, bool, int64_t);
template std::vector<int64_t> best_above(std::span<const double>, double, bool, int64_t);

}  // namespace terroir::ops::reference
