#pragma once
// What: which iteration of the loops around it a layer of a body runs in, for layers that would else do the same in
// each: those that draw random numbers.
// Formula: 0, 1, ... in a loop that no other surrounds; a loop in its body goes on from where the one of the iteration
// before has stopped. So no layer has a number twice in one inference, and every inference gives the same ones.
// Threads: of the thread that runs the loops.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace terroir::ops::reference {

/// The two seeds of a sequence of random numbers.
using SequenceId = std::array<uint64_t, 2>;

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
  friend uint64_t drawn_before(const SequenceId& id, uint64_t count);

  struct Sequence {
    SequenceId id;
    size_t depth;
    uint64_t iteration;  // that drew last
    uint64_t before;     // how many numbers were drawn before it
    uint64_t drawn;      // and by it
  };

  RunningLoop* outer_;
  RunningLoop* outermost_;
  size_t depth_;
  uint64_t iteration_ = 0;
  // Of the outermost loop: iterations at each depth, and what they draw. Loops that lie deeper count with those of the
  // last one.
  std::array<uint64_t, 4> begun_{};
  std::vector<Sequence> sequences_;
};

/// 0 outside of loops.
uint64_t current_iteration();

/// For a layer that draws `count` numbers of a sequence: how many the iterations before this one have drawn. Layers of
/// one iteration that have the same seeds draw the same numbers, as they do outside of loops, so of these the one
/// counts that draws most.
uint64_t drawn_before(const SequenceId& id, uint64_t count);

}  // namespace terroir::ops::reference
