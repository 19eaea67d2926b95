#include "tests/differential/judge.hpp"

#include "ir/base/error.hpp"
#include "tests/differential/oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::test {

Judgement judge(const RandomModel& model, uint64_t seed, const std::string& isa, int threads) {
  const auto differ = [&](const std::string& text) { return Judgement{Verdict::differ, text}; };
  Random random(seed ^ 0x5eed);
  Oracle oracle(model.graph, model.inputs, random);
  const Run& expected = oracle.expected();
  const ForcedIsa forced(isa.c_str());
  const Run one = run(model.graph, "CPU", config_of(1), model.inputs);
  if (expected.refusal && one.refusal) return {Verdict::refused, *expected.refusal};
  if (one.refusal) return differ("CPU refuses what INTERPRETER runs: " + *one.refusal);
  if (expected.refusal) return differ("CPU runs what INTERPRETER refuses: " + *expected.refusal);
  if (const std::string text = oracle.fault(one); !text.empty()) return differ("CPU against INTERPRETER, " + text);
  if (const std::string text = difference_between(one, run(model.graph, "CPU", config_of(threads), model.inputs));
      !text.empty())
    return differ(concat(threads, " threads against one, ", text));

  std::shared_ptr<ir::Graph> forgetful;
  try {
    forgetful = forget(*model.graph, random);
  } catch (const Exception& error) {
    return differ(std::string("unknown extents are refused: ") + error.what());
  }
  if (const std::string text = difference_between(one, run(forgetful, "CPU", config_of(threads), model.inputs));
      !text.empty()) {
    std::string shapes;
    for (const ir::NodeId id : forgetful->parameters()) shapes += concat(" ", forgetful->port({id, 0}).shape);
    return differ(
        concat("unknown extents (", shapes.empty() ? shapes : shapes.substr(1), ") against known ones, ", text));
  }
  return {};
}

RandomModel with_fewer_outputs(const RandomModel& model, uint64_t seed, const std::string& isa, int threads) {
  RandomModel fewer = model;
  for (size_t at = 0; fewer.graph->results().size() > 1 && at < fewer.graph->results().size();) {
    RandomModel tried = fewer;
    tried.graph = fewer.graph->clone();
    tried.graph->erase(tried.graph->results()[at]);
    tried.graph->erase_unreachable();
    tried.inputs.clear();
    for (size_t i = 0; i < fewer.graph->parameters().size(); ++i) {
      const ir::NodeId id = fewer.graph->parameters()[i];
      if (!tried.graph->uses({id, 0}).empty())
        tried.inputs.push_back(fewer.inputs[i]);
      else
        tried.graph->erase(id);
    }
    if (judge(tried, seed, isa, threads).verdict == Verdict::differ)
      fewer = std::move(tried);
    else
      ++at;
  }
  return fewer;
}

}  // namespace terroir::test
