#include "ir/base/error.hpp"
#include "ir/graph/graph.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/api/framework_node.hpp"
#include "runtime/plugin/variables.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

bool Model::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  if (inputs.size() != state_->graph->parameters().size()) {
    throw_error(ErrorCode::invalid_argument, "the model has ", state_->graph->parameters().size(), " inputs, got ",
                inputs.size(), " tensors");
  }
  const std::shared_ptr<const ir::Graph> graph = state_->needed_graph();
  detail::require_known_layers(*graph);
  plugin::PluginRegistry plugins;
  plugin::register_builtin_plugins(plugins);
  CompiledModel compiled = detail::RuntimeAccess::make(std::make_shared<detail::CompiledState>(
      plugin::compile_with_variables(plugins.get("INTERPRETER"), graph, plugin::Config())));
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

bool Node::has_evaluate() const {
  return !detail::is_named(*this, "Parameter") && !detail::is_named(*this, "ReadValue") &&
         !detail::is_named(*this, "Assign");
}

bool Node::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
  if (!has_evaluate()) return false;
  OutputVector constants;
  for (const Tensor& input : inputs) {
    const detail::NodeHandle constant = detail::make_constant(input);
    constants.push_back(detail::NodeAccess::port(constant.state, {static_cast<ir::NodeId>(constant.id), 0}));
  }
  return with_context([&] { return detail::NodeAccess::node(*this).describe(); },
                      [&] {
                        const Model layer(copy_with_new_inputs(constants)->outputs(), "");
                        for (size_t i = 0; i < outputs.size() && i < layer.get_output_size(); ++i) {
                          const PartialShape shape = layer.get_output_partial_shape(i);
                          if (outputs[i] && shape.is_static()) outputs[i].set_shape(shape.to_shape());
                        }
                        return layer.evaluate(outputs, {});
                      });
}

}  // namespace terroir
