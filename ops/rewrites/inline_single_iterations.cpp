#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/graph/known_values.hpp"
#include "ir/graph/order.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/shape/axis_parts.hpp"

namespace terroir::ops {
namespace {

using Input = ir::BodyPortMap::Input;

std::optional<int64_t> number_of(const ir::Graph& graph, ir::Value value) {
  ir::KnownValues known(graph);
  const ir::TensorView* view = known.find(value);
  if (view == nullptr || view->count() != 1 || view->type.is_real() || view->type == element::string)
    return std::nullopt;
  return ir::to_integers(*view).front();
}

/// The part of the input's value that the first iteration sees.
struct Part {
  int64_t axis, begin, size;
  bool whole;
};
std::optional<Part> first_part(const Input& input, const PartialShape& shape, int64_t& iterations) {
  if (shape.rank().is_dynamic()) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = *input.axis < 0 ? *input.axis + rank : *input.axis;
  const Dimension& extent = shape[axis];
  if (extent.is_dynamic()) return std::nullopt;
  const AxisParts parts = axis_parts(input, extent.get_length());
  iterations = parts.count;
  const int64_t begin = parts.begin(0, input.part_size);
  if (begin < 0 || begin + input.part_size > extent.get_length()) return std::nullopt;
  return Part{axis, begin, input.part_size, begin == 0 && input.part_size == extent.get_length()};
}

/// Their numbers follow from how many loops are around them and how often those have run.
bool draws_random_numbers(const ir::Graph& body) {
  for (const ir::NodeId id : body.nodes()) {
    const ir::Node& node = body.node(id);
    if (node.is("RandomUniform") || node.is("Multinomial")) return true;
    for (const ir::Body& inner : node.bodies)
      if (draws_random_numbers(*inner.graph)) return true;
  }
  return false;
}

class Inline {
 public:
  Inline(ir::Graph& graph, ir::NodeId loop, const ir::OpRegistry& registry)
      : graph_(graph),
        registry_(registry),
        loop_(loop),
        body_(*graph.node(loop).bodies.front().graph),
        ports_(graph.node(loop).bodies.front().ports) {}

  bool run() {
    if (!runs_once() || !knows_what_feeds_it() || may_join_scalars() || draws_random_numbers(body_)) return false;
    values_.resize(body_.id_bound());
    for (const Input& input : ports_.inputs) values_[ir::index_of(input.parameter)] = {outer_value(input)};
    for (const ir::NodeId id : ir::topological_order(body_)) {
      const ir::Node& node = body_.node(id);
      if (!node.is(ir::kParameterType) && !node.is(ir::kResultType)) copy(node);
    }
    for (const auto& output : ports_.outputs) {
      if (output.external_port < 0) continue;
      const ir::Value value = outside(body_.node(output.result).inputs.at(0));
      graph_.replace_uses({loop_, static_cast<int32_t>(output.external_port)}, value);
    }
    graph_.erase(loop_);
    return true;
  }

 private:
  /// Whether it runs neither never nor twice, whatever the values are.
  bool runs_once() const {
    int64_t iterations = 1;
    for (const Input& input : ports_.inputs) {
      int64_t of_input = 0;
      if (!input.axis) continue;
      if (!first_part(input, outer_shape(input), of_input) || of_input < 1) return false;
      iterations = std::max(iterations, of_input);
    }
    const ir::Node& loop = graph_.node(loop_);
    if (!loop.is("Loop")) return iterations == 1;
    const auto trips = number_of(graph_, loop.inputs.at(0)), begins = number_of(graph_, loop.inputs.at(1));
    if (!trips || *trips == 0 || begins != 1) return false;
    if (*trips == 1) return true;
    const auto goes_on = std::find_if(ports_.outputs.begin(), ports_.outputs.end(),
                                      [](const auto& output) { return output.execution_condition; });
    return goes_on != ports_.outputs.end() && number_of(body_, body_.node(goes_on->result).inputs.at(0)) == 0;
  }

  /// Every Parameter that is read has a value, and the iteration counter is a number that a constant can be.
  bool knows_what_feeds_it() const {
    for (const ir::NodeId parameter : body_.parameters()) {
      if (body_.uses({parameter, 0}).empty()) continue;
      const auto fed = std::find_if(ports_.inputs.begin(), ports_.inputs.end(),
                                    [&](const Input& input) { return input.parameter == parameter; });
      if (fed == ports_.inputs.end()) return false;
      if (!fed->current_iteration) continue;
      const ir::OutputPort& port = body_.port({parameter, 0});
      const bool one = port.shape.is_static() && shape_size(port.shape.to_shape()) == 1;
      if (!one || (port.type != element::i32 && port.type != element::i64)) return false;
    }
    return true;
  }

