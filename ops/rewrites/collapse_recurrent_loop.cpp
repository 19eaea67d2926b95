#include <algorithm>

#include "ops/defs/movement/broadcast.hpp"
#include "ops/defs/movement/gather.hpp"
#include "ops/defs/sequence/recurrent.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/defs/shape/shape_of.hpp"
#include "ops/defs/shape/squeeze.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

using reference::CellKind;
using reference::Direction;
using Input = ir::BodyPortMap::Input;
using Output = ir::BodyPortMap::Output;

/// A value of the body behind ops that keep the order of elements.
struct Source {
  ir::Value value;
  bool reshaped = false;
};

Source source_of(const ir::Graph& body, ir::Value value) {
  Source source{value};
  for (const ir::Node* node = &body.node(source.value.node);
       node->is("Squeeze") || node->is("Unsqueeze") || node->is("Reshape"); node = &body.node(source.value.node))
    source = {node->inputs[0], true};
  return source;
}

bool is_cell(const ir::Node& node) { return node.is("LSTMCell") || node.is("GRUCell") || node.is("RNNCell"); }

const ir::Node* only_cell(const ir::Graph& body) {
  const ir::Node* cell = nullptr;
  for (const ir::NodeId id : body.nodes()) {
    if (!is_cell(body.node(id))) continue;
    if (cell) return nullptr;
    cell = &body.node(id);
  }
  return cell;
}

/// Whether the parts are single elements of the whole axis, one after another; the direction in `backwards`.
template <class Port>
bool walks_along(const Port& port, const Dimension& extent, bool& backwards) {
  backwards = port.stride < 0;
  const int64_t end = extent.is_static() ? extent.get_length() : -1;
  const auto is_end = [end](int64_t position) { return position == -1 || position == end; };
  const int64_t first = backwards ? port.end : port.start, last = backwards ? port.start : port.end;
  return port.part_size == 1 && (port.stride == 1 || port.stride == -1) && first == 0 && is_end(last);
}

template <CellKind Kind, bool FirstLstm = false>
std::unique_ptr<ir::Attributes> sequence_attributes(const ir::Node& cell, Direction direction) {
  const auto& from = cell.attrs<RecurrentAttrs<Kind, false, FirstLstm>>();
  RecurrentAttrs<Kind, true, FirstLstm> attrs;
  static_cast<reference::RecurrentParams&>(attrs) = from;
  attrs.weights_format = from.weights_format;
  attrs.direction = direction;
  return ir::make_attributes_of(std::move(attrs));
}

class Collapse {
 public:
  Collapse(const ir::OpRegistry& registry, const ir::Graph& graph, const ir::Node& loop, ir::Patch& patch)
      : registry_(registry),
        graph_(graph),
        loop_(loop),
        patch_(patch),
        body_(*loop.bodies.front().graph),
        ports_(loop.bodies.front().ports),
        new_nodes_(registry, patch, loop) {}

  /// Nothing is added to the patch unless everything fits.
  void run() {
    cell_ = only_cell(body_);
    if (!cell_ || !matches()) return;
    build();
  }

 private:
  // ---- what has to hold

  bool matches() {
    first_lstm_ = cell_->is("LSTMCell") && cell_->schema->opset == "opset1";
    states_ = cell_->is("LSTMCell") ? 2 : 1;
    if (!matches_data() || !matches_trip_count()) return false;
    for (int state = 0; state < states_; ++state)
      if (!matches_state(state)) return false;
    for (size_t i = first_weight(); i < cell_->inputs.size(); ++i)
      if (!is_invariant(cell_->inputs[i])) return false;
    return std::all_of(ports_.outputs.begin(), ports_.outputs.end(), [&](const Output& output) {
      return output.execution_condition || output.external_port < 0 || matches_output(output);
    });
  }

  size_t first_weight() const { return static_cast<size_t>(1 + states_); }
  const Input* fed_by(ir::NodeId parameter) const {
    const auto found = std::find_if(ports_.inputs.begin(), ports_.inputs.end(),
                                    [&](const Input& input) { return input.parameter == parameter; });
    return found == ports_.inputs.end() || found->current_iteration || found->external_port < 0 ? nullptr : &*found;
  }
  bool is_carried(ir::NodeId parameter) const {
    return std::any_of(ports_.back_edges.begin(), ports_.back_edges.end(),
                       [&](const auto& edge) { return edge.parameter == parameter; });
  }
  const ir::OutputPort& outer_port(const Input& input) const { return graph_.port(outer(input)); }
  ir::Value outer(const Input& input) const { return loop_.inputs[static_cast<size_t>(input.external_port)]; }

