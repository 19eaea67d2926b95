#include "terroir/op/control_flow.hpp"

#include <algorithm>
#include <optional>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/shape/axis_parts.hpp"
#include "runtime/api/draft.hpp"

namespace terroir {
namespace {

using detail::OpenLayer;

/// What the layers' functions change, and takes back when the operation refuses the change.
class Change {
 public:
  explicit Change(const Node& layer, const OutputVector& inputs = {})
      : object_(layer),
        layer_(detail::open_layer(layer, inputs)),
        inputs_(node().inputs),
        outputs_(node().outputs.size()),
        ports_(all_ports()) {}

  ir::Node& node() { return layer_.state->writable().node(layer_.id); }

  ir::Body& body(const std::string& role) {
    auto& bodies = node().bodies;
    const auto found = std::find_if(bodies.begin(), bodies.end(), [&](const auto& body) { return body.role == role; });
    if (found == bodies.end())
      throw_error(ErrorCode::invalid_argument, node().describe(), " has no ", role, " yet: set it first");
    return *found;
  }
  /// A new input of the layer.
  int64_t add_input(const Output<Node>& value) {
    const auto index = static_cast<int64_t>(node().inputs.size());
    layer_.state->writable().add_input(layer_.id, detail::value_in(layer_.state, value));
    detail::NodeAccess::keep_inputs(object_);
    return index;
  }
  /// A new output of the layer, which the caller maps.
  int64_t add_output() {
    node().outputs.emplace_back();
    return static_cast<int64_t>(node().outputs.size()) - 1;
  }
  /// Infers the outputs there are so far.
  void finish() {
    if (node().outputs.empty()) return;
    ir::Graph& graph = layer_.state->writable();
    try {
      ir::KnownValues known(graph);
      ir::infer_outputs(graph, layer_.id, known);
    } catch (...) {
      graph.set_inputs(layer_.id, inputs_);
      detail::NodeAccess::keep_inputs(object_);
      node().outputs.resize(outputs_);
      for (size_t i = 0; i < ports_.size(); ++i) node().bodies[i].ports = ports_[i];
      throw;
    }
  }

 private:
  std::vector<ir::BodyPortMap> all_ports() {
    std::vector<ir::BodyPortMap> all;
    for (const ir::Body& body : node().bodies) all.push_back(body.ports);
    return all;
  }

