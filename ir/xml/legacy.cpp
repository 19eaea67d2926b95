#include "ir/xml/legacy.hpp"

#include <algorithm>
#include <unordered_map>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/xml/values.hpp"

namespace terroir::ir::xml {
namespace {

/// Finds an attribute by name and gives it a value; for operations this floor knows by name only.
class SetElementType final : public AttributeVisitor {
 public:
  SetElementType(std::string_view name, element::Type type) : name_(name), type_(type) {}

 protected:
  void on(const char*, bool&, Presence) override {}
  void on(const char*, int64_t&, Presence) override {}
  void on(const char*, double&, Presence) override {}
  void on(const char*, std::string&, Presence) override {}
  void on(const char* name, element::Type& value, Presence) override {
    if (name == name_) value = type_;
  }
  void on(const char*, PartialShape&, Presence) override {}
  void on(const char*, std::vector<int64_t>&, Presence) override {}
  void on(const char*, std::vector<double>&, Presence) override {}
  void on(const char*, std::vector<std::string>&, Presence) override {}
  void on_enum(const char*, int64_t&, std::span<const std::string_view>, Presence) override {}

 private:
  std::string_view name_;
  element::Type type_;
};

void infer_alone(Graph& graph, NodeId id) {
  KnownValues known(graph);
  infer_outputs(graph, id, known);
}

NodeId add_convert(Graph& graph, const OpRegistry& registry, std::string name, element::Type type, Value from) {
  const OpSchema& schema = registry.get("Convert", "opset1");
  auto attributes = schema.make_attributes();
  SetElementType visitor("destination_type", type);
  attributes->visit(visitor);
  const Origin origin = graph.node(from.node).origin;
  const NodeId id = graph.add(schema, std::move(name), std::move(attributes), {from});
  graph.node(id).origin = origin;
  infer_alone(graph, id);
  return id;
}

/// Names of a model's inputs and outputs, and whose they are.
class EndNames {
 public:
  explicit EndNames(Graph& graph) : graph_(graph) {
    for (NodeId id : graph.parameters()) claim_all({id, 0});
    for (NodeId id : graph.results()) claim_all(graph.node(id).inputs.at(0));
  }

  void add(Value value, const std::string& name) {
    if (name.empty() || !claim(value, name)) return;
    auto& names = graph_.port(value).names;
    names.insert(std::lower_bound(names.begin(), names.end(), name), name);
  }

 private:
  void claim_all(Value value) {
    for (const auto& name : graph_.port(value).names) claim(value, name);
  }
  /// Whether it was nobody's.
  bool claim(Value value, const std::string& name) {
    const auto [found, added] = owners_.emplace(name, value);
    if (found->second != value)
      throw_error(ErrorCode::invalid_argument, "in IR version 10 names tell inputs and outputs apart, also those of ",
                  "their layers, but '", name, "' names two tensors: one of ",
                  graph_.node(found->second.node).describe(), " and one of ", graph_.node(value.node).describe(),
                  "; convert the original model again, to version 11");
    return added;
  }

