#pragma once
// What: the interpreter's results of a model, and whether rounding explains what a device has in their place.
#include <memory>
#include <optional>
#include <string>

#include "tests/differential/rounding.hpp"
#include "tests/differential/runs.hpp"

namespace terroir::test {

/// The graph as a first inference sees it: variables are what they are set to.
std::shared_ptr<const ir::Graph> first_inference(const ir::Graph& graph);

class Oracle {
 public:
  /// Runs the interpreter. `random`: for the bounds; it must outlive this.
  Oracle(std::shared_ptr<const ir::Graph> graph, const Tensors& inputs, Random& random);

  const Run& expected() const { return expected_; }

  /// What of `actual`, results of CPU by the instruction set in force, is beyond rounding; empty: nothing. Neither run
  /// is a refusal. The instruction set is that of the first call, as images of integers (resampled.hpp) are compared
  /// with what CPU makes of them.
  std::string fault(const Run& actual);

 private:
  void find_bounds();

  std::shared_ptr<const ir::Graph> graph_, first_;
  const Tensors inputs_;
  Random& random_;
  std::optional<interpreter::Program> program_;
  Run expected_;
  Pins pins_;
  Tensors with_pins_;
  std::string pins_fault_;
  bool grows_ = false;
  std::optional<RoundingBounds> bounds_;
};

}  // namespace terroir::test
