#pragma once
// What: the instruction sets that tests with random models, and benchmarks in bytes, run on.
#include <cstdlib>
#include <string>
#include <vector>

#include "ir/base/error.hpp"
#include "plugins/cpu/isa.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::test {

/// The one called `name`, or if that is empty what TERROIR_FORCE_ISA names, which then goes there; else all of this
/// machine, as TERROIR_FORCE_ISA names them, the best one last: with products of bytes where this machine has them.
/// Throws terroir::Exception when it has no such one.
inline std::vector<std::string> chosen_isa_names(std::string& name) {
  if (const char* forced = std::getenv("TERROIR_FORCE_ISA"); forced && name.empty()) name = forced;
  const auto require = [](const std::string& one) {
    const ForcedIsa forced(one.c_str());
    cpu::active_isa();
  };
  if (!name.empty()) {
    require(name);
    return {name};
  }
  std::vector<std::string> names;
  for (const cpu::Isa isa : cpu::available_isas()) names.emplace_back(cpu::isa_name(isa));
  for (const char* with_bytes : {"avx512_vnni", "avx512_amx"}) try {
      require(with_bytes);
      names.emplace_back(with_bytes);
    } catch (const Exception&) {  // this machine has it not
    }
  return names;
}

}  // namespace terroir::test