  /// Whose line of one element would take a layer that the model does not have.
  bool may_join_scalars() const {
    return std::any_of(ports_.outputs.begin(), ports_.outputs.end(), [&](const auto& output) {
      const PartialShape& shape = body_.port({output.result, 0}).shape;
      return output.axis && (shape.rank().is_dynamic() || shape.size() == 0);
    });
  }

  ir::Value outer(const Input& input) const {
    return graph_.node(loop_).inputs.at(static_cast<size_t>(input.external_port));
  }
  const PartialShape& outer_shape(const Input& input) const { return graph_.port(outer(input)).shape; }

  ir::Value constant(ir::Constant value, const char* suffix) {
    return {graph_.add_constant(registry_.get(ir::kConstType, "opset1"), graph_.node(loop_).name + suffix,
                                std::move(value)),
            0};
  }

  ir::Value outer_value(const Input& input) {
    if (input.current_iteration) return first_iteration(body_.port({input.parameter, 0}));
    if (!input.axis) return outer(input);
    int64_t iterations = 0;
    const Part part = *first_part(input, outer_shape(input), iterations);
    if (part.whole) return outer(input);
    const auto number = [&](int64_t value, const char* suffix) { return constant(integers_constant({value}), suffix); };
    const ir::OpSchema& slice = registry_.get("Slice", "opset8");
    const ir::OutputPort like = body_.port({input.parameter, 0});
    const ir::NodeId added =
        graph_.add(slice, free_name(body_.node(input.parameter).name), slice.make_attributes(),
                   {outer(input), number(part.begin, "/first"), number(part.begin + part.size, "/end"),
                    number(1, "/step"), number(part.axis, "/axis")});
    graph_.node(added).outputs.at(0).type = like.type;
    graph_.node(added).outputs.at(0).shape = like.shape;
    return {added, 0};
  }

  ir::Value first_iteration(const ir::OutputPort& port) {
    const auto memory = std::make_shared<AlignedBuffer>(sizeof(int64_t));
    *memory->as<int64_t>() = 0;
    return constant({{port.type, ir::to_dims(port.shape.to_shape()), memory->data()}, memory}, "/iteration");
  }

  ir::Value outside(ir::Value value) const {
    return values_[ir::index_of(value.node)].at(static_cast<size_t>(value.output));
  }
  std::string free_name(const std::string& name) const {
    for (size_t i = 0; i < graph_.id_bound(); ++i) {
      const auto id = static_cast<ir::NodeId>(i);
      if (graph_.contains(id) && graph_.node(id).name == name) return graph_.node(loop_).name + '/' + name;
    }
    return name;
  }

  void copy(const ir::Node& old) {
    std::vector<ir::Value> inputs;
    for (const ir::Value& input : old.inputs) inputs.push_back(outside(input));
    const ir::NodeId added = graph_.add(*old.schema, free_name(old.name), old.attributes->clone(), std::move(inputs));
    ir::Node& node = graph_.node(added);
    node.outputs = old.outputs;
    node.input_rt_info = old.input_rt_info;
    node.rt_info = old.rt_info;
    node.origin = old.origin;
    node.origin_names = old.origin_names;
    node.constant = old.constant;
    for (const ir::Body& body : old.bodies) node.bodies.push_back({body.role, body.graph->clone(), body.ports});
    auto& made = values_[ir::index_of(old.id)];
    for (size_t i = 0; i < old.outputs.size(); ++i) made.push_back({added, static_cast<int32_t>(i)});
  }

  ir::Graph& graph_;
  const ir::OpRegistry& registry_;
  const ir::NodeId loop_;
  const ir::Graph& body_;
  const ir::BodyPortMap& ports_;
  std::vector<std::vector<ir::Value>> values_;  // of the body by node and output, as values of the graph
};

}  // namespace

size_t inline_single_iterations(ir::Graph& graph, const ir::OpRegistry& registry) {
  size_t count = 0;
  // The layers of a body come behind all others, and may be such loops themselves.
  for (size_t i = 0; i < graph.id_bound(); ++i) {
    const auto id = static_cast<ir::NodeId>(i);
    if (!graph.contains(id)) continue;
    const ir::Node& node = graph.node(id);
    if ((node.is("Loop") || node.is("TensorIterator")) && node.bodies.size() == 1)
      count += Inline(graph, id, registry).run() ? 1 : 0;
  }
  return count;
}

}  // namespace terroir::ops
