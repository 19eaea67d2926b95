#include "tests/support/scoped_variable.hpp"

#include <cstdlib>

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

}  // namespace terroir::test
