#include "ir/graph/infer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/base/overflow.hpp"
#include "ir/graph/order.hpp"
#include "ir/schema/number_context.hpp"
#include "terroir/assert_failure.hpp"

namespace terroir::ir {
namespace {

std::vector<PortType> input_types(const Graph& graph, const Node& node) {
  std::vector<PortType> types;
  types.reserve(node.inputs.size());
  for (const Value& input : node.inputs) {
    const OutputPort& port = graph.port(input);
    types.push_back({port.type, port.shape});
  }
  return types;
}

void check_arity(const Node& node) {
  const Arity& arity = node.schema->arity;
  const auto count = static_cast<int>(node.inputs.size());
  if (count < arity.min_inputs || (arity.max_inputs != kVariadic && count > arity.max_inputs)) {
    const std::string wanted = arity.max_inputs == arity.min_inputs ? std::to_string(arity.min_inputs)
                               : arity.max_inputs == kVariadic
                                   ? "at least " + std::to_string(arity.min_inputs)
                                   : std::to_string(arity.min_inputs) + " to " + std::to_string(arity.max_inputs);
    throw_error(ErrorCode::invalid_argument, node.schema->display_name(), " takes ", wanted, " inputs, got ", count);
  }
  for (int i = 0; i < count; ++i)
    if (node.inputs[static_cast<size_t>(i)].node == NodeId::none)
      throw_error(ErrorCode::invalid_argument, "input ", i, " is not connected");
}

bool all_connected(const Node& node) {
  return std::none_of(node.inputs.begin(), node.inputs.end(),
                      [](const Value& input) { return input.node == NodeId::none; });
}

// Lists that are put together from others twice as long each time are soon longer than the memory.
bool is_short_list(const PartialShape& shape) {
  constexpr auto kMaxLength = static_cast<int64_t>(KnownValues::kMaxBytes / sizeof(int64_t));
  if (shape.rank().is_dynamic() || shape.size() > 1) return false;
  return shape.size() == 0 || shape[0].get_min_length() <= kMaxLength;
}

}  // namespace

/// Answers value and dimension queries of one node's inference through the graph's known values.
class KnownValues::Context final : public NumberContext {
 public:
  Context(KnownValues& known, const Node& node, int depth, int asked_output = 0)
      : NumberContext(*node.schema, *node.attributes, input_types(known.graph_, node)),
        known_(known),
        node_(node),
        depth_(depth),
        asked_output_(asked_output) {}

  std::optional<TensorView> value(int input) override {
    const TensorView* view = known_.find(node_.inputs.at(static_cast<size_t>(input)), depth_ + 1);
    return view ? std::optional(*view) : std::nullopt;
  }
  std::optional<std::vector<Dimension>> dimensions(int input) override {
    return known_.dimensions(node_.inputs.at(static_cast<size_t>(input)), depth_ + 1);
  }
  std::optional<Ranges> ranges(int input) override {
    return ranges_of(known_, node_.inputs.at(static_cast<size_t>(input)), depth_ + 1);
  }
  int asked_output() const override { return asked_output_; }
  std::optional<PortType> declared(int output) const override {
    const auto index = static_cast<size_t>(output);
    return index < node_.outputs.size() ? node_.outputs[index].declared : std::nullopt;
  }
  const std::vector<Body>* bodies() const override { return &node_.bodies; }

 private:
  static std::optional<Ranges> ranges_of(KnownValues& known, Value value, int depth);

