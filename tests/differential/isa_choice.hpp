#pragma once
// What: the instruction sets that tests with random models run on.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/cpu/isa.hpp"

namespace terroir::test {

/// The one called `name`, or if that is empty what TERROIR_FORCE_ISA names, which then goes there; else all of this
/// machine. Throws std::runtime_error when it has no such one.
inline std::vector<cpu::Isa> chosen_isas(std::string& name) {
  if (const char* forced = std::getenv("TERROIR_FORCE_ISA"); forced && name.empty()) name = forced;
  if (name.empty()) return cpu::available_isas();
  const auto isa = cpu::parse_isa(name);
  if (!isa || !cpu::isa_available(*isa)) throw std::runtime_error("there is no instruction set " + name);
  return {*isa};
}

}  // namespace terroir::test
