#include "plugins/cpu/passes/fuse_elementwise.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/graph/order.hpp"
#include "plugins/cpu/elementwise_op.hpp"
#include "plugins/cpu/tile_lowering.hpp"

namespace terroir::cpu {
namespace {

constexpr size_t kMaxMembers = 16, kMaxInputs = 12;
constexpr int64_t kWidestBlock = 16;  // of channels, over all buckets

StepView view_of(const ir::Graph& graph, const ir::Node& node) {
  StepView view{*node.schema, *node.attributes, {}, {}, {node.outputs[0].type, node.outputs[0].shape}};
  for (const ir::Value& input : node.inputs) {
    view.inputs.push_back({graph.port(input).type, graph.port(input).shape});
    view.constants.push_back(ir::constant_of(graph, input));
  }
  return view;
}

/// Whether the op can be steps of a tile program.
bool is_elementwise(const ir::Graph& graph, const ir::Node& node) {
  if ((is_cpu_op(node) ? !node.is(kDequantizeType) : ir::opset_number(node.schema->opset) <= 0) ||
      !node.schema->flags.elementwise || node.outputs.size() != 1 || node.inputs.empty() ||
      node.outputs[0].shape.is_dynamic())
    return false;
  for (const ir::Value& input : node.inputs)
    if (graph.port(input).shape.is_dynamic()) return false;
  const StepView view = view_of(graph, node);
  if (operands_read(view) != node.inputs.size()) return false;
  TileProgram program(Isa::scalar, ir::to_dims(view.output.shape.to_shape()));
  std::vector<int> operands;
  for (size_t i = 0; i < view.inputs.size(); ++i)
    operands.push_back(program.add_input(static_cast<int>(i), aligned_operand(view, i), view.inputs[i].type.size()));
  return std::holds_alternative<int>(lower(view, operands, Isa::scalar, program));
}

/// Ops whose tensors lie in channel blocks.
bool is_convolutional(const ir::Node& node) {
  constexpr std::string_view kTypes[] = {
      "Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData", "MaxPool",
      "AvgPool",     "Interpolate",      kQuantizedConvolutionType, kBf16ConvolutionType,           kQuantizeType};
  return std::find(std::begin(kTypes), std::end(kTypes), node.schema->type) != std::end(kTypes);
}

struct Region {
  std::vector<ir::NodeId> members;  // in topological order, the result last
  std::vector<ir::Value> inputs;
};

class RegionFinder {
 public:
  explicit RegionFinder(const ir::Graph& graph) : graph_(graph), order_(ir::topological_order(graph)) {
    for (size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
    for (ir::NodeId id : order_)
      if (is_elementwise(graph, graph.node(id))) eligible_.insert(id);
  }

  std::vector<Region> regions() {
    std::vector<Region> found;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      if (!eligible_.contains(*id)) continue;
      Region region = grow(*id);
      if (region.members.size() < 2 || region.inputs.size() > kMaxInputs || is_chain(region) || is_misplaced(region))
        continue;
      for (ir::NodeId member : region.members) eligible_.erase(member);
      found.push_back(std::move(region));
    }
    return found;
  }

 private:
  Region grow(ir::NodeId last) const {
    std::set<ir::NodeId> members = {last};
    const PartialShape& shape = graph_.node(last).outputs[0].shape;
    for (bool grown = true; grown && members.size() < kMaxMembers;) {
      grown = false;
      for (ir::NodeId member : std::set(members))
        for (const ir::Value& input : graph_.node(member).inputs) {
          if (members.size() == kMaxMembers || members.contains(input.node) || !eligible_.contains(input.node) ||
              graph_.port(input).shape != shape)
            continue;
          const auto& uses = graph_.uses(input);
          if (!std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return members.contains(use.node); }))
            continue;
          members.insert(input.node);
          grown = true;
        }
    }
    Region region;
    region.members.assign(members.begin(), members.end());
    std::sort(region.members.begin(), region.members.end(),
              [&](ir::NodeId a, ir::NodeId b) { return rank_.at(a) < rank_.at(b); });
    for (ir::NodeId member : region.members)
      for (const ir::Value& input : graph_.node(member).inputs)
        if (!members.contains(input.node) &&
            std::find(region.inputs.begin(), region.inputs.end(), input) == region.inputs.end())
          region.inputs.push_back(input);
    return region;
  }

  /// One value on its way through steps of a fused chain.
  bool is_chain(const Region& region) const {
    int axis = -1;
    for (size_t m = 0; m < region.members.size(); ++m) {
      const ir::Node& node = graph_.node(region.members[m]);
      int data = -1;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool inside =
            std::find(region.members.begin(), region.members.end(), node.inputs[i].node) != region.members.end();
        if (!inside) continue;
        if (data >= 0 || m == 0 || node.inputs[i].node != region.members[m - 1]) return false;
        data = static_cast<int>(i);
      }
      if (data < 0 && m > 0) return false;
      bool step = false;
      for (int i = data < 0 ? 0 : data; i <= (data < 0 ? 1 : data) && i < std::ssize(node.inputs) && !step; ++i)
        step = as_post_op(graph_, node, i, axis).has_value();
      if (!step) return false;
    }
    return true;
  }

  /// Beside convolutions a tensor is best left in channel blocks, which a tile program takes when they are whole.
  bool is_misplaced(const Region& region) const {
    const ir::Value result{region.members.back(), 0};
    const PartialShape& shape = graph_.port(result).shape;
    if (shape.size() < 3 || shape[1].get_length() % kWidestBlock == 0) return false;
    const auto& uses = graph_.uses(result);
    return std::any_of(region.inputs.begin(), region.inputs.end(),
                       [&](const ir::Value& input) { return is_convolutional(graph_.node(input.node)); }) ||
           std::any_of(uses.begin(), uses.end(),
                       [&](const ir::Use& use) { return is_convolutional(graph_.node(use.node)); });
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::map<ir::NodeId, size_t> rank_;
  std::set<ir::NodeId> eligible_;
};

ElementwiseAttrs attributes_of(const ir::Graph& graph, const Region& region) {
  ElementwiseAttrs attrs;
  for (ir::NodeId id : region.members) {
    const ir::Node& node = graph.node(id);
    ElementwiseMember member{node.schema, node.attributes->clone(), {}};
    for (const ir::Value& input : node.inputs) {
      const auto inside = std::find(region.members.begin(), region.members.end(), input.node);
      const auto outside = std::find(region.inputs.begin(), region.inputs.end(), input);
      member.operands.push_back(inside != region.members.end() ? -1 - static_cast<int>(inside - region.members.begin())
                                                               : static_cast<int>(outside - region.inputs.begin()));
    }
    attrs.members.push_back(std::move(member));
  }
  return attrs;
}

}  // namespace

ir::Pass fuse_elementwise(const CpuOps& ops) {
  return {"fuse_elementwise", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            for (const Region& region : RegionFinder(graph).regions()) {
              // The result's own name first: it is what the profile of the layers in front of it leads to.
              std::vector<ir::NodeId> from(region.members.rbegin(), region.members.rend());
              patch.replace({region.members.back(), 0},
                            patch.add(ops.elementwise(), ir::make_attributes_of(attributes_of(graph, region)),
                                      region.inputs, std::move(from)));
            }
          }};
}

}  // namespace terroir::cpu
