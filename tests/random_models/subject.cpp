#include "tests/random_models/subject.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "tests/differential/model.hpp"
#include "tests/differential/oracle.hpp"
#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

constexpr size_t kFewest = 5, kMost = 60;  // layers
constexpr float kLargestValue = 1e6F;

/// What the network begins with, and which blocks suit it.
std::vector<Family> begin(Net& net, int64_t batch, bool large) {
  const int64_t inputs = net.one_of<int64_t>({1, 1, 1, 2, 3});
  const auto image = [&](int64_t spatial) {
    const int64_t most = net.one_of<int64_t>({4, 20, 20, 57});
    ir::Dims dims = {batch, net.one_of<int64_t>({1, 3, 3, 4, 8, 8, 11, 16, 16, 19, 24, 32})};
    for (int64_t i = 0; i < spatial; ++i)
      dims.push_back(net.between(2, spatial == 1 ? most * 2 : spatial == 2 ? most : 7));
    if (spatial == 2 && net.chance(10)) {  // a photo in bytes
      const Value bytes = net.input(element::u8, dims, Fill::in(0, 255));
      const Value reals = net.op("Convert", {bytes}, {{"destination_type", net.type().get_type_name()}});
      return net.op("Multiply", {net.op("Subtract", {reals, net.scalar(127)}), net.scalar(1.0 / 128)});
    }
    return net.input(dims);
  };
  const auto sequence = [&] {
    return net.input({batch, net.between(1, net.chance(80) ? 20 : 150),
                      net.one_of<int64_t>({4, 8, 12, 16, 16, 24, 32, 32, 33, 48, 64})});
  };
  if (large) {
    const int64_t side = net.between(90, 136);
    net.offer(net.input({1, net.one_of<int64_t>({3, 8, 16}), side, net.chance(50) ? side : side + 3}));
    try {
      net.offer(u_net(net, net.offered()[0]));
    } catch (const Exception&) {  // does not fit
    }
    return {{convolution_blocks(), 4}, {image_blocks(), 1}, {common_blocks(), 1}};
  }
  switch (net.between(0, 9)) {
    case 0:
      for (int64_t i = 0; i < inputs; ++i) net.offer(net.input({batch, net.between(1, 80)}));
      return {{common_blocks(), 3}, {sequence_blocks(), 1}};
    case 1:
    case 2:
      for (int64_t i = 0; i < inputs; ++i) net.offer(sequence());
      return {{common_blocks(), 1}, {sequence_blocks(), 3}};
    case 5: {
      const int64_t side = net.between(10, 40);
      net.offer(net.input({batch, net.one_of<int64_t>({3, 16, 32, 48, 64}), side, net.chance(50) ? side : side + 3}));
      return {{common_blocks(), 1}, {convolution_blocks(), 6}, {image_blocks(), 1}};
    }
    case 3:
      net.offer(image(net.one_of<int64_t>({1, 3})));
      return {{common_blocks(), 2}, {convolution_blocks(), 3}, {image_blocks(), 2}};
    case 4:
      net.offer(image(2));
      net.offer(sequence());
      return {{common_blocks(), 1}, {convolution_blocks(), 1}, {image_blocks(), 1}, {sequence_blocks(), 2}};
    default:
      for (int64_t i = 0; i < inputs; ++i) net.offer(image(2));
      return {{common_blocks(), 2}, {convolution_blocks(), 4}, {image_blocks(), 2}};
  }
}

/// Results for what nobody reads and for some other values, some of them twice.
void add_results(ir::Graph& graph, Random& random) {
  const ir::OpSchema& schema = ops::builtin_registry().get(ir::kResultType, "opset1");
  const int percent_of_read = random.chance(40) ? 0 : 5;
  int count = 0;
  const auto add = [&](ir::Value value) { graph.add(schema, concat("result_", ++count), nullptr, {value}); };
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (node.inputs.empty() || node.is(ir::kResultType)) continue;
    // Where the largest element is may depend on rounding.
    const size_t outputs = node.is("MaxPool") || node.is("AdaptiveMaxPool") ? 1 : node.outputs.size();
    for (size_t i = 0; i < outputs; ++i) {
      const ir::Value value{id, static_cast<int32_t>(i)};
      // Half of what a block that did not fit has left behind, and of the other parts of cuts.
      if (graph.uses(value).empty() ? random.chance(i == 0 ? 70 : 40) : random.chance(percent_of_read)) add(value);
      if (percent_of_read > 0 && random.chance(1)) add(value);
    }
  }
}

