#include "plugins/cpu/program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/reference/detection/box_overlap.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/reference/results.hpp"
#include "ops/registry.hpp"
#include "ops/run_reference.hpp"
#include "plugins/cpu/kernels/boxes/boxes.hpp"
#include "plugins/cpu/passes/compress_products.hpp"
#include "runtime/extension/layer.hpp"

namespace terroir::cpu {
namespace {

const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset1"); }

bool has_static_outputs(const ir::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [](const ir::OutputPort& port) { return port.shape.is_static() && port.type.is_static(); });
}

/// By node: whether it can be part of a plan: its sizes and those of all it depends on are known, and it has no body.
/// What makes compressed weights goes with the product that reads them.
std::vector<bool> known_part(const ir::Graph& graph, const std::set<ir::NodeId>& compressed) {
  std::vector<bool> known(graph.id_bound(), false);
  const std::vector<ir::NodeId> order = ir::topological_order(graph);
  for (ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    known[ir::index_of(id)] = has_static_outputs(node) && node.bodies.empty() &&
                              std::all_of(node.inputs.begin(), node.inputs.end(),
                                          [&](const ir::Value& input) { return known[ir::index_of(input.node)]; });
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id)
    if (compressed.contains(*id)) known[ir::index_of(*id)] = known[ir::index_of(graph.uses({*id, 0}).front().node)];
  return known;
}

bool is_all_known(const ir::Graph& graph) {
  const std::vector<bool> known = known_part(graph, {});
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return known[ir::index_of(id)]; });
}

/// The cut of a graph into the known part, the frontier and the rest.
class Splitter {
 public:
  Splitter(std::unique_ptr<const ir::Graph> graph, Common& common, const parallel::Arena& arena)
      : graph_(std::move(graph)),
        compressed_(nodes_of_compressed_weights(*graph_)),
        known_(known_part(*graph_, compressed_)),
        common_(common),
        arena_(arena) {}

  std::shared_ptr<Stage> split() {
    find_frontier();
    find_boundary();
    auto stage = std::make_shared<Stage>();
    stage->plan = plan_before();
    then_->rest = std::make_shared<Program>(graph_after(), common_);
    then_->graph = std::move(graph_);
    stage->then = std::move(then_);
    return stage;
  }

 private:
  bool is_known(ir::NodeId id) const { return known_[ir::index_of(id)]; }