  const Node& object_;
  OpenLayer layer_;
  std::vector<ir::Value> inputs_;
  size_t outputs_;
  std::vector<ir::BodyPortMap> ports_;
};

/// A layer of the model that the body was copied from, which has the same id in both.
ir::NodeId layer_of_body(const ir::Body& body, const std::shared_ptr<Node>& layer, std::string_view kind) {
  if (layer == nullptr) throw_error(ErrorCode::invalid_argument, "a ", kind, " of a body is null");
  const ir::Node& known = detail::NodeAccess::node(*layer);
  const ir::NodeId id = detail::NodeAccess::id(*layer);
  // Ids say nothing of the graph that they belong to; names made in code are unique, those of files within a graph.
  if (!known.is(kind) || !body.graph->contains(id) || body.graph->node(id).name != known.name ||
      !body.graph->node(id).is(kind)) {
    throw_error(ErrorCode::invalid_argument, known.describe(), " is no ", kind, " of the ", body.role);
  }
  return id;
}

ir::NodeId free_parameter(const ir::Body& body, const std::shared_ptr<op::v0::Parameter>& parameter) {
  const ir::NodeId id = layer_of_body(body, parameter, ir::kParameterType);
  for (const auto& input : body.ports.inputs) {
    if (input.parameter == id) {
      throw_error(ErrorCode::invalid_argument, body.graph->node(id).describe(), " of the ", body.role,
                  " is fed already");
    }
  }
  return id;
}

/// The Result that takes a value, or that is the value.
ir::NodeId result_of(const ir::Body& body, const Output<Node>& value) {
  if (value.get_node() == nullptr) throw_error(ErrorCode::invalid_argument, "a value of a body is an empty port");
  const ir::Node& node = detail::NodeAccess::node(*value.get_node());
  for (const ir::NodeId id : body.graph->results()) {
    const ir::Value taken = body.graph->node(id).inputs.at(0);
    const bool is_result = id == node.id && node.is(ir::kResultType);
    const bool is_taken = taken == ir::Value{node.id, static_cast<int32_t>(value.get_index())};
    const ir::NodeId layer = is_result ? id : taken.node;
    if ((is_result || is_taken) && body.graph->node(layer).name == node.name) return id;
  }
  throw_error(ErrorCode::invalid_argument, value, " is no result of the ", body.role);
}

ir::BodyPortMap::Output output_entry(int64_t port, ir::NodeId result) {
  ir::BodyPortMap::Output output;
  output.external_port = port;
  output.result = result;
  return output;
}

ir::BodyPortMap::Input input_entry(int64_t port, ir::NodeId parameter) {
  ir::BodyPortMap::Input input;
  input.external_port = port;
  input.parameter = parameter;
  return input;
}

template <class Entry>
void slice(Entry& entry, int64_t start, int64_t stride, int64_t part_size, int64_t end, int64_t axis) {
  if (stride == 0 || part_size < 1) {
    throw_error(ErrorCode::invalid_argument, "a slice needs a stride other than 0 and a positive part_size, got ",
                stride, " and ", part_size);
  }
  entry.axis = axis;
  entry.start = start;
  entry.end = end;
  entry.stride = stride;
  entry.part_size = part_size;
}

constexpr const char* kBody = "body";

}  // namespace

namespace op::util {

MultiSubGraphOp::MultiSubGraphOp(const char* type, const char* opset, const OutputVector& inputs)
    : Node(detail::make_open_layer(type, opset, inputs)) {}

void MultiSubGraphOp::set_body(const char* role, const std::shared_ptr<Model>& body) {
  if (body == nullptr) throw_error(ErrorCode::invalid_argument, "the ", role, " is null");
  Change change(*this);
  auto& bodies = change.node().bodies;
  if (std::any_of(bodies.begin(), bodies.end(), [&](const auto& known) { return known.role == role; }))
    throw_error(ErrorCode::invalid_argument, change.node().describe(), " has a ", role, " already");
  bodies.push_back({role, detail::ModelAccess::state(*body)->needed_graph()->clone(), {}});
}

std::shared_ptr<Model> MultiSubGraphOp::get_body(const char* role) const {
  for (const ir::Body& body : detail::NodeAccess::node(*this).bodies)
    if (body.role == role) return detail::ModelAccess::make(body.graph->clone());
  return nullptr;
}

namespace {

const ir::Body& body_at(const Node& layer, size_t index) {
  const ir::Node& node = detail::NodeAccess::node(layer);
  if (index >= node.bodies.size())
    throw_error(ErrorCode::invalid_argument, node.describe(), " has ", node.bodies.size(), " bodies, not a body ",
                index);
  return node.bodies[index];
}

uint64_t place_of(const std::vector<ir::NodeId>& ends, ir::NodeId id) {
  return static_cast<uint64_t>(std::find(ends.begin(), ends.end(), id) - ends.begin());
}

template <class Description, class Entry>
std::shared_ptr<Description> slice_of(const Entry& entry) {
  auto description = std::make_shared<Description>();
  description->m_start = entry.start;
  description->m_stride = entry.stride;
  description->m_part_size = entry.part_size;
  description->m_end = entry.end;
  description->m_axis = *entry.axis;
  return description;
}

/// How many parts a sliced input has; -1 if its extent is unknown.
int64_t part_count(const ir::Graph& graph, const ir::Node& layer, const ir::BodyPortMap::Input& input) {
  const PartialShape& shape = graph.port(layer.inputs.at(static_cast<size_t>(input.external_port))).shape;
  if (shape.rank().is_dynamic()) return -1;
  const auto rank = static_cast<int64_t>(shape.size());
  const Dimension extent = shape[*input.axis < 0 ? *input.axis + rank : *input.axis];
  return extent.is_static() ? ops::axis_parts(input, extent.get_length()).count : -1;
}

/// The only integer of a value; none if it is not known.
std::optional<int64_t> number_of(ir::KnownValues& known, ir::Value value) {
  if (const ir::TensorView* view = known.find(value); view != nullptr && view->count() == 1)
    return view->type == element::i32       ? *static_cast<const int32_t*>(view->data)
           : view->type == element::i64     ? *static_cast<const int64_t*>(view->data)
           : view->type == element::boolean ? *static_cast<const int8_t*>(view->data)
                                            : std::optional<int64_t>();
  return std::nullopt;
}

}  // namespace

size_t MultiSubGraphOp::get_internal_subgraphs_size() const { return detail::NodeAccess::node(*this).bodies.size(); }

std::vector<std::shared_ptr<Model>> MultiSubGraphOp::get_functions() const {
  std::vector<std::shared_ptr<Model>> bodies;
  for (size_t i = 0; i < get_internal_subgraphs_size(); ++i) bodies.push_back(get_function(i));
  return bodies;
}
std::shared_ptr<Model> MultiSubGraphOp::get_function(size_t index) const {
  return detail::ModelAccess::make(body_at(*this, index).graph->clone());
}

MultiSubGraphOp::MultiSubgraphInputDescriptionVector MultiSubGraphOp::get_input_descriptions(size_t index) const {
  const ir::Body& body = body_at(*this, index);
  MultiSubgraphInputDescriptionVector descriptions;
  for (const ir::BodyPortMap::Input& input : body.ports.inputs) {
    if (input.current_iteration) continue;  // no input of the layer feeds it
    const auto& edges = body.ports.back_edges;
    const auto edge =
        std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.parameter == input.parameter; });
    if (input.axis) {
      descriptions.push_back(slice_of<SliceInputDescription>(input));
    } else if (edge != edges.end()) {
      auto merged = std::make_shared<MergedInputDescription>();
      merged->m_body_value_index = place_of(body.graph->results(), edge->result);
      descriptions.push_back(std::move(merged));
    } else {
      descriptions.push_back(std::make_shared<InvariantInputDescription>());
    }
    descriptions.back()->m_input_index = static_cast<uint64_t>(input.external_port);
    descriptions.back()->m_body_parameter_index = place_of(body.graph->parameters(), input.parameter);
  }
  return descriptions;
}

