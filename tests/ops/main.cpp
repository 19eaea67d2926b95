// Registers one GoogleTest per case of tests/ops/*.cases: suite "MaxPool_8", test "same_upper_even_kernel".
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/registry.hpp"
#include "tests/ops/case_check.hpp"

namespace {

using terroir::test::Case;

class CaseTest final : public testing::Test {
 public:
  explicit CaseTest(const Case& c) : case_(c) {}
  void TestBody() override {
    for (const std::string& failure : check_case(case_, terroir::ops::builtin_registry()))
      ADD_FAILURE_AT((std::string(TERROIR_SOURCE_DIR "/tests/ops/") + case_.file).c_str(), case_.line) << failure;
  }

 private:
  const Case& case_;
};

class CaseFileTest final : public testing::Test {
 public:
  explicit CaseFileTest(const std::vector<std::string>& errors) : errors_(errors) {}
  void TestBody() override {
    for (const std::string& error : errors_) ADD_FAILURE() << error;
  }

 private:
  const std::vector<std::string>& errors_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::vector<std::string> errors;
  const std::vector<Case> cases = terroir::test::load_case_files(TERROIR_SOURCE_DIR "/tests/ops", errors);
  testing::RegisterTest("CaseFiles", "parse", nullptr, nullptr, __FILE__, __LINE__,
                        [&]() -> testing::Test* { return new CaseFileTest(errors); });
  for (const Case& c : cases) {
    std::string suite = c.op;
    std::replace(suite.begin(), suite.end(), '-', '_');  // '-' begins the negative part of a test filter
    testing::RegisterTest(suite.c_str(), c.name.c_str(), nullptr, nullptr, c.file.c_str(), c.line,
                          [&c]() -> testing::Test* { return new CaseTest(c); });
  }
  return RUN_ALL_TESTS();
}