  Graph& graph_;
  std::unordered_map<std::string, Value> owners_;
};

std::unordered_map<int64_t, const LayerRecord*> layers_by_id(const ModelRecord& model) {
  std::unordered_map<int64_t, const LayerRecord*> layers;
  for (const LayerRecord& layer : model.graph.layers) layers.emplace(layer.id, &layer);
  return layers;
}

}  // namespace

element::Type v10_output_type(element::Type type) {
  if (type.is_dynamic() || type == element::string) return type;
  if (type == element::i32 || type == element::i64 || type == element::u32 || type == element::u64) return element::i32;
  return element::f32;
}

void name_v10_ends(Graph& graph, FunctionRef<int64_t(Value)> port_id) {
  EndNames names(graph);
  for (NodeId id : graph.parameters()) names.add({id, 0}, graph.node(id).name);
  for (NodeId id : graph.results()) {
    const Value source = graph.node(id).inputs.at(0);
    const Node& producer = graph.node(source.node);
    const bool one_of_several = producer.outputs.size() > 1;
    names.add(source, one_of_several ? producer.name + "." + std::to_string(port_id(source)) : producer.name);
  }
}

void apply_v10_rules(Graph& graph, const ModelRecord& model, const OpRegistry& registry) {
  const auto layers = layers_by_id(model);
  name_v10_ends(graph, [&](Value source) -> int64_t {
    const auto layer = layers.find(graph.node(source.node).origin.layer_id);
    const auto output = static_cast<size_t>(source.output);
    const bool known = layer != layers.end() && output < layer->second->outputs.size();
    return known ? layer->second->outputs[output].id : source.output;
  });
  const std::vector<NodeId> parameters = graph.parameters(), results = graph.results();
  for (NodeId id : parameters) {
    Node& node = graph.node(id);
    if (node.outputs[0].type != element::f16) continue;
    const std::vector<Use> uses = graph.uses({id, 0});
    SetElementType visitor("element_type", element::f32);
    node.attributes->visit(visitor);
    node.outputs[0].declared.reset();
    infer_alone(graph, id);
    const NodeId convert = add_convert(graph, registry, node.name + "/as_f16", element::f16, {id, 0});
    for (const Use& use : uses) graph.set_input(use, {convert, 0});
  }
  std::unordered_map<Value, NodeId> converted;
  for (NodeId id : results) {
    const Value source = graph.node(id).inputs.at(0);
    const element::Type type = graph.port(source).type, wanted = v10_output_type(type);
    if (type == wanted) continue;
    auto [found, added] = converted.emplace(source, NodeId::none);
    if (added) {
      const std::string name = graph.node(source.node).name + "/as_" + wanted.get_type_name();
      found->second = add_convert(graph, registry, name, wanted, source);
      // The names are the output's, which is now behind the conversion; an input keeps its own.
      if (!graph.node(source.node).is(kParameterType))
        graph.port({found->second, 0}).names = std::exchange(graph.port(source).names, {});
    }
    graph.set_input({id, 0}, {found->second, 0});
    infer_alone(graph, id);
  }
}

void apply_pre_process(Graph& graph, const ModelRecord& model, const OpRegistry& registry) {
  for (const PreProcessRecord& record : model.pre_process) {
    const std::string where = place(model.file, record.line) + ": <pre-process>";
    if (record.channels.empty()) continue;
    NodeId input = NodeId::none;
    for (NodeId id : graph.parameters())
      if (graph.node(id).name == record.layer_name) input = id;
    if (input == NodeId::none && record.layer_name.empty() && graph.parameters().size() == 1)
      input = graph.parameters()[0];
    if (input == NodeId::none)
      throw_error(ErrorCode::parse_error, where, ": there is no input '", record.layer_name, "'");
    const element::Type type = graph.port({input, 0}).type;
    const PartialShape shape = graph.port({input, 0}).shape;
    const auto channels = static_cast<int64_t>(record.channels.size());
    if (shape.rank().is_dynamic() || shape.size() < 2 || !shape[1].compatible(Dimension(channels)))
      throw_error(ErrorCode::parse_error, where, " has ", channels, " channels, the input '", graph.node(input).name,
                  "' is of shape ", shape);
    auto means = std::make_shared<std::vector<float>>(record.channels.size());
    std::vector<bool> given(record.channels.size(), false);
    for (const auto& channel : record.channels) {
      if (channel.other || !channel.mean || type != element::f32)
        throw_error(ErrorCode::unsupported, where,
                    ": only one mean value per channel of an f32 input is supported; convert the original model again "
                    "so that the subtraction becomes a layer");
      if (channel.id >= channels || given[static_cast<size_t>(channel.id)])
        throw_error(ErrorCode::parse_error, where, ": channel id ", channel.id, " is out of range or doubled");
      given[static_cast<size_t>(channel.id)] = true;
      (*means)[static_cast<size_t>(channel.id)] = static_cast<float>(*channel.mean);
    }
    Dims dims(shape.size(), 1);
    dims[1] = channels;
    const std::string name = graph.node(input).name;
    const NodeId mean = graph.add_constant(registry.get(kConstType, "opset1"), name + "/mean",
                                           {{element::f32, dims, means->data()}, means});
    const std::vector<Use> uses = graph.uses({input, 0});
    const NodeId difference =
        graph.add(registry.get("Subtract", "opset1"), name + "/minus_mean", nullptr, {{input, 0}, {mean, 0}});
    infer_alone(graph, difference);
    for (const Use& use : uses) graph.set_input(use, {difference, 0});
  }
  infer_graph(graph);  // the means may know more about the input's shape than the input
}

}  // namespace terroir::ir::xml
