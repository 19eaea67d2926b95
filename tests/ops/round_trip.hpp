#pragma once
// What: models written as IR and read again, and what version 10 of it cannot express.
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/xml/writer.hpp"
#include "tests/ops/case_check.hpp"

namespace terroir::test {

/// Refuses what is not understood.
std::unique_ptr<ir::Graph> read_back(const ir::ModelText& text);
void expect_same(const ir::Graph& graph, const ir::Graph& again);
/// Those of tests/ops/*.cases that are no errors.
std::vector<Case> cases_that_infer();

/// The value in another type.
ir::Value convert_value(ir::Graph& graph, ir::Value value, element::Type type);
/// What version 10 cannot express about the ends of a model, expressed by layers; and the names it will give them.
void express_ends(ir::Graph& graph);
/// Whether version 10 has the operations and types, those of bodies too.
bool is_expressible(const ir::Graph& graph);

}  // namespace terroir::test