  void find_frontier() {
    for (ir::NodeId id : ir::topological_order(*graph_)) {
      const ir::Node& node = graph_->node(id);
      const bool ready = std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const ir::Value& input) { return is_known(input.node); });
      if (is_known(id) || !ready || compressed_.contains(id)) continue;
      if (!node.schema->reference && node.bodies.empty())
        throw_error(ErrorCode::not_implemented, node.describe(), ": the CPU plugin cannot run ",
                    node.schema->display_name(), " yet");
      then_->frontier.push_back(id);
      auto& bodies = then_->bodies.emplace_back();
      for (const ir::Body& body : node.bodies)
        bodies.push_back(std::make_shared<Program>(body.graph->clone(), common_));
    }
  }

  void find_boundary() {
    for (ir::NodeId id : graph_->nodes()) {
      if (!is_known(id) || graph_->node(id).constant) continue;
      const auto& by_output = graph_->uses_by_output(id);
      for (size_t output = 0; output < by_output.size(); ++output) {
        const bool crosses = std::any_of(by_output[output].begin(), by_output[output].end(),
                                         [&](const ir::Use& use) { return !is_known(use.node); });
        if (!crosses) continue;
        const ir::Value value{id, static_cast<int32_t>(output)};
        boundary_index_[value] = static_cast<int>(boundary_.size());
        boundary_.push_back(value);
        const auto& inputs = graph_->parameters();
        const auto input = std::find(inputs.begin(), inputs.end(), id);
        then_->boundary.push_back(input != inputs.end() ? static_cast<int>(input - inputs.begin())
                                                        : Continuation::kComputed);
      }
    }
    for (ir::NodeId id : then_->frontier) {
      std::vector<int> indices;
      for (const ir::Value& input : graph_->node(id).inputs)
        indices.push_back(graph_->node(input.node).constant ? -1 : boundary_index_.at(input));
      then_->frontier_inputs.push_back(std::move(indices));
    }
  }

  /// Results: those of the model that are known, then the boundary values that are no inputs.
  std::shared_ptr<const Plan> plan_before() {
    auto before = graph_->clone();
    const std::vector<ir::NodeId> results = before->results();
    for (size_t i = 0; i < results.size(); ++i) {
      if (is_known(results[i]))
        then_->results_before.push_back(i);
      else
        before->erase(results[i]);
    }
    for (const ir::Value& value : boundary_) {
      if (before->node(value.node).is(ir::kParameterType)) continue;
      const ir::NodeId id =
          before->add(builtin(ir::kResultType), before->node(value.node).name + "/boundary", nullptr, {value});
      before->node(id).outputs[0].type = before->port(value).type;
      before->node(id).outputs[0].shape = before->port(value).shape;
    }
    before->erase_unreachable();
    std::vector<ir::Dims> inputs;
    for (ir::NodeId id : before->parameters()) inputs.push_back(ir::to_dims(before->port({id, 0}).shape.to_shape()));
    return compile_plan(bound_graph(std::move(before), inputs, &common_.kernels), common_.weights, common_.options,
                        arena_, false, &common_.stages);
  }

  /// The frontier op without bodies that a result shows; none if there is something between.
  std::optional<size_t> frontier_op_of(ir::NodeId result) const {
    const ir::NodeId source = graph_->node(result).inputs[0].node;
    const auto found = std::find(then_->frontier.begin(), then_->frontier.end(), source);
    if (found == then_->frontier.end() || !graph_->node(source).bodies.empty()) return std::nullopt;
    return static_cast<size_t>(found - then_->frontier.begin());
  }

  /// Parameters: what the unknown part reads. The frontier ops are gone, their outputs are parameters.
  std::unique_ptr<ir::Graph> graph_after() {
    auto after = graph_->clone();
    const std::vector<ir::NodeId> old_parameters = after->parameters(), results = after->results();
    for (size_t i = 0; i < results.size(); ++i) {
      if (is_known(results[i])) {
        after->erase(results[i]);
      } else if (const auto op = frontier_op_of(results[i])) {
        then_->results_of_frontier.push_back({i, *op, static_cast<size_t>(after->node(results[i]).inputs[0].output)});
        after->erase(results[i]);
      } else {
        then_->results_after.push_back(i);
      }
    }
    const auto replace = [&](ir::Value value, RestInput source) {
      std::vector<ir::Use> uses;
      for (const ir::Use& use : after->uses(value)) {
        const bool is_frontier =
            std::find(then_->frontier.begin(), then_->frontier.end(), use.node) != then_->frontier.end();
        if (!is_known(use.node) && !is_frontier) uses.push_back(use);
      }
      if (uses.empty()) return;
      const ir::OutputPort& port = after->port(value);
      const ir::NodeId id = after->add(builtin(ir::kParameterType), after->node(value.node).name + "/boundary",
                                       ir::make_attributes_of(ir::ParameterAttrs{port.shape, port.type}));
      after->node(id).outputs[0].type = after->port(value).type;
      after->node(id).outputs[0].shape = after->port(value).shape;
      for (const ir::Use& use : uses) after->set_input(use, {id, 0});
      then_->rest_inputs.push_back(source);
    };
    for (size_t i = 0; i < boundary_.size(); ++i) replace(boundary_[i], {false, i, 0});
    for (size_t i = 0; i < then_->frontier.size(); ++i)
      for (size_t output = 0; output < after->node(then_->frontier[i]).outputs.size(); ++output)
        replace({then_->frontier[i], static_cast<int32_t>(output)}, {true, i, output});
    after->erase_unreachable();
    for (ir::NodeId id : old_parameters) after->erase(id);  // what still reads them is behind the boundary
    return after;
  }

  std::unique_ptr<const ir::Graph> graph_;
  std::set<ir::NodeId> compressed_;
  std::vector<bool> known_;
  Common& common_;
  const parallel::Arena& arena_;
  std::vector<ir::Value> boundary_;
  std::map<ir::Value, int> boundary_index_;
  std::unique_ptr<Continuation> then_ = std::make_unique<Continuation>();
};

