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

}  // namespace terroir::ops::reference
