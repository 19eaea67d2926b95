#include "ir/base/error.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/plugin/variables.hpp"

namespace terroir {

bool Model::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  if (inputs.size() != state_->graph->parameters().size()) {
    throw_error(ErrorCode::invalid_argument, "the model has ", state_->graph->parameters().size(), " inputs, got ",
                inputs.size(), " tensors");
  }
  plugin::PluginRegistry plugins;
  plugin::register_builtin_plugins(plugins);
  CompiledModel compiled = detail::RuntimeAccess::make(std::make_shared<detail::CompiledState>(
      plugin::compile_with_variables(plugins.get("INTERPRETER"), state_->needed_graph(), plugin::Config())));
  InferRequest request = compiled.create_infer_request();
  for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  outputs.resize(get_output_size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) request.set_output_tensor(i, outputs[i]);
  }
  request.infer();
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = request.get_output_tensor(i);
  return true;
}

}  // namespace terroir
