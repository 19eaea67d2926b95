#include "tests/support/forced_isa.hpp"

#include <cstdlib>

namespace terroir::test {

ForcedIsa::ForcedIsa(const char* name) {
  if (const char* set = std::getenv("TERROIR_FORCE_ISA")) before_ = set;
  ::setenv("TERROIR_FORCE_ISA", name, 1);
}

ForcedIsa::~ForcedIsa() {
  if (before_)
    ::setenv("TERROIR_FORCE_ISA", before_->c_str(), 1);
  else
    ::unsetenv("TERROIR_FORCE_ISA");
}

}  // namespace terroir::test
