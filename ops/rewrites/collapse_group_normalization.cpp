#include <algorithm>
#include <numeric>

#include "ir/schema/attribute_text.hpp"
#include "ops/defs/normalization/group_normalization.hpp"
#include "ops/defs/normalization/mvn.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/rewrites/channel_constants.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// The node that reads this value alone; null if there are others.
const ir::Node* only_reader(const ir::Graph& graph, ir::Value value) {
  const std::vector<ir::Use> uses = graph.uses(value);
  return uses.size() == 1 ? &graph.node(uses[0].node) : nullptr;
}

struct GroupNormalization {
  ir::Value x, last;
  GroupNormalizationAttrs attrs;
  const ir::Constant *scale = nullptr, *shift = nullptr;
  std::vector<ir::NodeId> nodes;      // the last one first
  const ir::Node* reshape = nullptr;  // behind it, where x may have other extents than the result
};

/// Of a node of `type` that reads `value` alone, the constant per channel beside it; `value` then is its result.
const ir::Constant* take_channels(const ir::Graph& graph, const char* type, ir::Value& value,
                                  std::vector<ir::NodeId>& nodes) {
  const ir::Node* node = only_reader(graph, value);
  if (!node || !node->is(type) || node->outputs[0].shape != graph.port(value).shape ||
      ir::broadcasts_from_an_axis(*node->attributes))
    return nullptr;
  const PartialShape& shape = node->outputs[0].shape;
  const ir::Value other = node->inputs[node->inputs[0] == value ? 1 : 0];
  if (other == value || !constant_per_channel(graph, other, shape[1].get_length(), shape.size())) return nullptr;
  nodes.insert(nodes.begin(), node->id);
  value = {node->id, 0};
  return ir::constant_of(graph, other);
}

bool copies_batch(const ir::Node& reshape, const std::optional<std::vector<int64_t>>& target) {
  return target && reshape.attrs<ReshapeAttrs>().special_zero && !target->empty() && target->front() == 0;
}

/// Whether the groups of channels of x become images of the same channels again, whatever the other axes, by a target
/// that says the same of x itself. Found without extents wherever the targets allow, so that a model whose shapes are
/// not known yet becomes what it would be if they were; other targets are understood when shapes are bound.
bool leads_back(const ir::Graph& graph, ir::Value x, const ir::Node& there, const ir::Node& back) {
  const PartialShape &shape = graph.port(x).shape, &parted = there.outputs[0].shape, &result = back.outputs[0].shape;
  if (result.rank().is_dynamic() || result.size() < 3 || result[1] != shape[1]) return false;
  const auto there_target = ir::constant_integers(graph, there.inputs[1]),
             target = ir::constant_integers(graph, back.inputs[1]);
  const bool same_batch = shape[0].is_static() && parted[0] == shape[0];
  if (!same_batch && !copies_batch(there, there_target)) return false;
  const ir::Node& extents = graph.node(back.inputs[1].node);
  if (extents.is("ShapeOf") && extents.inputs[0] == x) return true;
  if (!(shape[0].is_static() && result[0] == shape[0]) && !copies_batch(back, target)) return false;
  if (result == shape && shape.is_static()) return true;
  // Other extents that are copied are those of the groups.
  return target &&
         (!back.attrs<ReshapeAttrs>().special_zero || std::count(target->begin() + 1, target->end(), int64_t{0}) == 0);
}

/// Whether a GroupNormalization can be this MVN, of which it then takes eps: over all axes from `first` on.
bool normalises(const ir::Graph& graph, const ir::Node& mvn, int64_t first, double& eps) {
  if (!mvn.is("MVN") || mvn.inputs.size() != 2 || mvn.outputs[0].type != element::f32) return false;
  const PartialShape& shape = mvn.outputs[0].shape;
  if (shape.rank().is_dynamic() || shape.size() < 3) return false;
  const auto& attrs = mvn.attrs<Mvn6Attrs>();
  if (!attrs.normalize_variance || attrs.eps_mode != reference::EpsPlace::inside_sqrt || !(attrs.eps > 0)) return false;
  eps = attrs.eps;
  auto axes = ir::constant_integers(graph, mvn.inputs[1]);
  if (!axes) return false;
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  std::sort(axes->begin(), axes->end());
  std::vector<int64_t> all(static_cast<size_t>(rank - first));
  std::iota(all.begin(), all.end(), first);
  return *axes == all;
}

