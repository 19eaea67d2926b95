#pragma once
// What: what rounding explains: how far the results of a device may be from the interpreter's.
// How: the interpreter runs a few times more, with the results of every operation of class `rounding` moved by some
// units of the last place: of the element; of the terms that it adds, where it is a sum of products, as they cancel
// out; and of the tensor's largest element, which algorithms that transform tiles lose. An element may be as far off as
// a few times what that changes. Results of operations of class `exact` are not moved: they must agree exactly, unless
// they depend on others. FakeQuantize jumps: of what comes so near to a step that rounding decides, both sides are as
// right; the runs take one, the other, and either by chance.
#include <string>
#include <vector>

#include "tests/differential/pins.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {

class RoundingBounds {
 public:
  /// Of a model with these inputs.
  RoundingBounds(const interpreter::Program& program, const Tensors& inputs, const Pins& pins, Random& random);

  /// What is wrong with `actual` as result `result` of the model, where the interpreter has `expected`; empty: nothing.
  std::string beyond(size_t result, const HostTensor& expected, const HostTensor& actual) const;

  /// By element: how far off it may be. Empty where the elements must agree exactly.
  std::vector<double> allowed(size_t result, const HostTensor& expected) const;

 private:
  /// The results of the interpreter with every rounded value moved; none where an operation refuses that.
  void add_moved_run(const interpreter::Program& program, const Tensors& inputs, const Pins& pins, Random& random);
  /// Keeps what rounded values FakeQuantize reads when nothing is moved.
  void keep_steady(const interpreter::Program& program, const Tensors& inputs, const Pins& pins);
  bool size_depends_on_rounding(size_t result, const HostTensor& expected) const;

  std::vector<bool> rounded_;                // by result
  std::vector<Tensors> moved_;               // by run
  std::map<ir::NodeId, HostTensor> terms_;   // of sums: their terms without signs
  std::map<ir::NodeId, HostTensor> steady_;  // of FakeQuantize: its data where nothing is moved
};

}  // namespace terroir::test
