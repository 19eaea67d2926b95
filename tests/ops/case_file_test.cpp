// The case files are only worth what their reader and runner are: what they must refuse, and what must fail.
#include "tests/ops/case_file.hpp"

#include <gtest/gtest.h>

#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "tests/ops/case_check.hpp"

namespace terroir::test {
namespace {

std::string parse_error(std::string_view text) {
  try {
    parse_cases(text, "x.cases");
  } catch (const Exception& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> failures(std::string_view text) {
  std::vector<std::string> all;
  for (const Case& c : parse_cases(text, "x.cases"))
    for (std::string& failure : check_case(c, ops::builtin_registry())) all.push_back(std::move(failure));
  return all;
}

TEST(CaseFile, ReadsEveryKindOfLine) {
  const auto cases = parse_cases(R"(
# comment
op MaxPool-8
case one
  attrs strides=2,2 mode="a b" pads=   # trailing comment
  in f32[1,3,?,2..4]
  in i64[5] = 1, -1, 3*7
  out f32[...]
  tol 1e-3 1e-4
case two
  in f32[]
  error: a#b, c|d
)",
                                 "x.cases");
  ASSERT_EQ(cases.size(), 2u);
  const Case& one = cases[0];
  EXPECT_EQ(one.op, "MaxPool-8");
  EXPECT_EQ(one.where(), "x.cases:4");
  ASSERT_EQ(one.attributes.size(), 3u);
  EXPECT_EQ(one.attributes[0], std::make_pair(std::string("strides"), std::string("2,2")));
  EXPECT_EQ(one.attributes[1].second, "a b");
  EXPECT_EQ(one.attributes[2].second, "");
  EXPECT_EQ(one.inputs[0].shape, PartialShape("[1,3,?,2..4]"));
  EXPECT_EQ(*one.inputs[1].values, (std::vector<std::string>{"1", "-1", "7", "7", "7"}));
  EXPECT_TRUE(one.outputs[0].shape.rank().is_dynamic());
  EXPECT_FALSE(one.has_values());
  EXPECT_EQ(one.tolerance->absolute, 1e-4);
  EXPECT_EQ(cases[1].error, "a#b, c|d");
}

TEST(CaseFile, JoinsLinesThatEndInAComma) {
  const auto cases =
      parse_cases("op ReLU-1\ncase a\n in f32[4] = 1, 2,\n   3, \\\n  4\n out f32[4] = 1,2,3,4", "x.cases");
  EXPECT_EQ(cases[0].inputs[0].values->size(), 4u);
}

TEST(CaseFile, RefusesWhatIsNotInTheFormat) {
  EXPECT_EQ(parse_error("in f32[1]"), "x.cases:1: 'in' outside a case");
  EXPECT_EQ(parse_error("case a"), "x.cases:1: 'case' before any 'op'");
  EXPECT_NE(parse_error("op ReLU").find("expected 'op Type-N'"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a b").find("name of a case"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n in f32[1]").find("needs either"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n in f32[1]\n out f32[1] = 1").find("values for every input"),
            std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n out f32[1]\ncase a\n out f32[1]").find("a second case"),
            std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n in f31[1]").find("f31"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n in f32").find("expected type[extents]"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n in f32[1] 3").find("expected '='"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n in f32[2] = 1,,2").find("empty value"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n attrs x").find("expected name=value"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n expect f32[1]").find("unknown keyword 'expect'"), std::string::npos);
  EXPECT_NE(parse_error("op ReLU-1\ncase a\n tol x y").find("not a tolerance"), std::string::npos);
}

TEST(CaseCheck, AcceptsWhatIsRight) {
  EXPECT_TRUE(failures("op ReLU-1\ncase a\n in f32[2] = -1, 2\n out f32[2] = 0, 2").empty());
  EXPECT_TRUE(failures("op ReLU-1\ncase a\n in boolean[2]\n error: not supported by ReLU-1").empty());
}

TEST(CaseCheck, ReportsWrongTypesShapesValuesAndErrors) {
  const auto one = [](std::string_view text) {
    const auto found = failures(text);
    EXPECT_GE(found.size(), 1u) << text;
    return found.empty() ? std::string() : found.front();
  };
  EXPECT_NE(one("op ReLU-1\ncase a\n in f32[2]\n out f32[3]").find("inference gave f32[2]"), std::string::npos);
  EXPECT_NE(one("op ReLU-1\ncase a\n in f32[2]\n out f16[2]").find("expected f16[2]"), std::string::npos);
  EXPECT_NE(one("op ReLU-1\ncase a\n in f32[2]\n out f32[2]\n out f32[2]").find("1 outputs"), std::string::npos);
  EXPECT_EQ(one("op ReLU-1\ncase a\n in f32[2] = -1, 2\n out f32[2] = 0, 3"),
            "x.cases:4: output 0 of the reference: 1 of 2 elements differ; element 1: 2, expected 3 (tolerance 1e-05 "
            "relative, 1e-06 absolute)");
  EXPECT_NE(one("op ReLU-1\ncase a\n in f32[2]\n error: anything").find("must throw"), std::string::npos);
  EXPECT_NE(one("op ReLU-1\ncase a\n in boolean[2]\n error: another text").find("expected one that matches"),
            std::string::npos);
  EXPECT_NE(one("op ReLU-2\ncase a\n in f32[2]\n out f32[2]").find("there is no ReLU-2"), std::string::npos);
  EXPECT_NE(one("op ReLU-1\ncase a\n attrs x=1\n in f32[2]\n out f32[2]").find("no attribute x"), std::string::npos);
  EXPECT_NE(one("op ReLU-1\ncase a\n in f32[2] = 1\n out f32[2]").find("1 values for the shape"), std::string::npos);
  EXPECT_NE(one("op ReLU-1\ncase a\n in i8[1] = 200\n out i8[1]").find("not an integer of this type"),
            std::string::npos);
}

}  // namespace
}  // namespace terroir::test
