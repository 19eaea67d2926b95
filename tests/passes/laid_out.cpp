#include "tests/passes/laid_out.hpp"

#include <gtest/gtest.h>

#include "ir/base/error.hpp"
#include "ir/graph/verify.hpp"
#include "ir/text/printer.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/passes/fuse_post_ops.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::test {
namespace {

std::string short_text(const ir::Graph& graph, ir::PrintOptions options) {
  options.default_attrs = false;
  options.max_values = 0;
  std::string text = ir::to_text(graph, options), kept;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find(" = Const-1()") != std::string::npos) continue;  // weights: only their use is of interest
    if (const size_t brace = line.find(" {"); brace != std::string::npos)
      line.erase(brace, line.find("} :", brace) + 1 - brace);
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::vector<const ir::Node*> LaidOut::reorders() const {
  std::vector<const ir::Node*> found;
  for (const ir::NodeId id : graph->nodes())
    if (graph->node(id).is(cpu::kReorderType)) found.push_back(&graph->node(id));
  return found;
}

LaidOut lay_out(const GraphMaker& m, cpu::Isa isa) {
  static const cpu::CpuOps ops(ops::builtin_registry());
  cpu::WeightsCache weights;
  LaidOut result{nullptr, m.graph().clone(), {}};
  ir::PassManager passes;
  passes.add(cpu::fuse_post_ops(ops));
  passes.run(*result.graph);
  result.before = result.graph->clone();
  result.decisions = cpu::assign_layouts(*result.graph, isa, weights);
  cpu::insert_reorders(*result.graph, result.decisions, ops);
  for (const std::string& problem : ir::verify(*result.graph)) ADD_FAILURE() << problem;
  // What every node asks for is what it gets.
  for (const ir::NodeId id : result.graph->nodes()) {
    const ir::Node& node = result.graph->node(id);
    const cpu::LayoutChoice& choice = result.decisions.at(id).choice;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!choice.inputs.at(i)) continue;
      EXPECT_EQ(*choice.inputs[i], result.layout(node.inputs[i])) << node.describe() << " input " << i;
    }
    const bool is_end = node.is(ir::kParameterType) || node.is(ir::kResultType);
    EXPECT_TRUE(!is_end || result.layout({id, 0}).is_plain()) << node.describe();
  }
  return result;
}

std::string text_of(const LaidOut& laid_out) {
  ir::PrintOptions options;
  options.annotate_value = [&](const ir::Graph&, ir::Value value) { return laid_out.layout(value).name(); };
  return short_text(*laid_out.graph, options);
}

std::string texts_of(const LaidOut& laid_out) { return short_text(*laid_out.before, {}) + "=>\n" + text_of(laid_out); }

const ir::Node& named(const LaidOut& laid_out, const std::string& name) {
  for (const ir::NodeId id : laid_out.graph->nodes())
    if (laid_out.graph->node(id).name == name) return laid_out.graph->node(id);
  throw_error(ErrorCode::not_found, "no node ", name);
}

}  // namespace terroir::test
