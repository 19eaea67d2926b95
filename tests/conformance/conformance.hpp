#pragma once
// What: single-op models with expected outputs: <root>/<Type>-<N>/<case>/{model.xml, in0.npy, out0.npy, case.txt}.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/compare.hpp"

namespace terroir::test {

/// case.txt
struct CaseRules {
  Tolerance tolerance;
  int64_t compared = 0;  // leading elements of each output; 0: all
};
CaseRules read_rules(const std::filesystem::path& file);

/// Operations of a model file that this build does not know or cannot run, as "Type-N"; empty when it knows them all.
std::vector<std::string> unknown_operations(const std::filesystem::path& xml);

/// How a model reaches the device.
enum class Variant {
  as_read,
  rewritten,  // after the portable rewrites of the CPU device
  dynamic,    // with parameters of which only the rank is known
  stored      // compiled, written as a compiled model, and read back
};

struct CaseResult {
  std::string wrong;             // empty when the case passes
  bool within_rounding = false;  // it passes, but beyond its tolerance: see sixteen_bits.hpp
};

/// Runs one case on a device.
CaseResult run_case(const std::filesystem::path& folder, const std::string& device, Variant variant);

/// "Type-N/case" -> why the expected values are not to be reproduced. Lines: case, blanks, reason; '#' comments.
std::map<std::string, std::string> read_exclusions(const std::filesystem::path& file);

}  // namespace terroir::test
