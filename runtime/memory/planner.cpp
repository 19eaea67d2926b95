#include "runtime/memory/planner.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "ir/base/error.hpp"

namespace terroir::memory {

namespace {

constexpr size_t kMinAlignment = 64;
// Far above any machine, and far enough below SIZE_MAX that sums of two never wrap.
constexpr size_t kLimit = SIZE_MAX / 8;

size_t round_up(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

void check_interval(int64_t first_use, int64_t last_use) {
  if (last_use < first_use)
    throw_error(ErrorCode::invalid_argument, "a memory block is last used at step ", last_use,
                ", before its first use at step ", first_use);
}

void check(const Block& block) {
  check_interval(block.first_use, block.last_use);
  if (block.alignment == 0 || (block.alignment & (block.alignment - 1)) != 0 || block.alignment > (size_t{1} << 30)) {
    throw_error(ErrorCode::invalid_argument, "the alignment of a memory block must be a power of two, got ",
                block.alignment);
  }
  if (block.size > kLimit) throw_error(ErrorCode::out_of_memory, "a memory block of ", block.size, " bytes");
  for (const Part& part : block.parts) {
    check_interval(part.first_use, part.last_use);
    if (part.offset > block.size || part.size > block.size - part.offset)
      throw_error(ErrorCode::invalid_argument, "a part of ", part.size, " bytes at ", part.offset,
                  " leaves its memory block of ", block.size, " bytes");
  }
}

/// Of a block that is in use as a whole: the block, in `whole`.
std::span<const Part> parts_of(const Block& block, Part& whole) {
  if (!block.parts.empty()) return block.parts;
  whole = {0, block.size, block.first_use, block.last_use};
  return {&whole, 1};
}

/// Parts at their offsets in the buffer.
class PlacedParts {
 public:
  void add(const Block& block, size_t offset) {
    Part whole;
    for (Part part : parts_of(block, whole)) {
      part.offset += offset;
      const auto behind = std::upper_bound(placed_.begin(), placed_.end(), part.offset,
                                           [](size_t at, const Part& other) { return at < other.offset; });
      placed_.insert(behind, part);
    }
  }

  /// The offset in the tightest gap that holds the block.
  size_t best_offset(const Block& block) {
    Part whole;
    const std::span<const Part> parts = parts_of(block, whole);
    Gaps gaps(std::max(block.alignment, kMinAlignment));
    if (parts.size() == 1) {  // in order already: plans may have thousands of such blocks
      for (const Part& other : placed_)
        if (meet(parts[0], other)) gaps.refuse(refused(parts[0], other));
      return gaps.best();
    }
    refused_.clear();
    for (const Part& part : parts)
      for (const Part& other : placed_)
        if (meet(part, other)) refused_.push_back(refused(part, other));
    std::sort(refused_.begin(), refused_.end(), [](const Refused& a, const Refused& b) { return a.above < b.above; });
    for (const Refused& one : refused_) gaps.refuse(one);
    return gaps.best();
  }

 private:
  /// Offsets of a block, both ends excluded, at which one of its parts meets one that is placed.
  struct Refused {
    int64_t above, below;
  };

  /// Takes what is refused from the lowest `above` on.
  class Gaps {
   public:
    explicit Gaps(size_t alignment) : alignment_(alignment) {}
    void refuse(const Refused& refused) {
      const auto offset = static_cast<int64_t>(round_up(static_cast<size_t>(end_), alignment_));
      if (refused.above >= offset && refused.above - end_ < least_) {
        least_ = refused.above - end_;
        best_ = static_cast<size_t>(offset);
      }
      end_ = std::max(end_, refused.below);
    }
    size_t best() const { return best_ != SIZE_MAX ? best_ : round_up(static_cast<size_t>(end_), alignment_); }

   private:
    size_t alignment_;
    size_t best_ = SIZE_MAX;
    int64_t least_ = INT64_MAX;
    int64_t end_ = 0;  // no offset below meets nothing, but those in gaps that were looked at
  };

  static bool meet(const Part& part, const Part& other) {
    return part.first_use <= other.last_use && other.first_use <= part.last_use && part.size > 0 && other.size > 0;
  }
  static Refused refused(const Part& part, const Part& other) {
    const auto begin = static_cast<int64_t>(other.offset) - static_cast<int64_t>(part.offset);
    return {begin - static_cast<int64_t>(part.size), begin + static_cast<int64_t>(other.size)};
  }

  std::vector<Part> placed_;  // by offset
  std::vector<Refused> refused_;
};

struct Peak {
  int64_t step = 0;
  size_t bytes = 0;
};

Peak peak_of(const std::vector<Block>& blocks) {
  std::map<int64_t, std::pair<size_t, size_t>> events;  // step -> bytes that begin there, bytes whose last step it is
  for (const Block& block : blocks) {
    check(block);
    Part whole;
    for (const Part& part : parts_of(block, whole)) {
      events[part.first_use].first += part.size;
      events[part.last_use].second += part.size;
    }
  }
  size_t now = 0;
  Peak peak;
  for (const auto& [step, bytes] : events) {
    now += bytes.first;
    if (now > peak.bytes) peak = {step, now};
    now -= bytes.second;
  }
  return peak;
}

/// None where the plan would be larger than `most`. The first `known` of the order have their offsets from `before`.
std::optional<MemoryPlan> plan_in_order(const std::vector<Block>& blocks, const std::vector<size_t>& order, size_t most,
                                        size_t known = 0, const MemoryPlan& before = {}) {
  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  PlacedParts placed;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t index = order[i];
    const Block& block = blocks[index];
    if (block.size == 0) continue;
    const size_t offset = i < known ? before.offsets[index] : placed.best_offset(block);
    placed.add(block, offset);
    plan.offsets[index] = offset;
    plan.total = std::max(plan.total, offset + block.size);
    if (plan.total > most) return std::nullopt;
  }
  plan.total = round_up(plan.total, kMinAlignment);
  return plan;
}

/// Most first; ties: earlier first use, then lower index.
template <typename Measure>
std::vector<size_t> order_by(const std::vector<Block>& blocks, const Measure& measure) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto of_a = measure(blocks[a]), of_b = measure(blocks[b]);
    return of_a != of_b ? of_a > of_b : blocks[a].first_use < blocks[b].first_use;
  });
  return order;
}