Subject network(Random& random, bool large) {
  Subject subject;
  subject.graph = std::make_shared<ir::Graph>("network");
  ir::Graph& graph = *subject.graph;
  const size_t kind = random.below(100);
  const element::Type type = kind < 84 ? element::f32 : kind < 92 ? element::f16 : element::bf16;
  // Most models are small, so that many are tried; some are large enough for every way of sharing out the work.
  const size_t size = random.below(100);
  const int64_t products = large ? 900000000 : size < 55 ? 5000000 : size < 94 ? 30000000 : 150000000;
  Net net(graph, random, type, products);
  std::vector<Family> families = begin(net, net.one_of<int64_t>({1, 1, 2, 3}), large);
  if (net.chance(35)) families.push_back({control_blocks(), 1});
  const size_t wanted = static_cast<size_t>(net.chance(50) ? net.between(kFewest, 20) : net.between(kFewest, kMost));
  grow(net, families, wanted);
  subject.batched = net.batched();
  add_results(graph, random);
  if (graph.results().empty())
    graph.add(ops::builtin_registry().get(ir::kResultType, "opset1"), "result", nullptr, {net.offered().back()});
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.parameters()))
    if (graph.uses({id, 0}).empty()) graph.erase(id);
  graph.erase_unreachable();
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.parameters()))
    if (graph.uses({id, 0}).empty()) graph.erase(id);
  ir::infer_graph(graph);
  for (const ir::NodeId id : graph.parameters()) subject.inputs.push_back(net.draw().contents().at(id));
  return subject;
}

/// Whether values stay where networks have them. Those whose squares are beyond the range of floats are of no use to
/// anybody, and of devices that disagree about them none is wrong.
bool stays_in_range(const Subject& subject) {
  bool stays = true;
  const auto look_at = [&](const ir::Node&, double, std::span<const HostTensor> outputs) {
    for (const HostTensor& output : outputs) {
      if (output.type() != element::f32) continue;
      const auto* values = output.as<float>();
      stays = stays && std::all_of(values, values + output.view().count(),
                                   [](float value) { return std::fabs(value) < kLargestValue; });
    }
    return stays;
  };
  try {
    interpreter::Program(*first_inference(*subject.graph), interpreter::Precision::f32)
        .run(views_of(subject.inputs), look_at);
  } catch (const Exception&) {  // is for the examination to judge
  }
  return stays;
}

}  // namespace

size_t Subject::layers() const {
  size_t count = 0;
  for (const ir::NodeId id : graph->nodes()) {
    const ir::Node& node = graph->node(id);
    count += !node.inputs.empty() && !node.is(ir::kResultType);
  }
  return count;
}

Subject random_subject(uint64_t seed, bool large) {
  Random random(seed);
  while (large || seed % 3 != 2) {
    Subject subject = network(random, large);
    if (stays_in_range(subject)) return subject;
  }
  RandomModel model = random_mixture(seed, kFewest, kMost);
  return {std::move(model.graph), std::move(model.inputs), false};
}

std::vector<ir::Dims> extents_of(const Tensors& tensors) {
  std::vector<ir::Dims> extents;
  for (const HostTensor& tensor : tensors) extents.push_back(tensor.dims());
  return extents;
}

std::shared_ptr<ir::Graph> with_extents(const ir::Graph& graph, const std::vector<ir::Dims>& extents) {
  std::shared_ptr<ir::Graph> other = graph.clone();
  for (size_t i = 0; i < extents.size(); ++i) {
    ir::Node& parameter = other->node(other->parameters()[i]);
    auto attrs = parameter.attrs<ir::ParameterAttrs>();
    attrs.shape = PartialShape(ir::to_shape(extents[i]));
    parameter.attributes = ir::make_attributes_of(std::move(attrs));
  }
  try {
    ir::infer_graph(*other);
  } catch (const Exception&) {
    return nullptr;
  }
  for (const ir::NodeId id : other->results())
    if (!other->node(id).outputs.empty() && !other->port(other->node(id).inputs[0]).shape.is_static()) return nullptr;
  return other;
}

HostTensor refilled(const HostTensor& tensor, const ir::Dims& dims) {
  HostTensor other(tensor.type(), dims);
  const size_t size = tensor.type().size(), from = tensor.view().bytes(), to = other.view().bytes();
  auto* bytes = static_cast<uint8_t*>(other.writable().data);
  if (from == 0) {
    if (to > 0) std::memset(bytes, 0, to);
    return other;
  }
  for (size_t at = 0; at < to; at += size)
    std::memcpy(bytes + at, static_cast<const uint8_t*>(tensor.view().data) + at % from, size);
  return other;
}

HostTensor image_of(const HostTensor& batch, int64_t index) {
  ir::Dims dims = batch.dims();
  const int64_t images = dims.at(0);
  dims[0] = 1;
  HostTensor image(batch.type(), dims);
  const size_t bytes = batch.view().bytes() / static_cast<size_t>(images);
  if (bytes > 0)
    std::memcpy(image.writable().data,
                static_cast<const uint8_t*>(batch.view().data) + static_cast<size_t>(index) * bytes, bytes);
  return image;
}

}  // namespace terroir::test