  KnownValues& known_;
  const Node& node_;
  int depth_, asked_output_;
};

std::optional<Ranges> KnownValues::Context::ranges_of(KnownValues& known, Value value, int depth) {
  const OutputPort& port = known.graph_.port(value);
  if (port.type != element::f32 && port.type != element::f64) return std::nullopt;
  if (!is_short_list(port.shape)) return std::nullopt;
  if (const TensorView* view = known.find(value, depth)) {
    Ranges ranges;
    for (double number : to_reals(*view))
      ranges.push_back(std::isfinite(number) ? std::optional(RealRange{number, number}) : std::nullopt);
    return ranges;
  }
  return known.partial(value, depth).ranges;
}

// Remembered, since each of a chain of layers may ask twice for what is before it: x + x / 8, or a modulus.
const KnownValues::Partial& KnownValues::partial(Value value, int depth) {
  if (const auto found = partials_.find(value); found != partials_.end()) {
    const Partial& known = found->second;
    if (known.cut && depth >= known.depth) ++cuts_;
    if (!known.cut || depth >= known.depth) return known;
  }
  const Node& node = graph_.node(value.node);
  const size_t cuts_before = cuts_;
  Partial answer;
  if (depth > kMaxDepth) {
    ++cuts_;
  } else if (node.schema->dimensions && all_connected(node)) {
    Context context(*this, node, depth, value.output);
    answer.dimensions = node.schema->dimensions(context);
    answer.ranges = context.take_answer();
  }
  answer.depth = depth;
  answer.cut = cuts_ != cuts_before;
  return partials_[value] = std::move(answer);
}

const TensorView* KnownValues::find(Value value, int depth) {
  const Node& node = graph_.node(value.node);
  if (node.constant) return value.output == 0 ? &node.constant->view : nullptr;
  if (auto found = values_.find(value); found != values_.end()) return found->second ? &found->second->view : nullptr;
  // Depth is a property of the question, not of the value: such an answer is not remembered.
  if (depth > kMaxDepth) return nullptr;
  for (size_t i = 0; i < node.outputs.size(); ++i) values_[{node.id, static_cast<int32_t>(i)}] = std::nullopt;
  evaluate(node, depth);
  const auto found = values_.find(value);
  return found != values_.end() && found->second ? &found->second->view : nullptr;
}

bool KnownValues::evaluate(const Node& node, int depth) {
  const OpSchema& schema = *node.schema;
  if (!schema.reference || !schema.flags.pure || !node.bodies.empty() || node.inputs.empty()) return false;
  std::vector<MutableTensorView> outputs;
  std::vector<std::shared_ptr<AlignedBuffer>> buffers;
  for (const OutputPort& port : node.outputs) {
    if (port.type.is_dynamic() || port.type == element::string || port.shape.is_dynamic()) return false;
    Dims dims;
    std::optional<int64_t> count = 1;
    for (const Dimension& d : port.shape) {
      dims.push_back(d.get_length());
      count = checked_mul(*count, d.get_length());
      if (!count || *count > static_cast<int64_t>(kMaxBytes)) return false;
    }
    const size_t bytes = byte_size(port.type, *count);
    if (bytes > kMaxBytes) return false;
    buffers.push_back(std::make_shared<AlignedBuffer>(bytes));
    outputs.push_back({port.type, std::move(dims), buffers.back()->data()});
  }
  std::vector<TensorView> inputs;
  // The dimensions of a tensor are known without its elements, and ShapeOf reads nothing else.
  const bool shape_only = schema.type == "ShapeOf" && !schema.from_extension;
  for (const Value& input : node.inputs) {
    if (input.node == NodeId::none) return false;
    if (shape_only) {
      const OutputPort& port = graph_.port(input);
      if (port.shape.is_dynamic()) return false;
      const Shape shape = port.shape.to_shape();
      inputs.push_back({port.type, Dims(shape.begin(), shape.end()), nullptr});
      continue;
    }
    const TensorView* view = find(input, depth + 1);
    if (!view) return false;
    // Constants of any size are known, but folding them is a pass, not a by-product of shape inference.
    if (byte_size(view->type, view->count()) > kMaxBytes) return false;
    inputs.push_back(*view);
  }
  try {
    schema.reference({*node.attributes, inputs, outputs});
  } catch (const Exception&) {
    return false;  // the elements are not what the op can work with: running it will say so
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    values_[{node.id, static_cast<int32_t>(i)}] =
        Constant{{outputs[i].type, outputs[i].dims, outputs[i].data}, buffers[i]};
  return true;
}

std::optional<std::vector<Dimension>> KnownValues::dimensions(Value value, int depth) {
  const OutputPort& port = graph_.port(value);
  if (!port.type.is_integral()) return std::nullopt;
  if (!is_short_list(port.shape)) return std::nullopt;
  if (const TensorView* view = find(value, depth)) {
    std::vector<Dimension> dims;
    for (int64_t number : to_integers(*view)) dims.push_back(number < 0 ? Dimension::dynamic() : Dimension(number));
    return dims;
  }
  if (!all_connected(graph_.node(value.node))) return std::nullopt;
  if (const auto& known = partial(value, depth).dimensions) return known;
  // A 1-D tensor of known length: that many unknown numbers.
  constexpr int64_t kMaxLength = 64;
  if (port.shape.size() == 1 && port.shape[0].is_static() && port.shape[0].get_length() <= kMaxLength)
    return std::vector<Dimension>(static_cast<size_t>(port.shape[0].get_length()));
  return std::nullopt;
}

void KnownValues::forget(NodeId id) {
  for (size_t i = 0; i < graph_.node(id).outputs.size(); ++i) {
    const Value output{id, static_cast<int32_t>(i)};
    values_.erase(output);
    partials_.erase(output);
  }
  // What was thought of values behind it, too: some reader of it, then, was asked before it was inferred.
  const auto is_remembered = [&](const Use& use) {
    for (size_t i = 0; i < graph_.node(use.node).outputs.size(); ++i)
      if (partials_.contains({use.node, static_cast<int32_t>(i)})) return true;
    return false;
  };
  for (const std::vector<Use>& readers : graph_.uses_by_output(id))
    if (std::any_of(readers.begin(), readers.end(), is_remembered)) return partials_.clear();
}

std::vector<PortType> infer_node(const Graph& graph, NodeId id, KnownValues& known) {
  const Node& node = graph.node(id);
  try {
    if (node.constant) return {{node.outputs[0].type, node.outputs[0].shape}};
    check_arity(node);
    KnownValues::Context context(known, node, 0);
    node.schema->infer(context);
    const int wanted = node.schema->arity.outputs;
    TERROIR_ASSERT(wanted == kVariadic || wanted == static_cast<int>(context.outputs().size()), node.schema->type,
                   context.outputs().size());
    for (const PortType& output : context.outputs())
      if (output.shape.is_static())
        element_count(to_dims(output.shape.to_shape()));  // Exception where no tensor can be
    return context.outputs();
  } catch (const AssertFailure& failure) {
    NodeValidationFailure refused(failure);
    refused.add_context(node.describe());
    throw refused;
  } catch (Exception& error) {
    error.add_context(node.describe());
    throw;
  }
}

size_t infer_outputs(Graph& graph, NodeId id, KnownValues& known) {
  std::vector<PortType> outputs = infer_node(graph, id, known);
  Node& node = graph.node(id);
  if (node.outputs.size() < outputs.size()) node.outputs.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    node.outputs[i].type = outputs[i].type;
    node.outputs[i].shape = std::move(outputs[i].shape);
  }
  known.forget(id);
  return outputs.size();
}

void infer_graph(Graph& graph) {
  KnownValues known(graph);
  for (NodeId id : topological_order(graph)) infer_outputs(graph, id, known);
}

void infer_again(Graph& graph) {
  KnownValues known(graph);
  for (NodeId id : topological_order(graph)) {
    try {
      infer_outputs(graph, id, known);
    } catch (const Exception&) {
      if (graph.node(id).bodies.empty()) throw;
    }
  }
}

}  // namespace terroir::ir
