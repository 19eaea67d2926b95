#include "tests/support/scoped_variable.hpp"

#include <cstdlib>

#include "plugins/cpu/isa.hpp"

namespace terroir::test {
namespace {

void set(const char* name, const char* value) {
  if (value != nullptr)
    ::setenv(name, value, 1);
  else
    ::unsetenv(name);
}

}  // namespace

ScopedVariable::ScopedVariable(const char* name, const char* value) : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  set(name, value);
}

ScopedVariable::~ScopedVariable() { set(name_, before_ ? before_->c_str() : nullptr); }

FloatsAlone::FloatsAlone()
    : ScopedVariable("TERROIR_FORCE_ISA", cpu::active_byte_products() <= cpu::ByteProducts::avx2
                                              ? std::getenv("TERROIR_FORCE_ISA")
                                              : cpu::isa_name(cpu::Isa::avx512)) {}

}  // namespace terroir::test
