#pragma once
// What: models with variables (ReadValue, Assign) on devices that know none. Each variable's ReadValue becomes an input
// behind the model's own and its Assign an output, the graph between is an ordinary one, and a request carries the
// values from one inference to the next. Initial values are results of graphs of their own, one behind the other where
// they read other variables.
//   x, ReadValue(v, init) -> Add -> y, Assign(v)      =>      {x, v} -> Add -> {y, v'}      and      x -> init
// Shapes: a variable keeps the shape that ReadValue says; extents in which initial or assigned values differ from it
//         are unknown beforehand and may change from inference to inference.
// Edge cases: a variable that nothing assigns keeps its initial value; one without ReadValue is only stored. An
//             inference that fails or is cancelled changes no variable. Without an initial value: zeros of the shape
//             that ReadValue says, whatever is assigned later; extents that it leaves unknown are 0.
#include <memory>
#include <string>
#include <vector>

#include "runtime/plugin/plugin.hpp"

namespace terroir::plugin {

/// A graph with its variables as inputs and outputs.
struct LiftedGraph {
  static constexpr size_t kNone = static_cast<size_t>(-1);
  struct Variable {
    VariableInfo info;                     // its shape is that of all values
    PartialShape declared;                 // by ReadValue: that of the zeros it starts with
    size_t input = kNone, output = kNone;  // of `graph`
  };
  /// Computes the initial values of some variables.
  struct InitialValues {
    std::shared_ptr<ir::Graph> graph;  // inputs: those of the model, then `reads`; results: `gives`
    std::vector<size_t> reads, gives;  // variables
  };
  std::shared_ptr<ir::Graph> graph;
  size_t inputs = 0, outputs = 0;             // the model's own, which come first
  std::vector<InitialValues> initial_values;  // each reads what those before it give
  std::vector<Variable> variables;
};

/// Variables in bodies are moved out first: see hoist_variables.hpp.
/// Exception with the layer's name: unsupported for variables of strings or assigned twice, type_mismatch for values of
/// another type.
LiftedGraph lift_variables(const ir::Graph& graph);

/// plugin.compile(graph, config), with variables kept by the requests.
std::shared_ptr<const CompiledGraph> compile_with_variables(const Plugin& plugin,
                                                            std::shared_ptr<const ir::Graph> graph,
                                                            const Config& config);

}  // namespace terroir::plugin
