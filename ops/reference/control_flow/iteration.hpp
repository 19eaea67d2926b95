#pragma once
// What: which iteration of the loops around it a layer of a body runs in, for layers that would else do the same in
// each: those that draw random numbers.
// Formula: 0, 1, ... in a loop that no other surrounds; a loop in its body goes on from where the one of the iteration
// before has stopped. So no layer has a number twice in one inference, and every inference gives the same ones.
// Threads: of the thread that runs the loops.
#include <array>
#include <cstddef>
#include <cstdint>

namespace terroir::ops::reference {

/// A loop, for as long as it runs.
class RunningLoop {
 public:
  RunningLoop();
  ~RunningLoop();
  RunningLoop(const RunningLoop&) = delete;
  RunningLoop& operator=(const RunningLoop&) = delete;

  /// Before each iteration.
  void begin_iteration();

 private:
  friend uint64_t current_iteration();

  RunningLoop* outer_;
  RunningLoop* outermost_;
  size_t depth_;
  uint64_t iteration_ = 0;
  // Of the outermost loop: iterations at each depth. Loops that lie deeper count with those of the last one.
  std::array<uint64_t, 4> begun_{};
};

/// 0 outside of loops.
uint64_t current_iteration();

}  // namespace terroir::ops::reference
