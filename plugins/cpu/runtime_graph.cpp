#include "plugins/cpu/runtime_graph.hpp"

#include <map>
#include <optional>

#include "ir/base/error.hpp"
#include "ir/graph/order.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

const ir::OpSchema& execution_schema() {
  static const ir::OpSchema schema = [] {
    ir::OpSchema s;
    s.type = "ExecutionNode";
    s.arity = {0, ir::kVariadic, ir::kVariadic};
    s.infer = [](ir::InferContext& ctx) {  // what was planned, whatever becomes of the model that shows it
      for (int i = 0; const auto port = ctx.declared(i); ++i) ctx.set_output(i, port->type, port->shape);
    };
    return s;
  }();
  return schema;
}

class Writer {
 public:
  Writer(const plugin::CompiledGraph& compiled, const StepTimes& times)
      : times_(times), graph_(std::make_unique<ir::Graph>(compiled.name())) {}

  std::unique_ptr<ir::Graph> write(const plugin::CompiledGraph& compiled, const Program& program) {
    std::vector<ir::Value> inputs;
    for (const plugin::PortInfo& info : compiled.inputs()) {
      const ir::NodeId id = graph_->add(ops::builtin_registry().get(ir::kParameterType, "opset1"), info.node_name,
                                        ir::make_attributes_of(ir::ParameterAttrs{info.shape, info.type}));
      fill(id, info);
      tell(id, "Input", info.node_name, {}, "no copy");
      inputs.push_back({id, 0});
    }
    const std::vector<ir::Value> results = append(program, inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      const plugin::PortInfo& info = compiled.outputs()[i];
      const ir::NodeId id =
          graph_->add(ops::builtin_registry().get(ir::kResultType, "opset1"), info.node_name, nullptr, {results[i]});
      fill(id, info);
      tell(id, "Output", info.node_name, {}, "no copy");
    }
    for (const ir::NodeId id : graph_->nodes())
      for (ir::OutputPort& port : graph_->node(id).outputs) port.declared = {port.type, port.shape};
    return std::move(graph_);
  }

 private:
  void fill(ir::NodeId id, const plugin::PortInfo& info) {
    ir::OutputPort& port = graph_->node(id).outputs.at(0);
    port.type = info.type;
    port.shape = info.shape;
    port.names = info.names;
  }

  /// Layers that multiply narrower numbers than they store begin the names of their kernels with the type of these.
  static std::optional<std::string> computed_in(const std::string& kernel) {
    for (const element::Type type : {element::bf16, element::u8})
      if (kernel.starts_with(type.get_type_name() + "_")) return type.get_type_name();
    return std::nullopt;
  }

  void tell(ir::NodeId id, const std::string& type, const std::string& name,
            const std::vector<std::string>& origin_names, const std::string& kernel) {
    ir::RtInfo& info = graph_->node(id).rt_info;
    const auto set = [&](const char* key, std::string value) { info[key] = {{"", std::move(value)}}; };
    std::string names = name, types;
    for (const std::string& other : origin_names) names += ',' + other;
    for (const ir::OutputPort& port : graph_->node(id).outputs)
      types += (types.empty() ? "" : ",") + port.type.get_type_name();
    set("layerType", type);
    set("originalLayersNames", names);
    set("primitiveType", kernel);
    set("outputPrecisions", types);
    set("runtimePrecision", computed_in(kernel).value_or(types.substr(0, types.find(','))));
    set("execOrder", std::to_string(order_++));
    set("execTimeMcs", "not_executed");
  }

  ir::NodeId add_execution(const std::string& name, std::vector<ir::Value> inputs, size_t outputs) {
    const ir::NodeId id = graph_->add(execution_schema(), name, nullptr, std::move(inputs));
    graph_->node(id).outputs.resize(outputs);
    return id;
  }

  /// What a program runs on these inputs; its results.
  std::vector<ir::Value> append(const Program& program, const std::vector<ir::Value>& inputs) {
    const std::shared_ptr<const Stage> stage = program.latest();
    if (!stage) return append_unplanned(*program.rewritten(), inputs);
    std::vector<ir::Value> results = append_plan(*stage->plan, inputs);
    return stage->then ? append_then(*stage->then, inputs, results) : results;
  }

  std::vector<ir::Value> append_plan(const Plan& plan, const std::vector<ir::Value>& inputs) {
    std::vector<ir::Value> results(plan.outputs.size());
    std::vector<ir::NodeId> ids(plan.nodes.size(), ir::NodeId::none);
    std::vector<ir::Value> ends(plan.nodes.size());  // of Parameters: what they stand for
    const auto value = [&](std::pair<int32_t, int32_t> source) {
      const auto node = static_cast<size_t>(source.first);
      return ids[node] == ir::NodeId::none ? ends[node] : ir::Value{ids[node], source.second};
    };
    for (size_t n = 0; n < plan.nodes.size(); ++n) {
      const PlannedNode& node = plan.nodes[n];
      if (node.type == ir::kParameterType) {
        ends[n] = inputs.at(static_cast<size_t>(node.end));
        continue;
      }
      if (node.type == ir::kResultType) {
        ir::Value& result = results.at(static_cast<size_t>(node.end));
        // The result of a model may be a constant.
        result = node.inputs.empty() ? append_constant(node) : value(node.inputs[0]);
        continue;
      }
      std::vector<ir::Value> sources;
      for (const auto& source : node.inputs) sources.push_back(value(source));
      ids[n] = add_execution(node.name, std::move(sources), node.outputs.size());
      describe_planned(ids[n], plan, node);
    }
    return results;
  }

