#pragma once
// What: an environment variable for a while.
#include <optional>
#include <string>

namespace terroir::test {

/// `name` is `value`, or null: unset, as long as it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Another instruction set for the models that are compiled meanwhile.
struct ForcedIsa : ScopedVariable {
  explicit ForcedIsa(const char* isa) : ScopedVariable("TERROIR_FORCE_ISA", isa) {}
};

/// Layers of f32 multiply floats, not pairs of numbers of bf16, in the models that are compiled meanwhile.
struct FloatsAlone : ScopedVariable {
  FloatsAlone();
};

/// The best kernels that multiply numbers of bf16, which some processors have and do not use unasked.
struct WithBf16 : ScopedVariable {
  WithBf16();
  static bool is_available();
};

/// Whether the processor counts as one that adds in pipes of their own, for the models that are compiled meanwhile.
struct AddPipes : ScopedVariable {
  explicit AddPipes(bool separate) : ScopedVariable("TERROIR_ADD_PIPES", separate ? "1" : "0") {}
};

}  // namespace terroir::test
