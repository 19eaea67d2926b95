#include "runtime/memory/planner.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/base/error.hpp"

namespace terroir::memory {

namespace {

constexpr size_t kMinAlignment = 64;
// Far above any machine, and far enough below SIZE_MAX that sums of two never wrap.
constexpr size_t kLimit = SIZE_MAX / 8;

size_t round_up(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

void check(const Block& block) {
  if (block.last_use < block.first_use) {
    throw_error(ErrorCode::invalid_argument, "a memory block is last used at step ", block.last_use,
                ", before its first use at step ", block.first_use);
  }
  if (block.alignment == 0 || (block.alignment & (block.alignment - 1)) != 0 || block.alignment > (size_t{1} << 30)) {
    throw_error(ErrorCode::invalid_argument, "the alignment of a memory block must be a power of two, got ",
                block.alignment);
  }
  if (block.size > kLimit) throw_error(ErrorCode::out_of_memory, "a memory block of ", block.size, " bytes");
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) check(block);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (blocks[a].size != blocks[b].size) return blocks[a].size > blocks[b].size;
    return blocks[a].first_use < blocks[b].first_use;
  });

  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  std::vector<size_t> placed;  // by offset
  placed.reserve(blocks.size());
  for (const size_t index : order) {
    const Block& block = blocks[index];
    if (block.size == 0) continue;
    const size_t alignment = std::max(block.alignment, kMinAlignment);
    size_t best_offset = SIZE_MAX;
    size_t best_gap = SIZE_MAX;
    size_t end = 0;  // of the blocks seen so far that are alive together with this one
    for (const size_t other_index : placed) {
      const Block& other = blocks[other_index];
      if (other.last_use < block.first_use || block.last_use < other.first_use) continue;
      const size_t offset = round_up(end, alignment);
      const size_t other_offset = plan.offsets[other_index];
      if (other_offset >= offset && other_offset - offset >= block.size && other_offset - end < best_gap) {
        best_gap = other_offset - end;
        best_offset = offset;
      }
      end = std::max(end, other_offset + other.size);
    }
    if (best_offset == SIZE_MAX) best_offset = round_up(end, alignment);
    plan.offsets[index] = best_offset;
    plan.total = std::max(plan.total, best_offset + block.size);
    if (plan.total > kLimit) throw_error(ErrorCode::out_of_memory, "the activations need more than ", kLimit, " bytes");
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  index);
  }
  plan.total = round_up(plan.total, kMinAlignment);
  return plan;
}

size_t peak_bytes(const std::vector<Block>& blocks) {
  std::map<int64_t, std::pair<size_t, size_t>> events;  // step -> bytes that begin there, bytes whose last step it is
  for (const Block& block : blocks) {
    check(block);
    events[block.first_use].first += block.size;
    events[block.last_use].second += block.size;
  }
  size_t now = 0;
  size_t peak = 0;
  for (const auto& [step, bytes] : events) {
    now += bytes.first;
    peak = std::max(peak, now);
    now -= bytes.second;
  }
  return peak;
}

}  // namespace terroir::memory
