#include "tests/differential/model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

/// What surrounds the operation in networks, and what devices fuse, move and lay out.
const std::vector<std::string> kUsual = {"Add-1",
                                         "Add-1",
                                         "Multiply-1",
                                         "Multiply-1",
                                         "Subtract-1",
                                         "Divide-1",
                                         "Maximum-1",
                                         "ReLU-1",
                                         "Sigmoid-1",
                                         "Tanh-1",
                                         "HSwish-4",
                                         "Swish-4",
                                         "Gelu-7",
                                         "Clamp-1",
                                         "Elu-1",
                                         "PReLU-1",
                                         "Abs-1",
                                         "Sqrt-1",
                                         "Exp-1",
                                         "Select-1",
                                         "Convolution-1",
                                         "Convolution-1",
                                         "GroupConvolution-1",
                                         "MatMul-1",
                                         "MatMul-1",
                                         "MaxPool-1",
                                         "AvgPool-1",
                                         "ReduceMean-1",
                                         "ReduceSum-1",
                                         "ReduceMax-1",
                                         "SoftMax-8",
                                         "MVN-6",
                                         "Transpose-1",
                                         "Transpose-1",
                                         "Reshape-1",
                                         "Reshape-1",
                                         "Concat-1",
                                         "Concat-1",
                                         "Split-1",
                                         "VariadicSplit-1",
                                         "StridedSlice-1",
                                         "Slice-8",
                                         "Gather-8",
                                         "Pad-1",
                                         "Broadcast-3",
                                         "Squeeze-1",
                                         "Unsqueeze-1",
                                         "Convert-1",
                                         "Interpolate-4",
                                         "FakeQuantize-1",
                                         "BatchNormInference-5",
                                         "NormalizeL2-1",
                                         "Tile-1",
                                         "Equal-1",
                                         "Greater-1"};

const std::map<std::string, const ir::OpSchema*>& schemas() {
  static const auto all = [] {
    std::map<std::string, const ir::OpSchema*> filled;
    for (const ir::OpSchema* schema : ops::builtin_registry().all()) filled.emplace(schema->display_name(), schema);
    return filled;
  }();
  return all;
}

const std::vector<std::string>& every_operation() {
  static const std::vector<std::string> all = operations_with_recipes();
  return all;
}

/// Whether the operation took its operands within a few attempts.
bool grow(Draw& draw, const std::string& operation, int attempts, int& refused) {
  const Recipe recipe = find_recipe(operation);
  if (!recipe) throw_error(ErrorCode::not_found, "there is no recipe for ", operation);
  for (; attempts > 0; --attempts) {
    try {
      draw.set_schema(*schemas().at(operation));
      recipe(draw);
      return true;
    } catch (const Exception&) {
      ++refused;
    }
  }
  return false;
}

/// Results for what nobody reads and for some other values; inputs nobody reads go.
void finish(Draw& draw, RandomModel& model) {
  ir::Graph& graph = *model.graph;
  draw.set_schema(ops::builtin_registry().get(ir::kResultType, "opset1"));
  const std::vector<ir::Value> made = draw.offered();
  for (const ir::Value value : made) {
    const ir::Node& node = graph.node(value.node);
    if (node.is(ir::kParameterType) || node.is("Assign") || node.is(ir::kResultType)) continue;
    if (graph.uses(value).empty() || draw.chance(15)) draw.op({value});
  }
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.parameters()))
    if (graph.uses({id, 0}).empty()) graph.erase(id);
  graph.erase_unreachable();
  for (const ir::NodeId id : graph.parameters()) model.inputs.push_back(draw.contents().at(id));
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    // What follows from constants alone is computed when the model is compiled.
    if (draw.is_fed(id) || node.inputs.empty() || !node.schema->flags.pure)
      model.operations.insert(node.schema->display_name());
  }
}

/// In a model of elementwise operations alone every element has its own results, so that those of special ones are
/// defined whatever else there is: NaN, infinities, zeros of both signs and subnormal numbers among the others.
void add_special_numbers(RandomModel& model, Random random) {
  if (!random.chance(40)) return;
  for (const ir::NodeId id : model.graph->nodes()) {
    const ir::Node& node = model.graph->node(id);
    if (!node.inputs.empty() && !node.is(ir::kResultType) && !node.schema->flags.elementwise) return;
  }
  for (HostTensor& input : model.inputs) {
    if (!input.type().is_real() || input.type().bitwidth() < 16) continue;
    const double tiny = input.type() == element::f16 ? 3e-7 : 3e-40;
    const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, tiny, -tiny};
    const ir::MutableTensorView view = input.writable();
    for (int64_t i = 0; i < view.count(); ++i)
      if (random.chance(20)) set_number(view, i, special[random.below(std::size(special))]);
  }
}

