#pragma once
// What: expected texts in tests/passes/golden. TERROIR_UPDATE_GOLDEN=1 writes them anew; read the difference before
// committing it.
#include <string>

#include "ir/pass/pass_manager.hpp"

namespace terroir::test {

/// Fails with both texts unless `text` is the content of tests/passes/golden/<name>.txt.
void expect_golden(const std::string& name, const std::string& text);

/// The graph before and after the passes, run until nothing changes, against golden/<name>.txt.
void expect_rewrite(const std::string& name, const ir::Graph& graph, std::vector<ir::Pass> passes);

/// The passes change nothing.
void expect_refusal(const ir::Graph& graph, std::vector<ir::Pass> passes);

}  // namespace terroir::test
