#include "plugins/cpu/run.hpp"

#include <algorithm>

#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "runtime/memory/arena_buffer.hpp"

namespace terroir::cpu {

char* ActivationMemory::at_least(size_t bytes, const parallel::Arena& threads) {
  if (bytes > buffer_.size()) {
    // A little more than before at least: sizes that creep up must not cost new pages every time.
    const size_t more = std::max(bytes, buffer_.size() + buffer_.size() / 16);
    buffer_ = {};
    buffer_ = memory::allocate_arena(more, threads);
  }
  return buffer_.as<char>();
}

namespace {

/// Where there is no room, the error names the step whose scratch takes most of it.
char* memory_of(const Plan& plan, ActivationMemory& memory, const parallel::Arena& threads) {
  try {
    return memory.at_least(plan.arena_bytes, threads);
  } catch (Exception& error) {
    for (const Step& step : plan.steps) {
      const SlotNeed of_slots = step.executor->slot_need(threads.threads());
      const size_t scratch = step.executor->scratch_bytes(threads.threads()) + of_slots.bytes * of_slots.slots;
      if (scratch <= plan.arena_bytes / 2) continue;
      error.add_context(concat(step.where, ", which asks for ", scratch, " bytes of scratch"));
      break;
    }
    throw;
  }
}

}  // namespace

PlanState::PlanState(std::shared_ptr<const Plan> plan, const parallel::Arena& threads,
                     std::shared_ptr<ActivationMemory> memory)
    : plan_(std::move(plan)),
      memory_(std::move(memory)),
      input_patches_(plan_->inputs.size()),
      output_patches_(plan_->outputs.size()) {
  for (const int64_t count : plan_->texts) texts_.push_back(allocate_elements(element::string, count));
  const auto append = [&](const Slot& slot) {
    void* pointer = nullptr;
    switch (slot.kind) {
      case Slot::Kind::none:
        break;
      case Slot::Kind::arena:
        memory_patches_.push_back({pointers_.size(), slot.offset});
        break;
      case Slot::Kind::constant:
        pointer = const_cast<void*>(slot.pointer);
        break;  // steps only read their inputs
      case Slot::Kind::texts:
        pointer = static_cast<char*>(texts_[static_cast<size_t>(slot.index)].get()) + slot.offset;
        break;
      case Slot::Kind::model_input:
        input_patches_[static_cast<size_t>(slot.index)].push_back({pointers_.size(), slot.offset});
        break;
      case Slot::Kind::model_output:
        output_patches_[static_cast<size_t>(slot.index)].push_back({pointers_.size(), slot.offset});
        break;
    }
    pointers_.push_back(pointer);
  };
  for (const Step& step : plan_->steps) {
    first_.push_back(pointers_.size());
    for (const Slot& slot : step.inputs) append(slot);
    for (const Slot& slot : step.outputs) append(slot);
  }
  point_into(memory_of(*plan_, *memory_, threads));
}

void PlanState::point_into(char* memory) {
  if (memory == base_) return;
  for (const Patch& patch : memory_patches_) pointers_[patch.pointer] = memory + patch.offset;
  base_ = memory;
}

void PlanState::bind_input(size_t index, const void* data) {
  for (const Patch& patch : input_patches_[index])
    pointers_[patch.pointer] = const_cast<char*>(static_cast<const char*>(data)) + patch.offset;
}

void PlanState::bind_output(size_t index, void* data) {
  for (const Patch& patch : output_patches_[index]) pointers_[patch.pointer] = static_cast<char*>(data) + patch.offset;
}

void PlanState::run(const parallel::Arena& threads, const std::atomic<bool>& cancelled,
                    std::chrono::nanoseconds* times) {
  point_into(memory_of(*plan_, *memory_, threads));
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    if (cancelled.load(std::memory_order_relaxed)) return;
    const Step& step = plan_->steps[i];
    void** inputs = pointers_.data() + first_[i];
    const RunArgs args{inputs,
                       inputs + step.inputs.size(),
                       base_ + step.scratch_offset,
                       {base_ + step.slots_offset, step.slot_stride},
                       threads,
                       step.ahead};
    const bool timed = times || log_enabled(LogCategory::exec);
    const auto start = timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
    try {
      step.executor->run(args);
    } catch (Exception& error) {
      error.add_context(step.where);
      throw;
    }
    if (!timed) continue;
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    if (times) times[i] = time;
    TERROIR_LOG(exec, step.type, " '", step.name, "' ", step.kernel, " ", step.layouts, " ",
                static_cast<double>(time.count()) / 1e3, " us");
  }
}

}  // namespace terroir::cpu
