#include "tests/differential/runs.hpp"

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "tests/differential/differences.hpp"
#include "tests/support/device.hpp"
#include "tests/support/pool.hpp"

namespace terroir::test {
namespace {

constexpr int kInferences = 2;

}  // namespace

plugin::Config config_of(int threads) {
  plugin::Config config;
  use_threads(config, threads);
  return config;
}

Run run(const std::shared_ptr<const ir::Graph>& graph, const char* device, const plugin::Config& config,
        const Tensors& inputs) {
  Run run;
  try {
    DeviceModel model(graph, device, config);
    for (int i = 0; i < kInferences; ++i) run.results.push_back(model.infer(inputs));
  } catch (const Exception& error) {
    run.refusal = error.what();
  }
  return run;
}

std::shared_ptr<ir::Graph> forget(const ir::Graph& graph, Random& random) {
  auto forgetful = graph.clone();
  const size_t how = random.below(8);
  for (const ir::NodeId id : forgetful->parameters()) {
    ir::Node& parameter = forgetful->node(id);
    auto attrs = parameter.attrs<ir::ParameterAttrs>();
    for (Dimension& extent : attrs.shape) {
      const int64_t length = extent.get_length();
      if (how < 3 || (how < 5 && random.chance(50))) extent = Dimension::dynamic();
      if (how == 5 || how == 6) extent = Dimension(random.between(0, length), length + random.between(0, 9));
    }
    if (how == 7) attrs.shape = PartialShape::dynamic();
    parameter.attributes = ir::make_attributes_of(std::move(attrs));
  }
  ir::infer_graph(*forgetful);
  return forgetful;
}

std::string difference_between(const Run& expected, const Run& actual) {
  if (expected.refusal && actual.refusal) return {};
  if (actual.refusal) return "it throws: " + *actual.refusal;
  if (expected.refusal) return "it does not throw: " + *expected.refusal;
  for (size_t i = 0; i < expected.results.size(); ++i)
    for (size_t j = 0; j < expected.results[i].size(); ++j)
      if (const std::string text = difference_in_bits(expected.results[i][j], actual.results[i][j]); !text.empty())
        return concat("inference ", i, ", output ", j, ": ", text);
  return {};
}

}  // namespace terroir::test
