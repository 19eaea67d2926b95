#pragma once
// What: the instruction sets that tests with random models, and benchmarks in bytes, run on.
#include <cstdlib>
#include <string>
#include <vector>

#include "plugins/cpu/isa.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::test {

/// The one called `name`, or if that is empty what TERROIR_FORCE_ISA names, which then goes there; else all of this
/// machine, as TERROIR_FORCE_ISA names them, the best one last: with products of bytes where this machine has them.
/// Throws terroir::Exception when it has no such one.
inline std::vector<std::string> chosen_isa_names(std::string& name) {
  if (const char* forced = std::getenv("TERROIR_FORCE_ISA"); forced && name.empty()) name = forced;
  if (!name.empty()) {
    const ForcedIsa forced(name.c_str());
    cpu::active_isa();
    return {name};
  }
  const std::vector<const char*> all = cpu::available_kernels();
  return {all.begin(), all.end()};
}

}  // namespace terroir::test