/// Bytes of constants that a stage brought along: those whose owners are not `shared` by all stages of its program.
class OwnConstants {
 public:
  explicit OwnConstants(const std::unordered_set<const void*>& shared) : shared_(shared) {}

  void add(const void* owner, size_t bytes) {
    if (!shared_.contains(owner) && seen_.insert(owner).second) bytes_ += bytes;
  }
  void add(const ir::Graph& graph) {
    for (ir::NodeId id : graph.nodes())
      if (const auto& constant = graph.node(id).constant) add(constant->owner.get(), constant->view.bytes());
  }
  size_t bytes() const { return bytes_; }

 private:
  const std::unordered_set<const void*>& shared_;
  std::unordered_set<const void*> seen_;
  size_t bytes_ = 0;
};

struct BoundedOutput {
  element::Type type;
  ir::Dims bounds;
  bool is_exact;  // else the op finds its extents
  PartialShape shape;
};

/// `node` alone in a graph, for these inputs: those of up to `most_known` bytes, and texts, are constants, the others
/// Parameters. `given`: which of them these are, in order.
ir::NodeId add_alone(ir::Graph& graph, const ir::Node& node, const std::vector<ir::Constant>& inputs, size_t most_known,
                     std::vector<size_t>& given) {
  std::vector<ir::Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::TensorView& view = inputs[i].view;
    if (is_known(view, most_known)) {
      values.push_back({graph.add_constant(builtin(ir::kConstType), {}, inputs[i]), 0});
      continue;
    }
    const PartialShape shape(ir::to_shape(view.dims));
    const ir::NodeId id = graph.add(builtin(ir::kParameterType), concat(node.name, "/input", i),
                                    ir::make_attributes_of(ir::ParameterAttrs{shape, view.type}));
    graph.node(id).outputs[0].type = view.type;
    graph.node(id).outputs[0].shape = shape;
    values.push_back({id, 0});
    given.push_back(i);
  }
  const ir::NodeId id = graph.add(*node.schema, node.name, node.attributes->clone(), std::move(values));
  graph.node(id).origin = node.origin;
  return id;
}

/// The outputs of a node for these inputs, of which those of more than `most_known` bytes count as unknown. Empty where
/// an output has no bound.
std::vector<BoundedOutput> bounds_of_outputs(const ir::Node& node, const std::vector<ir::Constant>& inputs,
                                             size_t most_known) {
  ir::Graph graph;
  std::vector<size_t> given;
  const ir::NodeId id = add_alone(graph, node, inputs, most_known, given);
  ir::KnownValues known(graph);
  std::vector<BoundedOutput> outputs;
  for (const ir::PortType& port : ir::infer_node(graph, id, known)) {
    ir::Dims bounds;
    for (const Dimension& d : port.shape.rank().is_static() ? port.shape : PartialShape{Dimension::dynamic()})
      bounds.push_back(d.has_upper_bound() ? d.get_max_length() : -1);
    if (port.type.is_dynamic() || std::find(bounds.begin(), bounds.end(), -1) != bounds.end()) {
      if (most_known < SIZE_MAX) return {};
      throw_error(ErrorCode::not_implemented, node.describe(), ": an output of type and shape ", port.type, port.shape,
                  " has no bound even when its inputs are known; the CPU device cannot run it yet");
    }
    outputs.push_back({port.type, std::move(bounds), port.shape.is_static(), port.shape});
  }
  return outputs;
}

/// Exception when even now an output has no bound.
std::vector<BoundedOutput> bounds_of_outputs(const ir::Node& node, const std::vector<ir::Constant>& inputs) {
  // Sizes follow from small values as a rule, and large ones take long to look at. Where bounds are all that follows
  // from the small ones, only the rest tells whether the op finds its sizes as it runs or relies on inference for them.
  // Layers of extensions fetch the values that they want to see, and are asked once.
  constexpr size_t kSmall = 4096;
  const bool some_large = std::any_of(inputs.begin(), inputs.end(),
                                      [](const ir::Constant& input) { return !is_known(input.view, kSmall); });
  if (node.schema->from_extension || !some_large) return bounds_of_outputs(node, inputs, SIZE_MAX);
  std::vector<BoundedOutput> outputs = bounds_of_outputs(node, inputs, kSmall);
  const bool exact = !outputs.empty() && std::all_of(outputs.begin(), outputs.end(),
                                                     [](const BoundedOutput& output) { return output.is_exact; });
  const bool settled = exact || (!outputs.empty() && ops::sizes_itself(*node.schema));
  return settled ? outputs : bounds_of_outputs(node, inputs, SIZE_MAX);
}

