#include "plugins/cpu/spare_buffers.hpp"

#include <algorithm>
#include <atomic>

#include "ir/base/element_memory.hpp"
#include "ir/base/tensor_view.hpp"

namespace terroir::cpu {
namespace {

// Smaller ones an allocator keeps itself; of larger ones, as many as a model's next few results need.
constexpr size_t kLeastBytes = 131072, kMostKept = 8;

}  // namespace

std::shared_ptr<void> SpareBuffers::get(element::Type type, int64_t count) {
  const size_t bytes = type == element::string ? 0 : ir::byte_size(type, count);
  if (bytes < kLeastBytes) return allocate_elements(type, count);
  const auto is_free = [](const Kept& kept) { return kept.memory.use_count() == 1; };
  const auto fits = [&](const Kept& kept) { return is_free(kept) && kept.bytes >= bytes && kept.bytes / 2 <= bytes; };
  if (const auto found = std::find_if(kept_.begin(), kept_.end(), fits); found != kept_.end()) {
    // use_count() orders nothing by itself: what the last holder read comes before what will be written.
    std::atomic_thread_fence(std::memory_order_acquire);
    return found->memory;
  }
  if (kept_.size() >= kMostKept) std::erase_if(kept_, is_free);
  auto memory = allocate_elements(type, count);
  if (kept_.size() < kMostKept) kept_.push_back({memory, bytes});
  return memory;
}

}  // namespace terroir::cpu
