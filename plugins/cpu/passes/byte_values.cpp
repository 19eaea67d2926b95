#include "plugins/cpu/passes/byte_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "ir/schema/infrastructure.hpp"
#include "ops/defs/quantization/fake_quantize.hpp"
#include "plugins/cpu/passes/moved_values.hpp"

namespace terroir::cpu {
namespace {

constexpr int kDeepest = 16;  // operations one behind the other that move values

/// A limit by channel; null if it is another thing.
std::optional<ByChannel> limit_of(const ir::Graph& graph, const ir::Node& node, size_t input) {
  const ir::Constant* limit = ir::constant_of(graph, node.inputs[input]);
  const PartialShape& x = node.outputs[0].shape;
  if (!limit || limit->view.count() == 0) return std::nullopt;
  const auto* const values = limit->view.as<float>();
  if (limit->view.count() == 1) return ByChannel(*values);
  if (x.is_dynamic() || x.size() < 3) return std::nullopt;
  const ir::Dims dims =
      ops::align_limit(node.attrs<ops::FakeQuantizeAttrs>(), ir::to_dims(x.to_shape()), limit->view.dims);
  if (dims[1] != limit->view.count()) return std::nullopt;
  return ByChannel(std::vector<float>(values, values + dims[1]));
}

}  // namespace

std::optional<Quantisation> quantisation_of(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("FakeQuantize") || is_cpu_op(node) || node.outputs[0].type != element::f32) return std::nullopt;
  const int64_t levels = node.attrs<ops::FakeQuantizeAttrs>().levels;
  if (levels > 256) return std::nullopt;
  std::array<ByChannel, 4> limits;
  size_t channels = 1;
  for (size_t i = 0; i < limits.size(); ++i) {
    const auto limit = limit_of(graph, node, i + 1);
    if (!limit) return std::nullopt;
    limits[i] = *limit;
    channels = std::max(channels, limit->values.size());
  }
  const auto& [input_low, input_high, low, high] = limits;
  Quantisation found{{input_low, input_high, levels}, {}, {}};
  std::vector<float> scales, zeros;
  for (int64_t c = 0; c < static_cast<int64_t>(channels); ++c) {
    const float scale = (high[c] - low[c]) / found.levels.most(), zero = -low[c] / scale;
    if (!(input_low[c] < input_high[c]) || !(scale > 0) || !std::isfinite(scale) || !std::isfinite(zero) ||
        !std::isfinite(found.levels.steps(c)))
      return std::nullopt;
    scales.push_back(scale);
    zeros.push_back(zero);
  }
  found.scale = ByChannel(std::move(scales));
  found.zero = ByChannel(std::move(zeros));
  return found;
}

std::optional<Quantisation> ByteValues::carried(const ir::Node& node, int depth) {
  const size_t inputs = depth < kDeepest ? moved_inputs(graph_, node) : 0;
  const Quantisation* first = nullptr;
  for (size_t i = 0; i < inputs; ++i) {
    const Quantisation* const one = find(node.inputs[i], depth + 1);
    if (!one || one->by_channel() || (first && (one->scale != first->scale || one->zero != first->zero)))
      return std::nullopt;
    first = one;
  }
  return first ? std::optional(*first) : std::nullopt;
}

const Quantisation* ByteValues::find(ir::Value value, int depth) {
  auto known = found_.find(value);
  if (known == found_.end()) {
    const ir::Node& node = graph_.node(value.node);
    auto found = node.is("FakeQuantize") ? quantisation_of(graph_, node) : carried(node, depth);
    known = found_.emplace(value, std::move(found)).first;
  }
  return known->second ? &*known->second : nullptr;
}

ir::Value ByteValues::quantised(ir::Value x, const QuantizeAttrs& levels, ir::NodeId from, int depth) {
  if (const auto known = quantised_.find({x, levels}); known != quantised_.end()) return known->second;
  const ir::Node& node = graph_.node(x.node);
  const bool is_single = x.output == 0 && !node.is("Split") && !node.is("VariadicSplit");
  const size_t moved = is_single && !levels.by_channel() && depth < kDeepest && graph_.uses(x).size() == 1
                           ? moved_inputs(graph_, node)
                           : 0;
  ir::Value made;
  if (moved == 0) {
    made = patch_.add(ops_.quantize(), ir::make_attributes_of(levels), {x}, {from});
  } else {
    std::vector<ir::Value> inputs = node.inputs;
    for (size_t i = 0; i < moved; ++i) inputs[i] = quantised(inputs[i], levels, from, depth + 1);
    made = patch_.add(*node.schema, node.attributes->clone(), std::move(inputs), {node.id});
  }
  return quantised_[{x, levels}] = made;
}

ir::Value ByteValues::get(ir::Value value) {
  if (const auto known = made_.find(value.node); known != made_.end())
    return ir::Patch::output(known->second, value.output);
  const ir::Node& node = graph_.node(value.node);
  if (node.is("FakeQuantize")) {
    return made_[node.id] = quantised(node.inputs[0], find(value)->levels, node.id, 0);
  }
  std::vector<ir::Value> inputs = node.inputs;
  for (size_t i = 0; i < moved_inputs(graph_, node); ++i) {
    inputs[i] = get(inputs[i]);
    take({node.id, static_cast<int32_t>(i)});
  }
  made_[node.id] = patch_.add(*node.schema, node.attributes->clone(), std::move(inputs), {node.id});
  return ir::Patch::output(made_[node.id], value.output);
}

void ByteValues::dequantize_others() {
  for (const auto& [id, made] : made_) {
    const ir::Node& node = graph_.node(id);
    for (int output = 0; output < static_cast<int>(node.outputs.size()); ++output) {
      const ir::Value value{id, output};
      const auto& uses = graph_.uses(value);
      if (std::all_of(uses.begin(), uses.end(), [this](const ir::Use& use) { return taken_.contains(use); })) continue;
      const Quantisation& levels = *find({id, 0});
      if (levels.by_channel()) continue;
      patch_.replace(
          value, patch_.add(ops_.dequantize(), ir::make_attributes_of(DequantizeAttrs{levels.scale[0], levels.zero[0]}),
                            {ir::Patch::output(made, output)}, {id}));
    }
  }
}

}  // namespace terroir::cpu
