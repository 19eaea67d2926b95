// Every operation that can be read has shape cases, value cases, error cases and a reference kernel, unless it is in
// one of the two lists below, which say why.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ops/registry.hpp"
#include "tests/ops/case_check.hpp"

namespace terroir::test {
namespace {

/// Ops without inputs: there is nothing a case could feed; ops with bodies: a case has no room for one. Graph and
/// reader tests cover them.
const std::set<std::string> kWithoutCases = {"Const-1", "If-8", "Loop-5", "Parameter-1", "TensorIterator-1"};

/// Ops that are read, inferred and written, but that no plugin runs yet.
const std::set<std::string> kWithoutReference = {"Const-1", "If-8", "Loop-5", "Parameter-1", "TensorIterator-1"};

struct Tally {
  int shapes = 0, dynamic_ranks = 0, values = 0, errors = 0;
};

std::map<std::string, Tally> count_cases() {
  std::vector<std::string> errors;  // reported by CaseFiles.parse
  std::map<std::string, Tally> tallies;
  for (const Case& c : load_case_files(TERROIR_SOURCE_DIR "/tests/ops", errors)) {
    Tally& tally = tallies[c.op];
    if (c.error || c.run_error) {
      if (c.error) ++tally.errors;
      continue;
    }
    ++tally.shapes;
    if (c.has_values()) ++tally.values;
    for (const CaseTensor& input : c.inputs)
      if (input.shape.rank().is_dynamic()) {
        ++tally.dynamic_ranks;
        break;
      }
  }
  return tallies;
}

TEST(Completeness, EveryOpHasCasesAndAReference) {
  auto tallies = count_cases();
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) {
    const std::string op = schema->display_name();
    EXPECT_TRUE(schema->reference || kWithoutReference.contains(op)) << op << " has no reference kernel";
    if (kWithoutCases.contains(op)) continue;
    const Tally tally = tallies[op];
    EXPECT_GE(tally.shapes, 3) << op << " needs at least three shape cases in tests/ops";
    EXPECT_GE(tally.dynamic_ranks, 1) << op << " needs a case with an input of unknown rank in tests/ops";
    EXPECT_GE(tally.errors, 1) << op << " needs an error case in tests/ops";
    const bool computes = schema->reference && schema->accuracy != ir::Accuracy::random;
    EXPECT_GE(tally.values, computes ? 1 : 0) << op << " needs a value case in tests/ops";
  }
}

// OpenVINO's sets 1 to 16 introduce 242 pairs of set and type; what is beyond them is in a set of our own.
TEST(Completeness, OpsetsAreWhole) {
  int numbered = 0;
  std::set<std::string> others;
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) {
    const int number = ir::opset_number(schema->opset);
    EXPECT_LE(number, 16) << schema->display_name();
    if (number > 0)
      ++numbered;
    else
      others.insert(schema->opset);
  }
  EXPECT_EQ(numbered, 242);
  EXPECT_EQ(others, std::set<std::string>{"terroir1"});
}

TEST(Completeness, ExceptionsAreOpsThatExist) {
  std::set<std::string> known;
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) known.insert(schema->display_name());
  for (const std::string& op : kWithoutCases) EXPECT_TRUE(known.contains(op)) << op;
  for (const std::string& op : kWithoutReference) EXPECT_TRUE(known.contains(op)) << op;
  for (const auto& [op, tally] : count_cases()) EXPECT_TRUE(known.contains(op)) << op << " has cases but no row";
}

}  // namespace
}  // namespace terroir::test