  bool matches_data() {
    const ir::NodeId parameter = source_of(body_, cell_->inputs[0]).value.node;
    data_ = fed_by(parameter);
    if (!data_ || !data_->axis || is_carried(parameter)) return false;
    const PartialShape& shape = outer_port(*data_).shape;
    if (shape.rank().is_dynamic() || shape.size() != 3 || shape[2].is_dynamic()) return false;
    time_axis_ = *data_->axis < 0 ? *data_->axis + 3 : *data_->axis;
    if (time_axis_ != 0 && time_axis_ != 1) return false;
    times_ = shape[time_axis_];
    batch_ = shape[1 - time_axis_];
    const PartialShape& weights = body_.port(cell_->inputs[first_weight()]).shape;
    return weights.rank().is_static() && weights.size() == 2 && weights[1] == shape[2] &&
           walks_along(*data_, times_, backwards_);
  }

  /// A Loop: exactly as many iterations as there are elements, whatever the values are.
  bool matches_trip_count() const {
    const auto other_slices = [&](const Input& input) { return &input != data_ && input.axis.has_value(); };
    if (std::any_of(ports_.inputs.begin(), ports_.inputs.end(), other_slices)) return false;
    if (loop_.is("TensorIterator")) return true;
    const auto trip_count = ir::constant_integers(graph_, loop_.inputs[0]);
    if (!trip_count || trip_count->size() != 1 || times_.is_dynamic() || trip_count->front() != times_.get_length())
      return false;
    const auto is_true = [](const ir::Graph& graph, ir::Value value) {
      const ir::Constant* constant = ir::constant_of(graph, value);
      return constant && constant->view.type == element::boolean && constant->view.count() == 1 &&
             *static_cast<const uint8_t*>(constant->view.data) != 0;
    };
    return is_true(graph_, loop_.inputs[1]) &&
           std::all_of(ports_.outputs.begin(), ports_.outputs.end(), [&](const Output& output) {
             return !output.execution_condition || is_true(body_, body_.node(output.result).inputs[0]);
           });
  }

  bool comes_from_cell(ir::NodeId result, int output) const {
    return source_of(body_, body_.node(result).inputs[0]).value == ir::Value{cell_->id, output};
  }

  bool matches_state(int state) {
    const Source source = source_of(body_, cell_->inputs[static_cast<size_t>(1 + state)]);
    const Input* input = fed_by(source.value.node);
    if (!input || input->axis) return false;
    const auto edge = std::find_if(ports_.back_edges.begin(), ports_.back_edges.end(),
                                   [&](const auto& e) { return e.parameter == source.value.node; });
    if (edge == ports_.back_edges.end() || !comes_from_cell(edge->result, state)) return false;
    const PartialShape& shape = outer_port(*input).shape;
    if (source.reshaped ? batch_.is_dynamic() || shape.is_dynamic() : shape.rank().is_dynamic()) return false;
    if (!source.reshaped && (shape.size() != 2 || !Dimension::merge(batch_, batch_, shape[0]))) return false;
    initial_[state] = {input, source.reshaped};
    return true;
  }

  bool is_invariant(ir::Value operand) const {
    const ir::Node& node = body_.node(operand.node);
    if (node.constant) return true;
    if (node.is("Convert")) return body_.node(node.inputs[0].node).constant.has_value();
    const Input* input = fed_by(operand.node);
    return input && !input->axis && !is_carried(operand.node);
  }

  bool matches_output(const Output& output) const {
    const PartialShape& shape = graph_.port({loop_.id, static_cast<int32_t>(output.external_port)}).shape;
    const Dimension size(hidden_size());
    if (!output.axis) {
      const bool from_cell = comes_from_cell(output.result, 0) || (states_ == 2 && comes_from_cell(output.result, 1));
      return from_cell && (shape == PartialShape{batch_, size} || (shape.is_static() && batch_.is_static()));
    }
    bool backwards = false;
    const int64_t axis = *output.axis < 0 ? *output.axis + 3 : *output.axis;
    return comes_from_cell(output.result, 0) && walks_along(output, times_, backwards) && backwards == backwards_ &&
           ((axis == 1 && shape == PartialShape{batch_, times_, size}) ||
            (axis == 0 && shape == PartialShape{times_, batch_, size}));
  }

  int64_t hidden_size() const { return recurrent_params(*cell_).hidden_size; }

  // ---- what it becomes

  ir::Value reshape(const char* type, ir::Value value, int64_t axis, const char* suffix) {
    auto attributes = std::string_view(type) == "Squeeze" ? ir::make_attributes_of(SqueezeAttrs{}) : nullptr;
    return new_nodes_.add(type, std::move(attributes), {value, new_nodes_.integers({axis}, "axis")}, suffix);
  }
  ir::Value reshaped(ir::Value value, const std::vector<int64_t>& shape, const char* suffix) {
    return new_nodes_.add("Reshape", ir::make_attributes_of(ReshapeAttrs{}),
                          {value, new_nodes_.integers(shape, "shape")}, suffix);
  }
  ir::Value transposed(ir::Value value, const char* suffix) {
    return new_nodes_.add("Transpose", nullptr, {value, new_nodes_.integers({1, 0, 2}, "order")}, suffix);
  }