/// As `order` gives it, or better: what ends highest is placed earlier, or any block elsewhere, in turns, and a plan
/// that is no larger is gone on with, for `tries` or until it is no larger than `least`.
MemoryPlan plan_with_repairs(const std::vector<Block>& blocks, std::vector<size_t> order, size_t least, size_t tries) {
  std::optional<MemoryPlan> first = plan_in_order(blocks, order, kLimit);
  if (!first) throw_error(ErrorCode::out_of_memory, "the activations need more than ", kLimit, " bytes");
  MemoryPlan best = *std::move(first);
  std::minstd_rand random;  // the same everywhere
  const auto any = [&](size_t count) { return static_cast<std::ptrdiff_t>(random() % count); };
  for (size_t i = 0; best.total > least && i < tries; ++i) {
    auto from = std::max_element(order.begin(), order.end(), [&](size_t a, size_t b) {
      return best.offsets[a] + blocks[a].size < best.offsets[b] + blocks[b].size;
    });
    std::vector<size_t> other = order;
    if (from == order.begin() || random() % 2 == 0) from = order.begin() + any(order.size());
    const std::ptrdiff_t at = from - order.begin(), to = any(order.size());
    other.erase(other.begin() + at);
    other.insert(other.begin() + to, order[static_cast<size_t>(at)]);
    std::optional<MemoryPlan> plan =
        plan_in_order(blocks, other, best.total, static_cast<size_t>(std::min(at, to)), best);
    if (!plan) continue;
    best = *std::move(plan);
    order = std::move(other);
  }
  return best;
}

/// What the best of plans takes, or some bytes more: blocks begin at lines.
size_t least_total(std::vector<Block> blocks) {
  for (Block& block : blocks)
    if (block.parts.empty()) block.size = round_up(block.size, kMinAlignment);
  return round_up(peak_of(blocks).bytes, kMinAlignment);
}

size_t count_parts(const std::vector<Block>& blocks) {
  size_t parts = 0;
  for (const Block& block : blocks) parts += std::max<size_t>(block.parts.size(), 1);
  return parts;
}

size_t tries_for(const std::vector<Block>& blocks) {
  constexpr size_t kPairs = 3'000'000;  // of parts
  const size_t parts = count_parts(blocks);
  return kPairs / (parts * parts + 1);
}

/// The same, in use from the first step of a part to the last one.
Block as_a_whole(const Block& block) {
  Block whole = block;
  whole.parts.clear();
  for (const Part& part : block.parts) {
    whole.first_use = std::min(whole.first_use, part.first_use);
    whole.last_use = std::max(whole.last_use, part.last_use);
  }
  return whole;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Block>& blocks, bool thorough) {
  // Every part is compared with every other.
  constexpr size_t kMostParts = 10'000;
  if (count_parts(blocks) > kMostParts &&
      std::any_of(blocks.begin(), blocks.end(), [](const Block& block) { return !block.parts.empty(); })) {
    std::vector<Block> wholes;
    for (const Block& block : blocks) {
      check(block);
      wholes.push_back(as_a_whole(block));
    }
    return plan_memory(wholes, thorough);
  }
  const size_t tries = thorough ? tries_for(blocks) : 0, least = least_total(blocks);
  const auto by_size = order_by(blocks, [](const Block& block) { return block.size; });
  MemoryPlan first = plan_with_repairs(blocks, by_size, least, tries);
  if (first.total <= least) return first;
  const auto by_time =
      order_by(blocks, [](const Block& block) { return std::pair(block.last_use - block.first_use, block.size); });
  MemoryPlan second = plan_with_repairs(blocks, by_time, least, tries);
  return second.total < first.total ? second : first;
}

size_t peak_bytes(const std::vector<Block>& blocks) { return peak_of(blocks).bytes; }

int64_t busiest_step(const std::vector<Block>& blocks) { return peak_of(blocks).step; }

}  // namespace terroir::memory