MultiSubGraphOp::MultiSubgraphOutputDescriptionVector MultiSubGraphOp::get_output_descriptions(size_t index) const {
  const ir::Body& body = body_at(*this, index);
  MultiSubgraphOutputDescriptionVector descriptions;
  for (const ir::BodyPortMap::Output& output : body.ports.outputs) {
    if (output.external_port < 0) continue;  // the condition
    if (output.axis) {
      descriptions.push_back(slice_of<ConcatOutputDescription>(output));
    } else {
      descriptions.push_back(std::make_shared<BodyOutputDescription>());
    }
    descriptions.back()->m_output_index = static_cast<uint64_t>(output.external_port);
    descriptions.back()->m_body_value_index = place_of(body.graph->results(), output.result);
  }
  return descriptions;
}

int64_t SubGraphOp::get_num_iterations() const {
  const ir::Node& layer = detail::NodeAccess::node(*this);
  const ir::Graph& graph = *detail::NodeAccess::state(*this)->graph;
  const ir::BodyPortMap& ports = body_at(*this, 0).ports;
  const bool slices = std::any_of(ports.inputs.begin(), ports.inputs.end(), [](const auto& i) { return i.axis; });
  if (!layer.is("Loop")) {
    int64_t count = slices ? -1 : 1;
    for (const auto& input : ports.inputs)
      if (input.axis) count = std::max(count, part_count(graph, layer, input));
    return count;
  }
  if (layer.inputs.size() < 2) return -1;
  ir::KnownValues known(graph);
  const std::optional<int64_t> trip_count = number_of(known, layer.inputs[0]),
                               begins = number_of(known, layer.inputs[1]);
  if (begins == 0) return 0;
  std::optional<int64_t> goes_on = 1;
  for (const auto& output : ports.outputs) {
    if (!output.execution_condition) continue;
    const ir::Graph& body = *layer.bodies.front().graph;
    ir::KnownValues in_body(body);
    goes_on = number_of(in_body, body.node(output.result).inputs.at(0));
  }
  if (!begins || !goes_on || !trip_count) return -1;
  return *goes_on == 0 ? std::min<int64_t>(1, *trip_count < 0 ? 1 : *trip_count) : std::max<int64_t>(-1, *trip_count);
}

void SubGraphOp::set_sliced_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& value,
                                  int64_t start, int64_t stride, int64_t part_size, int64_t end, int64_t axis) {
  Change change(*this, {value});
  ir::BodyPortMap::Input input = input_entry(-1, free_parameter(change.body(kBody), parameter));
  slice(input, start, stride, part_size, end, axis);
  input.external_port = change.add_input(value);
  change.body(kBody).ports.inputs.push_back(input);
  change.finish();
}

void SubGraphOp::set_merged_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& initial_value,
                                  const Output<Node>& successive_value) {
  Change change(*this, {initial_value});
  const ir::NodeId fed = free_parameter(change.body(kBody), parameter);
  const ir::NodeId next = result_of(change.body(kBody), successive_value);
  const int64_t port = change.add_input(initial_value);
  change.body(kBody).ports.inputs.push_back(input_entry(port, fed));
  change.body(kBody).ports.back_edges.push_back({next, fed});
  change.finish();
}

void SubGraphOp::set_invariant_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& value) {
  Change change(*this, {value});
  const ir::NodeId fed = free_parameter(change.body(kBody), parameter);
  const int64_t port = change.add_input(value);
  change.body(kBody).ports.inputs.push_back(input_entry(port, fed));
  change.finish();
}

