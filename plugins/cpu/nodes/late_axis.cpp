#include "plugins/cpu/nodes/late_axis.hpp"

#include <algorithm>

#include "ops/shape/inputs.hpp"
#include "plugins/cpu/nodes/indices.hpp"

namespace terroir::cpu {
namespace {

class LateAxisExecutor final : public Executor {
 public:
  LateAxisExecutor(std::vector<std::unique_ptr<const Executor>> by_axis, size_t axis, element::Type axis_type)
      : by_axis_(std::move(by_axis)), axis_(axis), axis_type_(axis_type) {}

  void run(const RunArgs& args) const override {
    with_indices(axis_type_, args.inputs[axis_], [&](const auto* axis) {
      by_axis_[static_cast<size_t>(ops::normalize_axis(*axis, static_cast<int64_t>(by_axis_.size())))]->run(args);
    });
  }
  size_t scratch_bytes(int threads) const override {
    size_t most = 0;
    for (const auto& executor : by_axis_) most = std::max(most, executor->scratch_bytes(threads));
    return most;
  }
  SlotNeed slot_need(int threads) const override {
    SlotNeed most;
    for (const auto& executor : by_axis_) {
      const SlotNeed need = executor->slot_need(threads);
      most = {std::max(most.bytes, need.bytes), std::max(most.slots, need.slots)};
    }
    return most;
  }
  size_t table_bytes() const override {
    size_t sum = 0;
    for (const auto& executor : by_axis_) sum += executor->table_bytes();
    return sum;
  }
  /// The first fast kernel, and whether other axes have none: which it is, the run decides.
  std::string kernel_name() const override {
    std::string fast, reference;
    for (const auto& executor : by_axis_) {
      const std::string name = executor->kernel_name();
      std::string& kind = name.starts_with("ref") ? reference : fast;
      if (kind.empty()) kind = name;
    }
    return fast.empty() || reference.empty() ? fast + reference : fast + " or " + reference;
  }

 private:
  std::vector<std::unique_ptr<const Executor>> by_axis_;
  size_t axis_;
  element::Type axis_type_;
};

}  // namespace

std::unique_ptr<const Executor> late_axis(std::vector<std::unique_ptr<const Executor>> by_axis, size_t axis,
                                          element::Type axis_type) {
  return std::make_unique<LateAxisExecutor>(std::move(by_axis), axis, axis_type);
}

}  // namespace terroir::cpu