/// What a node takes, with its attributes, ports and uses, in a graph that is kept.
constexpr size_t kNodeBytes = 1536;
/// What an executor takes that has no tables to speak of.
constexpr size_t kExecutorBytes = 1024;

size_t graph_bytes(const ir::Graph& graph) {
  size_t bytes = graph.node_count() * kNodeBytes;
  for (ir::NodeId id : graph.nodes())
    for (const ir::Body& body : graph.node(id).bodies) bytes += graph_bytes(*body.graph);
  return bytes;
}

size_t plan_bytes(const Plan& plan) {
  size_t bytes = sizeof(Plan) + plan.graph_text.size();
  for (const Step& step : plan.steps)
    bytes += sizeof(Step) + (step.inputs.size() + step.outputs.size()) * sizeof(Slot) + step.name.size() +
             step.layouts.size() + step.where.size() + step.details.size() +
             step.origin_names.size() * sizeof(std::string) + kExecutorBytes + step.executor->table_bytes();
  for (const PlannedNode& node : plan.nodes)
    bytes += sizeof(PlannedNode) + node.name.size() + node.type.size() + node.inputs.size() * sizeof(node.inputs[0]) +
             node.outputs.size() * sizeof(TensorDesc) + node.origin_names.size() * sizeof(std::string);
  return bytes;
}

}  // namespace

Program::Program(std::unique_ptr<ir::Graph> rewritten, Common& common)
    : rewritten_(std::move(rewritten)), common_(common) {
  for (ir::NodeId id : rewritten_->nodes())
    if (const auto& constant = rewritten_->node(id).constant) shared_constants_.insert(constant->owner.get());
}

std::shared_ptr<const Stage> Program::stage(const std::vector<ir::Dims>& inputs, const parallel::Arena& arena) {
  if (only_) return only_;
  return common_.stages.get(*this, inputs, [&] { return compile(rewritten_->clone(), inputs, arena); });
}

std::shared_ptr<const Stage> Program::only_stage(const std::vector<ir::Dims>& inputs, const parallel::Arena& arena) {
  // Where one plan is all, constants are freed as they are packed; else the stage keeps them anyway.
  const bool one_plan = is_all_known(*rewritten_);
  only_ = compile(one_plan ? std::move(rewritten_) : rewritten_->clone(), inputs, arena, one_plan).stage;
  return only_;
}

StageCache::Made Program::compile(std::unique_ptr<ir::Graph> rewritten, const std::vector<ir::Dims>& inputs,
                                  const parallel::Arena& arena, bool keep) const {
  auto graph = bound_graph(std::move(rewritten), inputs, &common_.kernels);
  auto stage = std::make_shared<Stage>();
  if (is_all_known(*graph))
    stage->plan = compile_plan(std::move(graph), common_.weights, common_.options, arena, keep, &common_.stages);
  else
    stage = Splitter(std::move(graph), common_, arena).split();

  OwnConstants own(shared_constants_);
  for (const KeptConstant& constant : stage->plan->constants) own.add(constant.owner.get(), constant.bytes);
  size_t bytes = plan_bytes(*stage->plan);
  if (stage->then) {
    own.add(*stage->then->graph);
    bytes += 2 * graph_bytes(*stage->then->graph);  // the rest's program keeps the better part of it again
  }
  return {stage, bytes + own.bytes()};
}

