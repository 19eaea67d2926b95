// Steps of rewriting a model in code.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "terroir/node_input.hpp"
#include "terroir/rt_info.hpp"

namespace terroir {

namespace detail {

inline bool feeds_result(const Output<Node>& value) {
  const auto readers = value.get_target_inputs();
  return std::any_of(readers.begin(), readers.end(),
                     [](const Input<Node>& input) { return is_named(*input.get_node(), "Result"); });
}

}  // namespace detail

namespace op {
namespace util {

inline bool is_parameter(const Node* layer) { return terroir::detail::is_named(*layer, "Parameter"); }
inline bool is_parameter(const std::shared_ptr<const Node>& layer) { return is_parameter(layer.get()); }
inline bool is_output(const Node* layer) { return terroir::detail::is_named(*layer, "Result"); }
inline bool is_output(const std::shared_ptr<const Node>& layer) { return is_output(layer.get()); }
inline bool is_constant(const Node* layer) { return terroir::detail::is_named(*layer, "Constant"); }
inline bool is_constant(const std::shared_ptr<const Node>& layer) { return is_constant(layer.get()); }
inline bool is_sink(const Node* layer) { return terroir::detail::is_named(*layer, "Assign"); }
inline bool is_sink(const std::shared_ptr<const Node>& layer) { return is_sink(layer.get()); }

}  // namespace util
}  // namespace op

/// Takes the layer of `output` out: what reads it reads `replacement`, which gets the layer's name where that names an
/// output of the model, and the runtime information of both. False, and nothing done, where such a name would be lost:
/// the layer has other outputs, or the replacement is an input or feeds an output of the model itself.
inline bool replace_output_update_name(Output<Node> output, const Output<Node>& replacement) {
  const auto layer = output.get_node_shared_ptr(), other = replacement.get_node_shared_ptr();
  if (detail::feeds_result(output)) {
    if (layer->get_output_size() != 1 || detail::feeds_result(replacement) || op::util::is_parameter(other))
      return false;
    other->set_friendly_name(layer->get_friendly_name());
  }
  copy_runtime_info({other, layer}, other);
  output.replace(replacement);
  return true;
}

/// replace_node() by a layer that gets the name and the runtime information of the target. False, and nothing done, as
/// above for a replacement that is an input or feeds an output of the model while the target does so.
inline bool replace_node_update_name(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  for (const Output<Node>& output : target->outputs()) {
    if (detail::feeds_result(output) &&
        (op::util::is_parameter(replacement) || detail::feeds_result(replacement->output(output.get_index()))))
      return false;
  }
  replace_node(target, replacement);
  replacement->set_friendly_name(target->get_friendly_name());
  copy_runtime_info(target, replacement);
  return true;
}

}  // namespace terroir