/// Where `back` makes images again of the groups that `there` has parted, normalised one by one.
std::optional<GroupNormalization> match_groups(const ir::Graph& graph, const ir::Node& back) {
  const ir::Node& mvn = graph.node(back.inputs[0].node);
  double eps = 0;
  if (!normalises(graph, mvn, 2, eps)) return std::nullopt;
  const ir::Node& there = graph.node(mvn.inputs[0].node);
  if (!there.is("Reshape") || !only_reader(graph, {mvn.id, 0}) || !only_reader(graph, {there.id, 0}))
    return std::nullopt;
  GroupNormalization found{there.inputs[0], {back.id, 0}, {}, nullptr, nullptr, {mvn.id, there.id}, &back};
  const PartialShape &shape = graph.port(found.x).shape, &parted = there.outputs[0].shape;
  if (shape.rank().is_dynamic() || shape.size() < 3 || shape[1].is_dynamic() || parted[1].is_dynamic())
    return std::nullopt;
  const int64_t channels = shape[1].get_length(), groups = parted[1].get_length();
  // A Reshape that may be none is, of known extents, gone before.
  if (groups == channels && parted.size() == shape.size()) return std::nullopt;
  if (groups < 1 || channels % groups != 0 || channels == 0 || !leads_back(graph, found.x, there, back))
    return std::nullopt;
  found.attrs = {groups, eps};
  if (shape.is_static() && back.outputs[0].shape == shape) {
    found.reshape = nullptr;
    found.nodes.insert(found.nodes.begin(), back.id);
  }
  return found;
}

std::optional<GroupNormalization> match(const ir::Graph& graph, const ir::Node& node) {
  std::optional<GroupNormalization> found;
  double eps = 0;
  const bool whole = normalises(graph, node, 1, eps);
  if (whole && node.outputs[0].shape[1].is_static() && node.outputs[0].shape[1].get_length() > 0)
    found = GroupNormalization{node.inputs[0], {node.id, 0}, {1, eps}, nullptr, nullptr, {node.id}};
  else if (node.is("Reshape"))
    found = match_groups(graph, node);
  if (!found) return std::nullopt;
  found->scale = take_channels(graph, "Multiply", found->last, found->nodes);
  found->shift = take_channels(graph, "Add", found->last, found->nodes);
  // Alone it is better off, as plain tensors then have one step less.
  if (whole && !found->scale && !found->shift) return std::nullopt;
  // What follows may be its scale or its shift.
  const ir::Node* reader = only_reader(graph, found->last);
  if (!found->shift && reader && may_be_no_op(graph, *reader)) return std::nullopt;
  return found;
}

/// The channels of `constant`, or `fill` for each.
ir::Constant vector_of(const ir::Constant* constant, int64_t channels, float fill) {
  if (constant) return {{element::f32, {channels}, constant->view.data}, constant->owner};
  auto filled = std::make_shared<std::vector<float>>(static_cast<size_t>(channels), fill);
  return {{element::f32, {channels}, filled->data()}, filled};
}

}  // namespace

ir::Pass collapse_group_normalization(const ir::OpRegistry& registry) {
  return {"collapse_group_normalization", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const auto found = match(graph, graph.node(id));
              if (!found) continue;
              const ir::Node& last = graph.node(found->last.node);
              NewNodes nodes(registry, patch, last);
              const int64_t channels = graph.port(found->x).shape[1].get_length();
              const ir::Value scale = nodes.constant(vector_of(found->scale, channels, 1), "scale");
              const ir::Value shift = nodes.constant(vector_of(found->shift, channels, 0), "shift");
              ir::Value result =
                  patch.add(registry.get("GroupNormalization", "opset12"), ir::make_attributes_of(found->attrs),
                            {found->x, scale, shift}, found->nodes);
              if (const ir::Node* reshape = found->reshape)
                result = patch.add(*reshape->schema, reshape->attributes->clone(), {result, reshape->inputs[1]},
                                   {reshape->id});
              patch.replace(found->last, result);
            }
          }};
}

}  // namespace terroir::ops
