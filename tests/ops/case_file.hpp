#pragma once
// What: the text format of tests/ops/*.cases: one operation, its attributes, its inputs, and what must come out.
//
//   # comment
//   op MaxPool-8                          the operation (type and opset number) of the cases that follow; of another
//                                         set than the numbered ones, its name: op Convolution-terroir1
//   case same_upper_even_kernel           a name, unique within its operation
//     attrs kernel=2,2 auto_pad=same_upper    optional; spelled as in IR files; values with blanks in "..."
//     in f32[1,3,?,10]                    an input of unknown value; [...] is an unknown rank, [] a scalar
//     in i64[2] = 1, -1                   an input with a value; 3*0.5 stands for 0.5, 0.5, 0.5
//     out f32[1,3,?,5]                    what inference must say; with "= ..." also what the reference must compute
//     tol 1e-5 1e-6                       optional: relative and absolute tolerance of values
//     error: regex                        instead of out: inference must throw and the text must match
//     run_error: regex                    instead of out: the inputs are not known before the run, and running must
//     throw
// A line that ends in a comma or a backslash goes on in the next one.
#include <optional>
#include <string>
#include <string_view>
#include <terroir/element_type.hpp>
#include <terroir/partial_shape.hpp>
#include <utility>
#include <vector>

#include "tests/support/compare.hpp"

namespace terroir::test {

struct CaseTensor {
  int line = 0;
  element::Type type;
  PartialShape shape;
  std::optional<std::vector<std::string>> values;
};

struct Case {
  std::string file;
  int line = 0;
  std::string op;  // "MaxPool-8"
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<CaseTensor> inputs, outputs;
  std::optional<Tolerance> tolerance;
  std::optional<std::string> error, run_error;

  bool has_values() const;
  std::string where() const { return file + ":" + std::to_string(line); }
};

/// Exception (parse_error) that names file and line for a text that is not in the format.
std::vector<Case> parse_cases(std::string_view text, const std::string& file);

}  // namespace terroir::test