/// Whole numbers of a step, at most 127 of them.
HostTensor in_levels(const ir::TensorView& weights) {
  const auto* const values = weights.as<float>();
  float largest = 0;
  for (int64_t i = 0; i < weights.count(); ++i) largest = std::max(largest, std::fabs(values[i]));
  const float step = largest > 0 ? std::exp2(std::ceil(std::log2(largest / 127))) : 1;
  HostTensor rounded(element::f32, weights.dims);
  for (int64_t i = 0; i < weights.count(); ++i)
    rounded.writable().as<float>()[i] = std::nearbyint(values[i] / step) * step;
  return rounded;
}

/// In some models the data and the weights of convolutions and matrix products are in levels, as of quantised networks.
void quantise(Draw& draw, RandomModel& model, Random random) {
  if (!random.chance(25)) return;
  ir::Graph& graph = *model.graph;
  draw.set_schema(*schemas().at("FakeQuantize-1"));
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.nodes())) {
    const ir::Node& node = graph.node(id);
    if (!node.is("Convolution") && !node.is("GroupConvolution") && !node.is("MatMul")) continue;
    const ir::Value data = node.inputs[0];
    const ir::Constant* const weights = ir::constant_of(graph, node.inputs[1]);
    if (!weights || weights->view.type != element::f32 || ir::constant_of(graph, data)) continue;
    const ir::Value in_steps = draw.constant(in_levels(weights->view));
    // Powers of two, so that there is one right level of everything.
    const double width = std::exp2(random.between(0, 3)), low = random.chance(50) ? 0 : -width / 2;
    const auto limit = [&](double value) { return draw.reals({value}, element::f32, true); };
    const ir::Value least = limit(low), most = limit(low + width);
    const std::string levels = random.chance(70) ? "256" : "255";
    const ir::Value quantised =
        draw.op({data, least, most, least, most}, {{"levels", levels}, {"auto_broadcast", "numpy"}});
    graph.set_input({id, 0}, quantised);
    graph.set_input({id, 1}, in_steps);
  }
  graph.erase_unreachable();
}

/// In some models the operation gets small elements, where it takes them; drawn with numbers of their own, so that the
/// models of other seeds stay what they were.
element::Type small_type(uint64_t seed) {
  static const element::Type kSmall[] = {element::u1, element::u2,     element::u4,     element::i4, element::u8,
                                         element::i8, element::f8e4m3, element::f8e5m2, element::nf4};
  Random random(seed ^ 0x5a11);
  return random.chance(12) ? kSmall[random.below(std::size(kSmall))] : element::dynamic;
}

}  // namespace

RandomModel random_model(uint64_t seed, const std::string& operation) {
  RandomModel model;
  model.graph = std::make_shared<ir::Graph>("random");
  Random random(seed);
  Draw draw(*model.graph, random);
  const int64_t before = draw.chance(60) ? draw.below(4) : 0, after = draw.chance(60) ? draw.below(4) : 0;
  const auto grow_others = [&](int64_t count) {
    for (; count > 0; --count)
      grow(draw, draw.chance(75) ? draw.one_of(kUsual) : draw.one_of(every_operation()), 2, model.refused);
  };
  grow_others(before);
  if (const element::Type type = small_type(seed); type.is_static()) {
    draw.want(type);
    model.has_wanted = grow(draw, operation, 2, model.refused);
    draw.want(element::dynamic);
  }
  if (!model.has_wanted) model.has_wanted = grow(draw, operation, 8, model.refused);
  grow_others(after);
  finish(draw, model);
  // With numbers of their own, so that the seed's model stays what it was.
  quantise(draw, model, Random(seed ^ 0x9a7));
  add_special_numbers(model, Random(seed ^ 0x5bec1a1));
  return model;
}

RandomModel random_mixture(uint64_t seed, size_t fewest, size_t most) {
  RandomModel model;
  model.graph = std::make_shared<ir::Graph>("mixture");
  Random random(seed);
  Draw draw(*model.graph, random);
  for (int64_t left = draw.between(static_cast<int64_t>(fewest), static_cast<int64_t>(most)); left > 0; --left)
    grow(draw, draw.chance(75) ? draw.one_of(kUsual) : draw.one_of(every_operation()), 2, model.refused);
  finish(draw, model);
  return model;
}

RandomModel model_of_one(uint64_t seed, const std::string& operation, element::Type type) {
  RandomModel model;
  model.graph = std::make_shared<ir::Graph>("random");
  Random random(seed);
  Draw draw(*model.graph, random);
  draw.want(type);
  model.has_wanted = grow(draw, operation, 4, model.refused);
  for (const ir::NodeId id : model.graph->nodes()) {
    const ir::Node& node = model.graph->node(id);
    if (node.schema->display_name() != operation) continue;
    model.type = node.inputs.empty() ? node.outputs.at(0).type : model.graph->port(node.inputs[0]).type;
  }
  finish(draw, model);
  return model;
}

}  // namespace terroir::test
