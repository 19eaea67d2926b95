// Layers made in code before there is a model.
//
// What: a layer without inputs starts a graph of its own, a draft; any other goes into the graph of its inputs, and
//       drafts that meet at a layer become one. A Model gets a graph of its own with what its results need; the handles
//       of these layers are handles into the model from then on, those of others stay where they are.
// Cost: joining moves the smaller draft, so n layers cost O(n log n).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/api/graph_state.hpp"

namespace terroir::detail {

/// As make_open_layer() of terroir/op/layer.hpp.
NodeHandle make_open_layer(const ir::OpSchema& schema, const OutputVector& inputs);
struct OpenLayer {
  std::shared_ptr<GraphState> state;
  ir::NodeId id;
};
/// Where it is, in one draft with these inputs. Throws Exception (invalid_argument) for a layer of a model.
OpenLayer open_layer(const Node& layer, const OutputVector& inputs);
/// A layer of the same operation and attributes that reads `inputs`.
NodeHandle copy_layer(const Node& layer, const OutputVector& inputs);
/// A port of a layer of this state.
ir::Value value_in(const std::shared_ptr<GraphState>& state, const Output<Node>& port);

/// Makes a layer, with all that was made with it, part of a model's graph; its id there. Throws Exception
/// (invalid_argument) for a layer of another model.
ir::NodeId bring(const std::shared_ptr<GraphState>& model, const Node& layer);

/// The layer reads these from now on, see Node::set_arguments().
void set_arguments(const Node& layer, const OutputVector& sources);
/// Input `index` of the layer reads `source` from now on, see Input::replace_source_output().
void rewire(const Node& layer, size_t index, const Output<Node>& source);

/// The state of a new Model with these results, see the constructors of Model. No parameters given: all that are
/// needed, in the order in which they were made.
std::shared_ptr<GraphState> model_of_layers(const OutputVector& results, const NodeVector& sinks,
                                            const std::optional<NodeVector>& parameters, const std::string& name);

}  // namespace terroir::detail
