#include "runtime/api/model_ends.hpp"

#include <algorithm>
#include <utility>

#include "ir/base/error.hpp"
#include "ops/op_rows.hpp"
#include "ops/registry.hpp"
#include "runtime/api/draft.hpp"

namespace terroir {

namespace detail {

namespace {

constexpr std::string_view kUnlisted = "Unlisted";
constexpr std::string_view kAssignType = "Assign";

std::vector<ir::OpSchema> make_unlisted_schemas() {
  std::vector<ir::OpSchema> schemas;
  for (const ops::OpRow& row : ops::op_rows()) {
    if (row.type != ir::kParameterType && row.type != ir::kResultType && row.type != kAssignType) continue;
    schemas.push_back(row.make());
    schemas.back().type = concat(kUnlisted, row.type);
    schemas.back().opset = row.opset;
  }
  return schemas;
}

bool is_unlisted(std::string_view type) { return type != listed_type(type); }

}  // namespace

std::string_view listed_type(std::string_view type) {
  return type.substr(0, kUnlisted.size()) == kUnlisted ? type.substr(kUnlisted.size()) : type;
}

const ir::OpSchema& unlisted(const ir::OpSchema& schema) {
  static const std::vector<ir::OpSchema> schemas = make_unlisted_schemas();
  const auto found = std::find_if(schemas.begin(), schemas.end(), [&](const ir::OpSchema& unlisted) {
    return listed_type(unlisted.type) == schema.type && unlisted.opset == schema.opset;
  });
  return found != schemas.end() ? *found : schema;
}

const ir::OpSchema& listed(const ir::OpSchema& schema) {
  if (!is_unlisted(schema.type)) return schema;
  return ops::builtin_registry().get(std::string(listed_type(schema.type)), schema.opset);
}

bool is_parameter(const ir::Node& node) { return listed_type(node.schema->type) == ir::kParameterType; }
bool is_result(const ir::Node& node) { return listed_type(node.schema->type) == ir::kResultType; }

void require_ends(const ir::Graph& graph, const std::vector<bool>& needed) {
  if (graph.results().empty() && graph.sinks().empty())
    throw_error(ErrorCode::invalid_argument, "it has no result; Model::add_results() gives it one");
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (needed[ir::index_of(id)] && is_parameter(node) && !node.is(ir::kParameterType))
      throw_error(ErrorCode::invalid_argument, "it needs the Parameter '", node.name,
                  "', which is not among its inputs; Model::add_parameters() makes it one");
  }
}

}  // namespace detail

namespace {

using detail::GraphState;
using detail::NodeAccess;

/// Gives an end of a model the schema of one that is in its lists, at their back, or of one that is not. Its new id.
ir::NodeId relist(GraphState& state, ir::NodeId id, const ir::OpSchema& schema) {
  ir::Graph& graph = state.writable();
  const ir::Node& before = graph.node(id);
  const ir::NodeId to = graph.add(schema, before.name, before.attributes->clone(), before.inputs);
  ir::Node &from = graph.node(id), &node = graph.node(to);
  const std::vector<ir::Use> readers = graph.uses({id, 0});
  for (const ir::Use& reader : readers) graph.set_input(reader, {to, 0});
  node.outputs = std::move(from.outputs);
  node.input_rt_info = std::move(from.input_rt_info);
  node.rt_info = std::move(from.rt_info);
  node.origin = std::move(from.origin);
  graph.erase(id);
  state.relisted[id] = to;
  if (state.changed.erase(id) != 0) state.changed.insert(to);
  state.rt_info.rename(id, to);
  state.objects.rename(id, to);
  state.rewired = state.has_spare_layers = true;
  return to;
}

void list(GraphState& state, ir::NodeId id) { relist(state, id, detail::listed(*state.graph->node(id).schema)); }
void unlist(GraphState& state, ir::NodeId id) { relist(state, id, detail::unlisted(*state.graph->node(id).schema)); }

std::string describe(const ir::Node& node) {
  return concat(detail::listed_type(node.schema->type), " '", node.name, "'");
}

/// Adds layers of this type at the back of a list; none of them if one cannot be.
template <typename Layers>
void add_ends(const std::shared_ptr<GraphState>& state, const Layers& layers, std::string_view type) {
  std::vector<ir::NodeId> ids;
  for (const auto& layer : layers) {
    if (layer == nullptr) throw_error(ErrorCode::invalid_argument, "a layer to add to the model is null");
    NodeAccess::enter(*layer);
    const ir::NodeId id = detail::bring(state, *layer);
    const ir::Node& node = state->graph->node(id);
    if (detail::listed_type(node.schema->type) != type)
      throw_error(ErrorCode::invalid_argument, describe(node), " is no ", type);
    if (node.is(type) || std::find(ids.begin(), ids.end(), id) != ids.end())
      throw_error(ErrorCode::invalid_argument, describe(node), " is in the model's list already");
    ids.push_back(id);
  }
  for (const ir::NodeId id : ids) list(*state, id);
}

void remove_end(const std::shared_ptr<GraphState>& state, const std::shared_ptr<Node>& layer, std::string_view type) {
  if (layer == nullptr) throw_error(ErrorCode::invalid_argument, "the layer to take from the model is null");
  if (NodeAccess::state(*layer) != state || !NodeAccess::node(*layer).is(type))
    throw_error(ErrorCode::not_found, *layer, " is no ", type, " of the model");
  unlist(*state, NodeAccess::id(*layer));
}

}  // namespace

void Model::add_results(const ResultVector& results) { add_ends(state_, results, ir::kResultType); }
void Model::add_parameters(const ParameterVector& parameters) { add_ends(state_, parameters, ir::kParameterType); }
void Model::add_sinks(const SinkVector& sinks) { add_ends(state_, sinks, detail::kAssignType); }
void Model::remove_result(const std::shared_ptr<op::v0::Result>& result) {
  remove_end(state_, result, ir::kResultType);
}
void Model::remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter) {
  remove_end(state_, parameter, ir::kParameterType);
}
void Model::remove_sink(const std::shared_ptr<Node>& sink) { remove_end(state_, sink, detail::kAssignType); }

void Model::replace_parameter(size_t index, const std::shared_ptr<op::v0::Parameter>& parameter) {
  detail::check_index(*state_->graph, true, index, "the model");
  const auto before = get_parameters();
  add_parameters({parameter});
  terroir::replace_node(before[index], parameter);
  remove_parameter(before[index]);
  // Those behind it go behind the new one.
  for (size_t i = index + 1; i < before.size(); ++i) list(*state_, NodeAccess::id(*before[i]));
}

}  // namespace terroir
