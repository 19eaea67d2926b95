#pragma once
// What: another instruction set for the models that are compiled meanwhile.
#include <optional>
#include <string>

namespace terroir::test {

/// TERROIR_FORCE_ISA as long as it lives.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* name);
  ~ForcedIsa();
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace terroir::test
