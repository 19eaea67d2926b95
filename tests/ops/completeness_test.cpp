// Every operation of the registry has shape cases, value cases, error cases and a reference kernel. Five have them in
// another form: operations without inputs, which a case could feed nothing, and those with bodies, for which a case has
// no room. Their tests are listed here, and must be there.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "ops/registry.hpp"
#include "tests/ops/case_check.hpp"

namespace terroir::test {
namespace {

/// Tests that stand for the cases of an op: "file: Suite.Name".
struct TestsElsewhere {
  std::vector<std::string> shapes, values, errors;
};

const std::string kControlFlow = "tests/passes/control_flow_test.cpp: ControlFlow.";
const std::string kBodies = "tests/unit/reader_bodies_test.cpp: ReaderBodies.";
const std::string kReader = "tests/unit/reader_test.cpp: Reader.";
const std::string kReaderErrors = "tests/unit/reader_errors_test.cpp: ReaderErrors.";
const std::string kWeights = "tests/unit/reader_weights_test.cpp: ReaderWeights.";
const std::string kInterpreter = "tests/unit/interpreter_test.cpp: Interpreter.";

const std::map<std::string, TestsElsewhere> kElsewhere = {
    {"If-8",
     {{kBodies + "IfTakesBothNumberingsOfOutputs", kBodies + "IfGeneralisesWhatItsBranchesDisagreeIn"},
      {kControlFlow + "IfRunsOneBranchWhichMayHoldALoop"},
      {kBodies + "BodiesMustBeThereAndAreRead", kBodies + "BadPortMapsAreRefused"}}},
    {"Loop-5",
     {{kBodies + "LoopCountsItsIterationsWhereTheyAreKnown", kBodies + "CarriedShapesThatChangeBecomeUnknown"},
      {kControlFlow + "LoopUntilItsConditionFails", kControlFlow + "LoopUntilItsTripCount",
       kControlFlow + "LoopThatNeverRuns", kControlFlow + "LoopWhoseShapesGrow"},
      {kControlFlow + "AnOutputWithoutAnyIterationHasNoValue", kBodies + "BadPortMapsAreRefused"}}},
    {"TensorIterator-1",
     {{kBodies + "TensorIterator", kBodies + "ShapesFollowTheInputs"},
      {kControlFlow + "TensorIteratorForwards", kControlFlow + "TensorIteratorBackwardsInPartsOfTwo"},
      {kControlFlow + "SlicedInputsThatDisagree", kBodies + "BadPortMapsAreRefused"}}},
    {"Parameter-1",
     {{kReader + "ParameterShapesOfEveryForm", kInterpreter + "RunsAnyShapeThatTheParameterAllows"},
      {kInterpreter + "ReturnsParametersConstantsAndSharedValues"},
      {kInterpreter + "RefusesInputsThatDoNotFit"}}},
    {"Const-1",
     {{kWeights + "PackedTypesRoundUpToBytes", kWeights + "EmptyConstantsNeedNoBytes"},
      {kWeights + "ConstantsStayInTheBufferAndKeepItAlive", kInterpreter + "ReturnsParametersConstantsAndSharedValues"},
      {kReaderErrors + "Constants"}}},
};

/// Whether the source file has TEST(Suite, Name).
bool exists(const std::string& test) {
  const size_t colon = test.find(": "), dot = test.rfind('.');
  std::ifstream in(std::string(TERROIR_SOURCE_DIR) + "/" + test.substr(0, colon));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.find("TEST(" + test.substr(colon + 2, dot - colon - 2) + ", " + test.substr(dot + 1) + ")") !=
         std::string::npos;
}

/// Constants and inputs have their values from elsewhere; bodies are run by ops/reference/control_flow.
bool has_reference(const ir::OpSchema& schema) {
  return schema.reference || kElsewhere.contains(schema.display_name());
}

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
    EXPECT_TRUE(has_reference(*schema)) << op << " has no reference kernel";
    if (kElsewhere.contains(op)) continue;
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

TEST(Completeness, TestsElsewhereAreThere) {
  std::set<std::string> known;
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) known.insert(schema->display_name());
  for (const auto& [op, tests] : kElsewhere) {
    EXPECT_TRUE(known.contains(op)) << op;
    for (const auto* list : {&tests.shapes, &tests.values, &tests.errors}) {
      EXPECT_FALSE(list->empty()) << op;
      for (const std::string& test : *list) EXPECT_TRUE(exists(test)) << test << " is not there any more";
    }
  }
  for (const auto& [op, tally] : count_cases()) EXPECT_TRUE(known.contains(op)) << op << " has cases but no row";
}

}  // namespace
}  // namespace terroir::test
