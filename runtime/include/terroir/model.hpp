// A model: a graph of layers with named inputs and outputs.
//
// What: what Core::read_model() and ModelBuilder::build() return, and what is made of layers written in code. Its ports
//       and layers are handles that see its changes.
// Threads: one thread may change a model while no other uses it; compiled models are independent of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/export.hpp"
#include "terroir/node.hpp"
#include "terroir/op/ends.hpp"
#include "terroir/partial_shape.hpp"
#include "terroir/tensor.hpp"
#include "terroir/variable.hpp"

namespace terroir {

namespace detail {
struct ModelAccess;
}

using ParameterVector = std::vector<std::shared_ptr<op::v0::Parameter>>;
using ResultVector = std::vector<std::shared_ptr<op::v0::Result>>;
/// Layers that act without a result: Assign.
using SinkVector = NodeVector;

class TERROIR_API Model : public std::enable_shared_from_this<Model> {
  using VariableShapes = std::unordered_map<std::string, PartialShape>;

 public:
  /// Of layers made in code (terroir/ops.hpp): all those that the results need. The handles of the layers are then
  /// handles into this model; a second model of the same layers is a copy of its own. An output that is no Result gets
  /// one. Throws Exception (invalid_argument) without results, for a Parameter that is needed but not listed or listed
  /// twice, and for layers of different models.
  Model(const OutputVector& results, const ParameterVector& parameters, const std::string& name = {});
  Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name = {});
  Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const std::string& name = {});
  Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const std::string& name = {});
  /// With `variables` as add_variables() takes them.
  Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const op::util::VariableVector& variables, const std::string& name = {});
  Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const op::util::VariableVector& variables, const std::string& name = {});
  Model(const ResultVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
        const std::string& name = {});
  Model(const OutputVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
        const std::string& name = {});
  Model(const NodeVector& results, const ParameterVector& parameters, const std::string& name = {});
  Model(const std::shared_ptr<Node>& result, const ParameterVector& parameters, const std::string& name = {});
  /// The Parameters in the order in which they were made.
  explicit Model(const OutputVector& results, const std::string& name = {});
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  const std::string get_friendly_name() const;
  void set_friendly_name(const std::string& name);
  const std::string get_name() const { return get_friendly_name(); }

  /// Inputs and outputs in the order of the file. Without argument: the only one. These throw Exception: not_found for
  /// a name or index there is not, invalid_argument if there are several and none was chosen. A name is a tensor name,
  /// or else the name of the layer.
  std::vector<Output<Node>> inputs();
  std::vector<Output<const Node>> inputs() const;
  Output<Node> input();
  Output<const Node> input() const;
  Output<Node> input(size_t index);
  Output<const Node> input(size_t index) const;
  Output<Node> input(const std::string& name);
  Output<const Node> input(const std::string& name) const;
  std::vector<Output<Node>> outputs();
  std::vector<Output<const Node>> outputs() const;
  Output<Node> output();
  Output<const Node> output() const;
  Output<Node> output(size_t index);
  Output<const Node> output(size_t index) const;
  Output<Node> output(const std::string& name);
  Output<const Node> output(const std::string& name) const;
  size_t get_output_size() const;
  const element::Type get_output_element_type(size_t index) const;
  const PartialShape get_output_partial_shape(size_t index) const;
  const Shape get_output_shape(size_t index) const;

  /// The layer of the only output; Exception (invalid_argument) if there are several.
  std::shared_ptr<Node> get_result() const;
  /// The layer (of type Result) of output `index`. Throws Exception (not_found).
  std::shared_ptr<Node> get_output_op(size_t index) const;
  /// Which input a Parameter is, which output a Result or the port is that feeds one; -1 if none of this model.
  int64_t get_parameter_index(const std::shared_ptr<Node>& parameter) const;
  int64_t get_result_index(const Output<Node>& value) const;
  int64_t get_result_index(const Output<const Node>& value) const;

  /// Makes the tensor of this name an output, too, unless it is one. Throws Exception (not_found).
  Output<Node> add_output(const std::string& tensor_name);
  /// The same for output `index` of the layer with this name. Throws Exception (not_found).
  Output<Node> add_output(const std::string& layer_name, size_t index);
  /// The same for a port. Throws Exception (not_found) for another model's.
  Output<Node> add_output(const Output<Node>& port);

  /// Inputs, outputs and sinks that were made in code, behind those there are; what they stand on, and what was made on
  /// them, comes along. A Parameter that layers of the model came to read (Input::replace_source_output()), but that is
  /// not added, is an error when the model is used next. Throw Exception (invalid_argument) for a null pointer, for
  /// what the model has in its list already, for layers of another model and for a sink that is no Assign; then nothing
  /// is added.
  void add_results(const ResultVector& results);
  void add_parameters(const ParameterVector& parameters);
  void add_sinks(const SinkVector& sinks);
  /// Takes one from the list of inputs, outputs or sinks. It may be added again. A model that still needs the
  /// Parameter, or has neither result nor sink left, is an error when it is used next. Throw Exception: not_found for
  /// what is not in the list, invalid_argument for a null pointer.
  void remove_result(const std::shared_ptr<op::v0::Result>& result);
  void remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter);
  void remove_sink(const std::shared_ptr<Node>& sink);
  /// Puts another Parameter in the place of input `index`, with its readers and its tensor names. Throws Exception:
  /// not_found for an input there is not, and as add_parameters().
  void replace_parameter(size_t index, const std::shared_ptr<op::v0::Parameter>& parameter);
  /// As terroir::replace_node(). Throws Exception (not_found) for a layer of another model.
  void replace_node(const std::shared_ptr<Node>& old_node, const std::shared_ptr<Node>& new_node);

  /// Layers in the order of the file; get_ordered_ops: each after those it reads.
  NodeVector get_ops() const;
  NodeVector get_ordered_ops() const;
  /// Calls `visit` with each layer.
  template <typename Visit>
  void map_unordered_ops(const Visit& visit) const {
    for (const std::shared_ptr<Node>& layer : get_ops()) visit(layer.get());
  }
  const ParameterVector get_parameters() const;
  const ResultVector get_results() const;

  /// Layers that act but are no output: Assign.
  const std::vector<std::shared_ptr<Node>> get_sinks() const;
  /// The variables of a model with state, in the order in which its layers use them; by name: null if there is none.
  const op::util::VariableVector get_variables() const;
  /// The variables that its layers use need not be added. One that no layer uses is known until it is removed; copies
  /// of the model and files do not have it. Throws Exception (invalid_argument) for a null pointer.
  void add_variables(const op::util::VariableVector& variables);
  /// Throws Exception: not_found for a variable there is not, invalid_argument for one that layers use.
  void remove_variable(const op::util::Variable::Ptr& variable);
  op::util::Variable::Ptr get_variable_by_id(const std::string& variable_id) const;

  /// Infers all types and shapes anew. Throws Exception with the layer's name, and then the model stays as it was.
  void validate_nodes_and_infer_types() const;
  /// Bytes of the constants, and of what describes the layers.
  size_t get_graph_size() const;
  /// Computes the outputs with the slow references, in the calling thread; `outputs` get as many tensors as the model
  /// has outputs, those that are there are used. Throws what went wrong; true otherwise.
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const;

  /// Whether the shape of any layer is not known.
  bool is_dynamic() const;

  /// Changes the shapes of inputs and infers all others anew. Throws Exception, and then the model stays as it was:
  /// not_found for a port there is not, and whatever the layer says that refuses its new input (its name is in the
  /// text). The first form is for a model with one input. `variable_shapes`: those of variables, by name. Where only
  /// the first extent of inputs becomes another, Reshapes to [that extent, ...] follow it, as far as the model needs
  /// it.
  void reshape(const PartialShape& shape, const VariableShapes& variable_shapes = {});
  void reshape(const std::map<size_t, PartialShape>& shapes, const VariableShapes& variable_shapes = {});
  void reshape(const std::map<std::string, PartialShape>& shapes, const VariableShapes& variable_shapes = {});
  void reshape(const std::map<Output<Node>, PartialShape>& shapes, const VariableShapes& variable_shapes = {});

  /// An independent copy; the weights are shared.
  std::shared_ptr<Model> clone() const;

  /// The model's runtime information: nested maps, of texts where a file was read. All of it is written to files.
  AnyMap& get_rt_info();
  const AnyMap& get_rt_info() const;
  /// The value at a path, e.g. get_rt_info<std::string>("conversion_parameters", "framework").
  /// Throws Exception (not_found).
  template <typename T, typename... Keys>
  T get_rt_info(const Keys&... path) const {
    return get_rt_info<T>(std::vector<std::string>{std::string(path)...});
  }
  template <typename T>
  T get_rt_info(const std::vector<std::string>& path) const {
    if constexpr (std::is_same_v<T, Any>) {
      return rt_info_at(path);
    } else {
      return rt_info_at(path).template as<T>();
    }
  }
  template <typename... Keys>
  bool has_rt_info(const Keys&... path) const {
    return has_rt_info_at({std::string(path)...});
  }
  bool has_rt_info(const std::vector<std::string>& path) const { return has_rt_info_at(path); }
  /// Sets the value at a path, and makes the path as needed.
  template <typename... Keys>
  void set_rt_info(const Any& value, const Keys&... path) {
    set_rt_info_at(value, {std::string(path)...});
  }
  void set_rt_info(const Any& value, const std::vector<std::string>& path) { set_rt_info_at(value, path); }

 private:
  friend struct detail::ModelAccess;
  explicit Model(std::shared_ptr<detail::GraphState> state);
  const Any& rt_info_at(const std::vector<std::string>& path) const;
  bool has_rt_info_at(const std::vector<std::string>& path) const;
  void set_rt_info_at(const Any& value, const std::vector<std::string>& path);

  std::shared_ptr<detail::GraphState> state_;
};

/// The name, then the layers in order, one a line.
TERROIR_API std::ostream& operator<<(std::ostream& out, const Model& model);

/// The extent of axis N, which the layouts of the inputs name. Throws Exception: invalid_argument if no input has a
/// layout with N, or two inputs disagree.
TERROIR_API Dimension get_batch(const std::shared_ptr<const Model>& model);
/// Reshapes every input whose layout has N, and Reshapes to [the batch so far, ...] follow. Throws Exception as
/// get_batch() and Model::reshape().
TERROIR_API void set_batch(const std::shared_ptr<Model>& model, Dimension batch);

}  // namespace terroir