bool is_worth_a_plan(const ir::Node& node, const std::vector<ir::Constant>& inputs) {
  if (ops::sizes_itself(*node.schema)) return false;
  size_t bytes = 0, of_image = 0;
  for (const ir::Constant& input : inputs) {
    const ir::TensorView& view = input.view;
    if (view.type == element::string) return false;
    bytes += view.bytes();
    of_image += view.bytes() / static_cast<size_t>(view.dims.empty() ? 1 : std::max<int64_t>(view.dims[0], 1));
  }
  // Compiling takes as long as a reference needs to move some ten kilobytes, or to transform one line of a signal.
  // Where sums are rounded, the size of the batch must not tell whether an image has those of a kernel or of a
  // reference.
  constexpr size_t kMoved = 64 * 1024, kSummed = 1024;
  return node.schema->accuracy == ir::Accuracy::rounding ? of_image >= kSummed : bytes >= kMoved;
}

std::shared_ptr<const Plan> plan_of_frontier_op(const ir::Node& node, const std::vector<ir::Constant>& inputs,
                                                Common& common, const parallel::Arena& arena,
                                                std::vector<size_t>& given) {
  auto graph = std::make_unique<ir::Graph>();
  const ir::NodeId id = add_alone(*graph, node, inputs, kKnownOperandBytes, given);
  std::vector<ir::Dims> dims;
  for (const size_t i : given) dims.push_back(inputs[i].view.dims);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    graph->add(builtin(ir::kResultType), concat(node.name, "/output", i), nullptr,
               {ir::Value{id, static_cast<int32_t>(i)}});
  auto bound = bound_graph(std::move(graph), dims, &common.kernels);
  const std::vector<ir::NodeId> nodes = bound->nodes();
  const bool known =
      std::all_of(nodes.begin(), nodes.end(), [&](ir::NodeId n) { return has_static_outputs(bound->node(n)); });
  if (!known) return nullptr;
  return compile_plan(std::move(bound), common.weights, common.options, arena, false, &common.stages);
}

std::vector<ir::Constant> run_frontier_op(const ir::Node& node, const std::vector<ir::Constant>& inputs, Isa isa,
                                          const parallel::Arena& arena, SpareBuffers& memory, ResultMemory result) {
  std::vector<ir::TensorView> views;
  for (const ir::Constant& input : inputs) views.push_back(input.view);
  std::vector<ir::MutableTensorView> outputs;
  std::vector<std::shared_ptr<void>> buffers;
  std::vector<bool> asked;  // for memory of a result, which may be null for no elements
  const std::vector<BoundedOutput> bounded = bounds_of_outputs(node, inputs);
  const auto make_outputs = [&] {
    for (const BoundedOutput& output : bounded) {
      outputs.push_back({output.type, output.bounds, nullptr});
      if (output.is_exact) outputs.back().data = result(outputs.size() - 1, output.type, output.bounds);
      asked.push_back(output.is_exact);
      const bool placed = outputs.back().data != nullptr;
      buffers.push_back(placed ? nullptr : memory.get(output.type, ir::element_count(output.bounds)));
      if (!placed) outputs.back().data = buffers.back().get();
    }
  };
  const auto shared_out = [&](int64_t tasks, FunctionRef<void(int64_t)> body) { arena.parallel_for(tasks, body); };
  const ops::reference::LentThreads lend(shared_out);
  std::optional<ops::reference::LentBoxKernels> lend_kernels;
  if (const auto* const kernels = box_kernels(isa)) lend_kernels.emplace(*kernels);
  // Those that run_reference() widens are not among `outputs`.
  const auto place = [&](const ir::MutableTensorView& output) -> void* {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (&output == &outputs[i] && !asked[i]) {
        asked[i] = true;
        return result(i, output.type, output.dims);
      }
    return nullptr;
  };
  const ops::reference::LentResults lend_results(place);
  with_context([&] { return node.describe(); },
               [&] {
                 make_outputs();
                 ops::run_reference(*node.schema, {*node.attributes, views, outputs});
                 for (size_t i = 0; i < outputs.size(); ++i)
                   custom::check_used_extents(node, i, bounded[i].shape, outputs[i].dims);
               });
  std::vector<ir::Constant> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!asked[i])
      if (void* const data = result(i, outputs[i].type, outputs[i].dims)) {
        copy_elements(outputs[i].type, data, outputs[i].data, outputs[i].bytes());
        outputs[i].data = data;
      }
    results.push_back({outputs[i], buffers[i]});
  }
  return results;
}

}  // namespace terroir::cpu
