#pragma once
// What: graphs after the layout pass, and their texts.
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/passes/layouts.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

struct LaidOut {
  std::unique_ptr<ir::Graph> before, graph;  // fused; then with its reorders
  cpu::Decisions decisions;

  std::vector<const ir::Node*> reorders() const;
  const cpu::Layout& layout(ir::Value value) const { return cpu::layout_of(decisions, value); }
};

/// Fuses and lays out. Fails unless every node gets the layouts that it asks for and the model's ends are plain.
LaidOut lay_out(const GraphMaker& m, cpu::Isa isa = cpu::Isa::scalar);

/// The graph without attributes and constants, with the layout behind every value.
std::string text_of(const LaidOut& laid_out);
/// The text of the graph before, which has no layouts yet, and of the graph.
std::string texts_of(const LaidOut& laid_out);

/// A node by its name; throws where there is none.
const ir::Node& named(const LaidOut& laid_out, const std::string& name);

}  // namespace terroir::test