  /// Every item of the batch has all elements of the time axis.
  ir::Value lengths(ir::Value x) {
    if (batch_.is_static() && times_.is_static())
      return new_nodes_.integers(std::vector<int64_t>(static_cast<size_t>(batch_.get_length()), times_.get_length()),
                                 "lengths");
    const ir::Value shape = new_nodes_.add("ShapeOf", ir::make_attributes_of(ShapeOfAttrs{}), {x}, "extents");
    const auto extent = [&](int64_t axis) {
      return new_nodes_.add("Gather", ir::make_attributes_of(GatherAttrs{}),
                            {shape, new_nodes_.integers({axis}, "axis"), new_nodes_.integers({0}, "axis")}, "extent");
    };
    return new_nodes_.add("Broadcast", ir::make_attributes_of(BroadcastAttrs{}), {extent(1), extent(0)}, "lengths");
  }

  ir::Value initial(int state) {
    const auto& [input, is_reshaped] = initial_[state];
    if (!is_reshaped) return reshape("Unsqueeze", outer(*input), 1, "initial");
    return reshaped(outer(*input), {batch_.get_length(), 1, hidden_size()}, "initial");
  }

  /// Weights with the axis of directions in front.
  ir::Value weights(ir::Value operand) {
    const ir::Node& node = body_.node(operand.node);
    if (node.is("Convert")) {
      const element::Type type = body_.port(operand).type;
      return new_nodes_.add("Convert", ir::make_attributes_of(ConvertAttrs{type}), {weights(node.inputs[0])},
                            "converted");
    }
    const Input* input = fed_by(operand.node);
    const ir::Constant* constant = node.constant ? &*node.constant : ir::constant_of(graph_, outer(*input));
    if (!constant) return reshape("Unsqueeze", outer(*input), 0, "weights");
    ir::Constant with_axis = *constant;
    with_axis.view.dims.insert(with_axis.view.dims.begin(), 1);
    return new_nodes_.constant(std::move(with_axis), "weights");
  }

  std::unique_ptr<ir::Attributes> attributes() const {
    const Direction direction = backwards_ ? Direction::reverse : Direction::forward;
    if (cell_->is("RNNCell")) return sequence_attributes<CellKind::rnn>(*cell_, direction);
    if (cell_->is("GRUCell")) return sequence_attributes<CellKind::gru>(*cell_, direction);
    return first_lstm_ ? sequence_attributes<CellKind::lstm, true>(*cell_, direction)
                       : sequence_attributes<CellKind::lstm>(*cell_, direction);
  }

  void build() {
    ir::Value x = outer(*data_);
    if (time_axis_ == 0) x = transposed(x, "batch_first");
    std::vector<ir::Value> inputs = {x};
    for (int state = 0; state < states_; ++state) inputs.push_back(initial(state));
    inputs.push_back(lengths(x));
    for (size_t i = first_weight(); i < cell_->inputs.size(); ++i) inputs.push_back(weights(cell_->inputs[i]));
    const std::string type = cell_->schema->type.substr(0, cell_->schema->type.size() - 4) + "Sequence";
    const ir::OpSchema& schema = registry_.get(type, first_lstm_ ? "opset1" : "opset16");
    const ir::Value sequence = patch_.add(schema, attributes(), std::move(inputs), {loop_.id});
    for (const Output& output : ports_.outputs) {
      if (output.execution_condition || output.external_port < 0) continue;
      const ir::Value from{loop_.id, static_cast<int32_t>(output.external_port)};
      patch_.replace(from, output.axis ? all_states(sequence, output) : last_state(sequence, output, from));
    }
  }

  ir::Value all_states(ir::Value sequence, const Output& output) {
    const ir::Value states = reshape("Squeeze", sequence, 1, "states");
    return *output.axis == 0 || *output.axis == -3 ? transposed(states, "times_first") : states;
  }

  ir::Value last_state(ir::Value sequence, const Output& output, ir::Value replaced) {
    const ir::Value last = ir::Patch::output(sequence, comes_from_cell(output.result, 0) ? 1 : 2);
    const PartialShape& shape = graph_.port(replaced).shape;
    if (shape == PartialShape{batch_, Dimension(hidden_size())}) return reshape("Squeeze", last, 1, "last");
    return reshaped(last, ir::to_dims(shape.to_shape()), "last");
  }

  const ir::OpRegistry& registry_;
  const ir::Graph& graph_;
  const ir::Node& loop_;
  ir::Patch& patch_;
  const ir::Graph& body_;
  const ir::BodyPortMap& ports_;
  NewNodes new_nodes_;
  const ir::Node* cell_ = nullptr;
  const Input* data_ = nullptr;
  int states_ = 1;
  bool first_lstm_ = false, backwards_ = false;
  std::ptrdiff_t time_axis_ = 1;
  Dimension times_, batch_;
  struct Initial {
    const Input* input = nullptr;
    bool reshaped = false;
  } initial_[2];
};

}  // namespace

ir::Pass collapse_recurrent_loop(const ir::OpRegistry& registry) {
  return {"collapse_recurrent_loop", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              const bool loops = node.is("TensorIterator") || node.is("Loop");
              if (loops && node.bodies.size() == 1) Collapse(registry, graph, node, patch).run();
            }
          }};
}

}  // namespace terroir::ops
