// Loops that go on where they have stopped: what they carry from one iteration to the next stays for the next
// inference.
//
// Use: pass::Manager manager;
//      manager.register_pass<pass::LowLatency2>();
//      manager.run_passes(model);
// What: each value that a TensorIterator or a Loop carries along becomes a variable, "layer/parameter/variable_0": the
//       loop begins with it (ReadValue) and leaves its last value there (Assign); and so does each state of an LSTM,
//       GRU or RNN sequence, "layer/variable_0". So a model of a sequence is run part by part. Loops that run exactly
//       once become the layers of their body.
// Limits: loops in the bodies of other layers stay as they are.
#pragma once

#include <memory>

#include "terroir/export.hpp"
#include "terroir/pass/pass.hpp"

namespace terroir {
namespace pass {

class TERROIR_API LowLatency2 : public ModelPass {
 public:
  /// Variables are zeros at first, or, without `use_const_initializer`, what fed the loop.
  explicit LowLatency2(bool use_const_initializer = true) : zeros_(use_const_initializer) {}
  /// Throws Exception (invalid_argument) for zeros of a type that is not known.
  bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  bool zeros_;
};

}  // namespace pass
}  // namespace terroir
