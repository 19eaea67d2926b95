// Steps of rewriting a model in code.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "terroir/model.hpp"
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

/// Calls `visit` with each layer, those that it reads before.
inline void traverse_nodes(const Model* model, const std::function<void(const std::shared_ptr<Node>&)>& visit) {
  for (const std::shared_ptr<Node>& layer : model->get_ordered_ops()) visit(layer);
}
inline void traverse_nodes(const std::shared_ptr<const Model>& model,
                           const std::function<void(const std::shared_ptr<Node>&)>& visit) {
  traverse_nodes(model.get(), visit);
}
/// The layers that these need, and they themselves: each behind what it reads and what it was said to come after.
template <typename Layers>
std::vector<std::shared_ptr<Node>> topological_sort(const Layers& roots) {
  NodeVector sorted, pending(roots.begin(), roots.end());
  std::reverse(pending.begin(), pending.end());
  const auto before = [](const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) {
    return Output<const Node>(a, 0) < Output<const Node>(b, 0);
  };
  std::map<std::shared_ptr<Node>, bool, decltype(before)> done(before);  // false: what it reads is on its way
  while (!pending.empty()) {
    const std::shared_ptr<Node> layer = pending.back();
    const auto [entry, is_new] = done.emplace(layer, false);
    if (is_new) {
      NodeVector needed = layer->get_control_dependencies();
      for (size_t i = layer->get_input_size(); i > 0; --i) needed.push_back(layer->get_input_node_shared_ptr(i - 1));
      for (const std::shared_ptr<Node>& other : needed) {
        if (done.count(other) == 0) pending.push_back(other);
      }
      continue;
    }
    pending.pop_back();
    if (!entry->second) sorted.push_back(layer);
    entry->second = true;
  }
  return sorted;
}
/// An independent copy.
inline std::shared_ptr<Model> clone_model(const Model& model) { return model.clone(); }
/// What reads the first of a pair reads the second instead: layers, and inputs of the model.
inline void replace_nodes(
    const std::shared_ptr<Model>& model,
    const std::unordered_map<std::shared_ptr<op::v0::Parameter>, std::shared_ptr<op::v0::Parameter>>& parameters,
    const std::unordered_map<std::shared_ptr<Node>, std::shared_ptr<Node>>& layers) {
  for (const auto& [before, after] : parameters)
    model->replace_parameter(static_cast<size_t>(model->get_parameter_index(before)), after);
  for (const auto& [before, after] : layers) replace_node(before, after);
}

}  // namespace terroir
