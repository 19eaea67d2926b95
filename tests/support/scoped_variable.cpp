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

namespace {

/// Null for none.
const char* best_bf16_kernels() {
  const char* best = nullptr;
  for (const char* const name : cpu::available_kernels()) {
    const ForcedIsa forced(name);
    if (cpu::has_products_of_bf16(cpu::active_byte_products())) best = name;
  }
  return best;
}

}  // namespace

WithBf16::WithBf16() : ScopedVariable("TERROIR_FORCE_ISA", best_bf16_kernels()) {}
bool WithBf16::is_available() { return best_bf16_kernels() != nullptr; }

FloatsAlone::FloatsAlone()
    : ScopedVariable("TERROIR_FORCE_ISA", cpu::active_byte_products() <= cpu::ByteProducts::avx2_vnni
                                              ? std::getenv("TERROIR_FORCE_ISA")
                                              : cpu::isa_name(cpu::Isa::avx512)) {}

}  // namespace terroir::test
