#pragma once
// What: Executor, one step of a finished plan: everything decided, ready to run on pointers. Immutable, so one compiled
// model serves many requests at once.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

/// Constants that one slice of a step's loop reads first.
struct FirstConstants {
  std::span<const std::byte> bytes;
  bool all = false;  // the step reads no others, and little else: it is as fast as they arrive
};

/// Memory of the slots of a loop. That of one slot lies at the same place for all steps, where the plan has room for
/// it: the slot's thread finds it in its own cache, and no line of it in another's.
struct SlotMemory {
  char* begin = nullptr;
  size_t stride = 0;

  template <typename T>
  T* of(int64_t slot) const noexcept {
    return reinterpret_cast<T*>(begin + static_cast<size_t>(slot) * stride);
  }
};

/// What a step wants of it: bytes of each slot, and the number of slots.
struct SlotNeed {
  size_t bytes = 0;
  size_t slots = 0;
};

/// Memory of one run. Pointers are 64-byte aligned unless they are a user's tensor, or a part of
/// a joined one: then they are aligned like one element.
struct RunArgs {
  /// By input of the node; null where LayoutChoice says the input is not read at run time, or where a joined input lies
  /// in its place already.
  const void* const* inputs;
  void* const* outputs;
  /// Executor::scratch_bytes() of memory that only this run touches.
  void* scratch;
  /// Executor::slot_need() of it; each slot's is 64-byte aligned, and only the tasks in that slot touch it.
  SlotMemory slots;
  const parallel::Arena& arena;
  /// By slice of a loop: what the same slices of the steps that follow read first, which this one may fetch into cache
  /// while it computes.
  std::span<const std::vector<FirstConstants>> ahead = {};
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Fast executors are noexcept. Those over reference kernels throw terroir::Exception on data the op forbids.
  virtual void run(const RunArgs& args) const = 0;
  /// For `threads` concurrent slices of one run.
  virtual size_t scratch_bytes(int /*threads*/) const { return 0; }
  /// Likewise, for loops whose slots have memory of their own.
  virtual SlotNeed slot_need(int /*threads*/) const { return {}; }
  /// What slice `slice` of a loop on `threads` threads reads first; once the weights are packed.
  virtual FirstConstants first_constants(int /*threads*/, int64_t /*slice*/) const noexcept { return {}; }
  /// Tables that grow with the extents of the node, in bytes; packed weights do not count.
  virtual size_t table_bytes() const { return 0; }
  /// The kernel as profiles print it: "f32_conv_direct_nChw16c__avx512", "ref:any".
  virtual std::string kernel_name() const = 0;
};

}  // namespace terroir::cpu
