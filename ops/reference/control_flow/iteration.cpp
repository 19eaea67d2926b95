#include "ops/reference/control_flow/iteration.hpp"

#include <algorithm>

namespace terroir::ops::reference {
namespace {

thread_local RunningLoop* innermost = nullptr;

}  // namespace

RunningLoop::RunningLoop()
    : outer_(innermost),
      outermost_(outer_ ? outer_->outermost_ : this),
      depth_(outer_ ? std::min(outer_->depth_ + 1, begun_.size() - 1) : 0) {
  innermost = this;
}

RunningLoop::~RunningLoop() { innermost = outer_; }

void RunningLoop::begin_iteration() { iteration_ = outermost_->begun_[depth_]++; }

uint64_t current_iteration() { return innermost ? innermost->iteration_ : 0; }

uint64_t drawn_before(const SequenceId& id, uint64_t count) {
  if (!innermost) return 0;
  auto& all = innermost->outermost_->sequences_;
  auto known = std::find_if(all.begin(), all.end(),
                            [&](const auto& one) { return one.id == id && one.depth == innermost->depth_; });
  if (known == all.end()) known = all.insert(known, {id, innermost->depth_, innermost->iteration_, 0, 0});
  if (known->iteration != innermost->iteration_) {
    known->iteration = innermost->iteration_;
    known->before += known->drawn;
    known->drawn = 0;
  }
  known->drawn = std::max(known->drawn, count);
  return known->before;
}

}  // namespace terroir::ops::reference
