#pragma once
// What: runs one case of a case file.
// Checks beyond what the file says, for every case that is no error: the attributes survive printing and reading back;
// and inference that knows less (values hidden, ranks unknown) neither refuses nor contradicts the expected outputs.
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"
#include "tests/ops/case_file.hpp"

namespace terroir::test {

/// Sentences that say what is wrong, each with file and line; empty when the case passes.
std::vector<std::string> check_case(const Case& c, const ir::OpRegistry& registry);

/// The operation of a case between Parameters (constants where the case has values) and Results; for a case that is no
/// error.
std::unique_ptr<ir::Graph> graph_of(const Case& c, const ir::OpRegistry& registry);

/// All cases of tests/ops/*.cases, by file name; parse errors as sentences in `errors`.
std::vector<Case> load_case_files(const std::string& folder, std::vector<std::string>& errors);

}  // namespace terroir::test
