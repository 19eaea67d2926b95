#include "tests/passes/golden.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ir/graph/verify.hpp"
#include "ir/text/printer.hpp"

namespace terroir::test {
namespace {

std::string short_text(const ir::Graph& graph) {
  ir::PrintOptions options;
  options.default_attrs = false;
  return ir::to_text(graph, options);
}

std::unique_ptr<ir::Graph> rewritten(const ir::Graph& graph, std::vector<ir::Pass> passes) {
  auto copy = graph.clone();
  ir::PassManager manager;
  manager.add_until_stable(std::move(passes));
  manager.run(*copy);
  for (const std::string& problem : ir::verify(*copy)) ADD_FAILURE() << problem;
  return copy;
}

}  // namespace

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(TERROIR_SOURCE_DIR) + "/tests/passes/golden/" + name + ".txt";
  if (std::getenv("TERROIR_UPDATE_GOLDEN")) {
    ASSERT_TRUE(std::ofstream(path) << text) << path;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "see " << path;
}

void expect_rewrite(const std::string& name, const ir::Graph& graph, std::vector<ir::Pass> passes) {
  expect_golden(name, short_text(graph) + "=>\n" + short_text(*rewritten(graph, std::move(passes))));
}

void expect_refusal(const ir::Graph& graph, std::vector<ir::Pass> passes) {
  EXPECT_EQ(short_text(graph), short_text(*rewritten(graph, std::move(passes))));
}

}  // namespace terroir::test