Output<Node> SubGraphOp::get_iter_value(const Output<Node>& body_value, int64_t iteration) {
  if (iteration != -1) {
    throw_error(ErrorCode::unsupported, "the value of iteration ", iteration,
                " cannot be an output, only that of the last (-1)");
  }
  Change change(*this);
  const ir::NodeId result = result_of(change.body(kBody), body_value);
  const int64_t port = change.add_output();
  change.body(kBody).ports.outputs.push_back(output_entry(port, result));
  change.finish();
  return output(static_cast<size_t>(port));
}

Output<Node> SubGraphOp::get_concatenated_slices(const Output<Node>& body_value, int64_t start, int64_t stride,
                                                 int64_t part_size, int64_t end, int64_t axis) {
  Change change(*this);
  ir::BodyPortMap::Output entry = output_entry(-1, result_of(change.body(kBody), body_value));
  slice(entry, start, stride, part_size, end, axis);
  entry.external_port = change.add_output();
  change.body(kBody).ports.outputs.push_back(entry);
  change.finish();
  return output(static_cast<size_t>(entry.external_port));
}

}  // namespace op::util

namespace op::v5 {

void Loop::set_special_body_ports(const SpecialBodyPorts& ports) {
  Change change(*this);
  ir::Body& body = change.body(kBody);
  const auto check = [&](int64_t index, const std::vector<ir::NodeId>& ends, const char* what) {
    if (index < -1 || index >= static_cast<int64_t>(ends.size())) {
      throw_error(ErrorCode::invalid_argument, "the body has ", ends.size(), " ", what, ", so ", index,
                  " is none of them");
    }
  };
  check(ports.current_iteration_input_idx, body.graph->parameters(), "parameters");
  check(ports.body_condition_output_idx, body.graph->results(), "results");
  std::erase_if(body.ports.inputs, [](const auto& input) { return input.current_iteration; });
  std::erase_if(body.ports.outputs, [](const auto& output) { return output.execution_condition; });
  if (ports.current_iteration_input_idx >= 0) {
    auto counter = input_entry(-1, body.graph->parameters()[static_cast<size_t>(ports.current_iteration_input_idx)]);
    counter.current_iteration = true;
    body.ports.inputs.push_back(counter);
  }
  if (ports.body_condition_output_idx >= 0) {
    auto condition = output_entry(-1, body.graph->results()[static_cast<size_t>(ports.body_condition_output_idx)]);
    condition.execution_condition = true;
    body.ports.outputs.push_back(condition);
  }
  change.finish();
}

Loop::SpecialBodyPorts Loop::get_special_body_ports() const {
  SpecialBodyPorts ports;
  for (const ir::Body& body : detail::NodeAccess::node(*this).bodies) {
    const auto place = [](const std::vector<ir::NodeId>& ends, ir::NodeId id) {
      return static_cast<int64_t>(std::find(ends.begin(), ends.end(), id) - ends.begin());
    };
    for (const auto& input : body.ports.inputs)
      if (input.current_iteration) ports.current_iteration_input_idx = place(body.graph->parameters(), input.parameter);
    for (const auto& output : body.ports.outputs)
      if (output.execution_condition) ports.body_condition_output_idx = place(body.graph->results(), output.result);
  }
  return ports;
}

}  // namespace op::v5

namespace op::v8 {

void If::set_input(const Output<Node>& value, const std::shared_ptr<v0::Parameter>& then_parameter,
                   const std::shared_ptr<v0::Parameter>& else_parameter) {
  if (then_parameter == nullptr && else_parameter == nullptr)
    throw_error(ErrorCode::invalid_argument, "an input of If needs a parameter of one of its bodies");
  Change change(*this, {value});
  const std::pair<const char*, const std::shared_ptr<v0::Parameter>*> fed[] = {{"then_body", &then_parameter},
                                                                               {"else_body", &else_parameter}};
  std::vector<std::pair<const char*, ir::NodeId>> found;
  for (const auto& [role, parameter] : fed)
    if (*parameter != nullptr) found.emplace_back(role, free_parameter(change.body(role), *parameter));
  const int64_t port = change.add_input(value);
  for (const auto& [role, parameter] : found) change.body(role).ports.inputs.push_back(input_entry(port, parameter));
  change.finish();
}

Output<Node> If::set_output(const std::shared_ptr<v0::Result>& then_result,
                            const std::shared_ptr<v0::Result>& else_result) {
  Change change(*this);
  const ir::NodeId then_id = layer_of_body(change.body("then_body"), then_result, ir::kResultType);
  const ir::NodeId else_id = layer_of_body(change.body("else_body"), else_result, ir::kResultType);
  const int64_t port = change.add_output();
  change.body("then_body").ports.outputs.push_back(output_entry(port, then_id));
  change.body("else_body").ports.outputs.push_back(output_entry(port, else_id));
  change.finish();
  return output(static_cast<size_t>(port));
}

}  // namespace op::v8
}  // namespace terroir
