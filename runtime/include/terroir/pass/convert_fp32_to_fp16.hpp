// A model of halves: what is f32 in a model becomes f16.
#pragma once

#include <memory>

#include "terroir/export.hpp"
#include "terroir/pass/pass.hpp"

namespace terroir {
namespace pass {

/// Constants, inputs, variables and what layers are told to make (Convert, RandomUniform ...): all of f32 is f16
/// afterwards, in bodies of layers too, and so are the outputs that follow. Values beyond the largest half become it.
/// What a device computes in is another matter (hint::inference_precision); save_model() halves a file and leaves
/// inputs and outputs.
class TERROIR_API ConvertFP32ToFP16 : public ModelPass {
 public:
  /// Whether anything was f32. Throws Exception for a layer that does not take halves; the model is as it was then.
  bool run_on_model(const std::shared_ptr<Model>& model) override;
};

}  // namespace pass
}  // namespace terroir
