// Every operation takes the element types that its row in ops/op_list.inc allows, and refuses the others by name: a
// case of tests/ops/*.cases, with data of each type there is, on the reference kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/data_types.hpp"
#include "ops/registry.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/ops/case_check.hpp"
#include "tests/support/retyped.hpp"
#include "tests/support/attribute_setter.hpp"

namespace terroir::test {
namespace {

/// Attributes that name T as well.
const std::map<std::string, std::string> kAttributeOfT = {
    {"Eye-9", "output_type"}, {"RandomUniform-8", "output_type"}, {"ReadValue-6", "variable_type"}};

bool is_fed(const Case& c) {
  return !c.error && !c.run_error && std::all_of(c.inputs.begin(), c.inputs.end(), [](const CaseTensor& input) {
    return input.values && input.shape.is_static();
  });
}

/// The cases of each operation whose inputs are all known numbers.
std::map<std::string, std::vector<Case>> fed_cases() {
  std::vector<std::string> errors;  // reported by CaseFiles.parse
  std::map<std::string, std::vector<Case>> cases;
  for (const Case& c : load_case_files(TERROIR_SOURCE_DIR "/tests/ops", errors))
    if (is_fed(c)) cases[c.op].push_back(c);
  return cases;
}

/// What running the case with data of the type says; empty if it runs.
std::string run_as(const ir::Graph& graph, const ir::OpSchema& schema, element::Type type) {
  try {
    const auto other = retyped(graph, type, [&](size_t input) { return ops::data_types(schema).has(input); });
    if (const auto attribute = kAttributeOfT.find(schema.display_name()); attribute != kAttributeOfT.end())
      for (const ir::NodeId id : other->nodes())
        if (ir::Node& node = other->node(id); node.schema == &schema)
          set_attributes(*node.attributes, {{attribute->second, type.get_type_name()}});
    ir::infer_graph(*other);
    interpreter::run(*other, {});
    return {};
  } catch (const Exception& error) {
    return error.what();
  }
}

bool refuses(const std::string& problem, const ir::OpSchema& schema) {
  return problem.find("is not supported by " + schema.display_name() + "; allowed are " +
                      ops::data_types(schema).allowed.names()) != std::string::npos;
}

/// One of the cases at least runs with data of the type. Others may say that their numbers mean nothing in it, but
/// never that there is no code for it.
void expect_runs(const std::vector<Case>& cases, const ir::OpSchema& schema, element::Type type) {
  std::string problems;
  bool has_run = false;
  for (const Case& c : cases) {
    const std::string problem = run_as(*graph_of(c, ops::builtin_registry()), schema, type);
    EXPECT_EQ(problem.find("is not implemented for"), std::string::npos) << c.where() << ": " << problem;
    EXPECT_FALSE(refuses(problem, schema)) << c.where() << ": " << problem;
    has_run = has_run || problem.empty();
    problems += c.where() + ": " + problem + "\n";
  }
  EXPECT_TRUE(has_run) << problems;
}

void expect_refuses(const std::vector<Case>& cases, const ir::OpSchema& schema, element::Type type) {
  for (const Case& c : cases) {
    const std::string problem = run_as(*graph_of(c, ops::builtin_registry()), schema, type);
    EXPECT_TRUE(refuses(problem, schema)) << c.where() << ": " << problem;
  }
}

TEST(ElementTypes, OperationsTakeWhatTheirRowsAllowAndNothingElse) {
  const auto cases = fed_cases();
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) {
    if (ops::data_types(*schema).inputs.empty()) continue;  // without a T
    const auto found = cases.find(schema->display_name());
    if (found == cases.end()) {
      ADD_FAILURE() << schema->display_name() << " has no case whose inputs are all known numbers";
      continue;
    }
    for (const element::Type type : all_element_types()) {
      SCOPED_TRACE(schema->display_name() + " of " + type.get_type_name());
      (ops::data_types(*schema).allowed.contains(type) ? expect_runs : expect_refuses)(found->second, *schema, type);
    }
  }
}

// What users see: the layer, the type and what would do.
TEST(ElementTypes, RefusalsNameTheLayer) {
  const Case c = fed_cases().at("Gelu-7").front();
  const ir::OpSchema& gelu = ops::builtin_registry().get("Gelu", "opset7");
  const std::string problem = run_as(*graph_of(c, ops::builtin_registry()), gelu, element::i32);
  EXPECT_NE(problem.find("Gelu '" + c.name + "'"), std::string::npos) << problem;
  EXPECT_NE(problem.find("the type i32 of input 0 is not supported by Gelu-7; allowed are bf16, f16, f32, f64, nf4, "
                         "f8e4m3, f8e5m2, f4e2m1, f8e8m0"),
            std::string::npos)
      << problem;
}

}  // namespace
}  // namespace terroir::test
