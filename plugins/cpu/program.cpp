#include "plugins/cpu/program.hpp"

#include <algorithm>
#include <map>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/registry.hpp"

namespace terroir::cpu {
namespace {

const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset1"); }

bool has_static_outputs(const ir::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [](const ir::OutputPort& port) { return port.shape.is_static() && port.type.is_static(); });
}

/// By node: whether it can be part of a plan: its sizes and those of all it depends on are known, and it has no body.
std::vector<bool> known_part(const ir::Graph& graph) {
  std::vector<bool> known(graph.id_bound(), false);
  for (ir::NodeId id : ir::topological_order(graph)) {
    const ir::Node& node = graph.node(id);
    known[ir::index_of(id)] = has_static_outputs(node) && node.bodies.empty() &&
                              std::all_of(node.inputs.begin(), node.inputs.end(),
                                          [&](const ir::Value& input) { return known[ir::index_of(input.node)]; });
  }
  return known;
}

/// The cut of a graph into the known part, the frontier and the rest.
class Splitter {
 public:
  Splitter(std::unique_ptr<const ir::Graph> graph, const CompileOptions& options, std::shared_ptr<WeightsCache> weights,
           const parallel::Arena& arena)
      : graph_(std::move(graph)),
        known_(known_part(*graph_)),
        options_(options),
        weights_(std::move(weights)),
        arena_(arena) {}

  std::shared_ptr<const Stage> split() {
    find_frontier();
    find_boundary();
    auto stage = std::make_shared<Stage>();
    stage->plan = plan_before();
    then_->rest = std::make_shared<Program>(graph_after(), options_, weights_);
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
      if (is_known(id) || !ready) continue;
      if (!node.schema->reference && node.bodies.empty())
        throw_error(ErrorCode::not_implemented, node.describe(), ": the CPU plugin cannot run ",
                    node.schema->display_name(), " yet");
      then_->frontier.push_back(id);
      auto& bodies = then_->bodies.emplace_back();
      for (const ir::Body& body : node.bodies)
        bodies.push_back(std::make_shared<Program>(rewrite_portable(*body.graph), options_, weights_));
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
      }
    }
    for (ir::NodeId id : then_->frontier) {
      std::vector<int> indices;
      for (const ir::Value& input : graph_->node(id).inputs)
        indices.push_back(graph_->node(input.node).constant ? -1 : boundary_index_.at(input));
      then_->frontier_inputs.push_back(std::move(indices));
    }
  }

  /// Results: those of the model that are known, then the boundary values.
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
      const ir::NodeId id =
          before->add(builtin(ir::kResultType), before->node(value.node).name + "/boundary", nullptr, {value});
      before->node(id).outputs[0].type = before->port(value).type;
      before->node(id).outputs[0].shape = before->port(value).shape;
    }
    before->erase_unreachable();
    std::vector<ir::Dims> inputs;
    for (ir::NodeId id : before->parameters()) inputs.push_back(ir::to_dims(before->port({id, 0}).shape.to_shape()));
    return compile_plan(bound_graph(std::move(before), inputs), *weights_, options_, arena_);
  }

  /// Parameters: what the unknown part reads. The frontier ops are gone, their outputs are parameters.
  std::unique_ptr<ir::Graph> graph_after() {
    auto after = graph_->clone();
    const std::vector<ir::NodeId> old_parameters = after->parameters(), results = after->results();
    for (size_t i = 0; i < results.size(); ++i) {
      if (is_known(results[i]))
        after->erase(results[i]);
      else
        then_->results_after.push_back(i);
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
  std::vector<bool> known_;
  CompileOptions options_;
  std::shared_ptr<WeightsCache> weights_;
  const parallel::Arena& arena_;
  std::vector<ir::Value> boundary_;
  std::map<ir::Value, int> boundary_index_;
  std::unique_ptr<Continuation> then_ = std::make_unique<Continuation>();
};

}  // namespace

std::shared_ptr<const Stage> Program::stage(const std::vector<ir::Dims>& inputs, const parallel::Arena& arena) {
  const std::lock_guard lock(mutex_);
  for (auto it = stages_.begin(); it != stages_.end(); ++it) {
    if (it->inputs != inputs) continue;
    stages_.splice(stages_.begin(), stages_, it);
    return it->stage;
  }
  std::shared_ptr<const Stage> stage = compile(rewritten_->clone(), inputs, arena);
  stages_.push_front({inputs, stage});
  if (stages_.size() > kMaxStages) stages_.pop_back();
  return stage;
}

std::shared_ptr<const Stage> Program::only_stage(const std::vector<ir::Dims>& inputs, const parallel::Arena& arena) {
  const std::lock_guard lock(mutex_);
  stages_.push_front({inputs, compile(std::move(rewritten_), inputs, arena)});
  return stages_.front().stage;
}

std::shared_ptr<const Stage> Program::compile(std::unique_ptr<ir::Graph> rewritten, const std::vector<ir::Dims>& inputs,
                                              const parallel::Arena& arena) {
  auto graph = bound_graph(std::move(rewritten), inputs);
  const std::vector<bool> known = known_part(*graph);
  for (ir::NodeId id : graph->nodes())
    if (!known[ir::index_of(id)]) return Splitter(std::move(graph), options_, weights_, arena).split();
  auto stage = std::make_shared<Stage>();
  stage->plan = compile_plan(std::move(graph), *weights_, options_, arena);
  return stage;
}

std::vector<ir::Constant> run_frontier_op(const ir::Node& node, const std::vector<ir::Constant>& inputs) {
  ir::Graph graph;
  std::vector<ir::Value> values;
  std::vector<ir::TensorView> views;
  for (const ir::Constant& input : inputs) {
    values.push_back({graph.add_constant(builtin(ir::kConstType), {}, input), 0});
    views.push_back(input.view);
  }
  const ir::NodeId id = graph.add(*node.schema, node.name, node.attributes->clone(), std::move(values));
  graph.node(id).origin = node.origin;
  ir::KnownValues known(graph);
  std::vector<ir::MutableTensorView> outputs;
  std::vector<std::shared_ptr<AlignedBuffer>> buffers;
  for (const ir::PortType& port : ir::infer_node(graph, id, known)) {
    ir::Dims bounds;
    for (const Dimension& d : port.shape.rank().is_static() ? port.shape : PartialShape{Dimension::dynamic()})
      bounds.push_back(d.has_upper_bound() ? d.get_max_length() : -1);
    if (port.type.is_dynamic() || std::find(bounds.begin(), bounds.end(), -1) != bounds.end())
      throw_error(ErrorCode::not_implemented, node.describe(), ": an output of type and shape ", port.type, port.shape,
                  " has no bound even when its inputs are known; the CPU device cannot run it yet");
    buffers.push_back(std::make_shared<AlignedBuffer>(ir::byte_size(port.type, ir::element_count(bounds))));
    outputs.push_back({port.type, std::move(bounds), buffers.back()->data()});
  }
  with_context([&] { return node.describe(); }, [&] { node.schema->reference({*node.attributes, views, outputs}); });
  std::vector<ir::Constant> results;
  for (size_t i = 0; i < outputs.size(); ++i) results.push_back({outputs[i], buffers[i]});
  return results;
}

}  // namespace terroir::cpu