  ir::Value append_constant(const PlannedNode& node) {
    const ir::NodeId id = add_execution(node.name + "/constant", {}, 1);
    graph_->node(id).outputs[0].type = node.outputs.at(0).type;
    graph_->node(id).outputs[0].shape = PartialShape(ir::to_shape(node.outputs.at(0).dims));
    tell(id, "Constant", node.name, {}, "constant");
    return {id, 0};
  }

  void describe_planned(ir::NodeId id, const Plan& plan, const PlannedNode& node) {
    std::string layouts;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      ir::OutputPort& port = graph_->node(id).outputs[i];
      port.type = node.outputs[i].type;
      port.shape = PartialShape(ir::to_shape(node.outputs[i].dims));
      layouts += (i > 0 ? "," : "") + node.outputs[i].layout.name();
    }
    const auto step = static_cast<size_t>(node.step);
    tell(id, node.type, node.type == kReorderType ? "" : node.name, node.origin_names,
         node.step < 0 ? "no copy" : plan.steps[step].kernel);
    ir::RtInfo& info = graph_->node(id).rt_info;
    info["outputLayouts"] = {{"", layouts}};
    if (node.step < 0) {
      info["execTimeMcs"] = {{"", "0"}};
      return;
    }
    if (const auto mean = times_.mean(plan, step)) {
      const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(*mean);
      info["execTimeMcs"] = {{"", std::to_string(microseconds.count())}};
    }
    if (!plan.steps[step].details.empty()) info["details"] = {{"", plan.steps[step].details}};
  }

  /// `before`: what the results of the plan before it are, whose inputs are `stage_inputs`.
  std::vector<ir::Value> append_then(const Continuation& then, const std::vector<ir::Value>& stage_inputs,
                                     const std::vector<ir::Value>& before) {
    const size_t own = then.results_before.size();
    std::vector<ir::Value> boundary;
    size_t computed = own;
    for (const int input : then.boundary)
      boundary.push_back(input == Continuation::kComputed ? before.at(computed++)
                                                          : stage_inputs.at(static_cast<size_t>(input)));
    std::vector<ir::NodeId> frontier;
    for (size_t i = 0; i < then.frontier.size(); ++i) {
      const ir::Node& node = then.graph->node(then.frontier[i]);
      std::vector<ir::Value> inputs;
      for (const int index : then.frontier_inputs[i])
        if (index >= 0) inputs.push_back(boundary.at(static_cast<size_t>(index)));
      frontier.push_back(append_node(node, std::move(inputs), node.bodies.empty() ? "ref" : "bodies"));
    }
    std::vector<ir::Value> rest_inputs;
    for (const RestInput& source : then.rest_inputs)
      rest_inputs.push_back(source.from_frontier
                                ? ir::Value{frontier[source.index], static_cast<int32_t>(source.output)}
                                : boundary.at(source.index));
    const std::vector<ir::Value> after = append(*then.rest, rest_inputs);
    std::vector<ir::Value> results(own + then.results_of_frontier.size() + after.size());
    for (const FrontierResult& shown : then.results_of_frontier)
      results.at(shown.result) = {frontier[shown.index], static_cast<int32_t>(shown.output)};
    for (size_t i = 0; i < own; ++i) results.at(then.results_before[i]) = before[i];
    for (size_t i = 0; i < after.size(); ++i) results.at(then.results_after[i]) = after[i];
    return results;
  }

  /// A layer of a graph that was not planned.
  ir::NodeId append_node(const ir::Node& node, std::vector<ir::Value> inputs, const std::string& kernel) {
    const ir::NodeId id = add_execution(node.name, std::move(inputs), node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      graph_->node(id).outputs[i].type = node.outputs[i].type;
      graph_->node(id).outputs[i].shape = node.outputs[i].shape;
    }
    tell(id, node.schema->type, node.name, node.origin_names, kernel);
    return id;
  }

  std::vector<ir::Value> append_unplanned(const ir::Graph& graph, const std::vector<ir::Value>& inputs) {
    std::map<ir::Value, ir::Value> values;
    for (size_t i = 0; i < inputs.size(); ++i) values[{graph.parameters()[i], 0}] = inputs[i];
    std::vector<ir::Value> results;
    for (const ir::NodeId id : ir::topological_order(graph)) {
      const ir::Node& node = graph.node(id);
      if (node.is(ir::kParameterType) || node.is(ir::kResultType)) continue;
      if (node.constant && !feeds_result(graph, id)) continue;
      std::vector<ir::Value> sources;
      for (const ir::Value& input : node.inputs)
        if (const auto known = values.find(input); known != values.end()) sources.push_back(known->second);
      const ir::NodeId shown = append_node(node, std::move(sources), "not planned yet");
      for (size_t i = 0; i < node.outputs.size(); ++i)
        values[{id, static_cast<int32_t>(i)}] = {shown, static_cast<int32_t>(i)};
    }
    for (const ir::NodeId id : graph.results()) results.push_back(values.at(graph.node(id).inputs.at(0)));
    return results;
  }

  static bool feeds_result(const ir::Graph& graph, ir::NodeId id) {
    for (const ir::Use& use : graph.uses({id, 0}))
      if (graph.node(use.node).is(ir::kResultType)) return true;
    return false;
  }

  const StepTimes& times_;
  std::unique_ptr<ir::Graph> graph_;
  int order_ = 0;
};

}  // namespace

std::unique_ptr<ir::Graph> runtime_graph(const plugin::CompiledGraph& compiled, const Program& program,
                                         const StepTimes& times) {
  return Writer(compiled, times).write(compiled, program);
}

}  // namespace terroir::cpu
