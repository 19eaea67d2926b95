// How a thread computes with floating-point numbers: where it rounds to, and what becomes of denormals.
//
// What: results must not depend on what a caller has set (programs built with -ffast-math flush denormals, in their
//       first thread only), nor on which thread computes what: an inference sets its own control for the thread that
//       calls it, and helpers take over that of the caller of a loop.
// Cost: some nanoseconds where nothing changes.
// Edge cases: on processors other than x86 there is nothing to set, and denormals are always computed with.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#define TERROIR_HAS_FLOAT_CONTROL 1
#endif

namespace terroir::parallel {

enum class Denormals { kept, zero };

class FloatControl {
 public:
  /// To the nearest even number, nothing trapped.
  explicit FloatControl(Denormals denormals) noexcept
      : bits_(kStandard | (denormals == Denormals::zero ? kFlushToZero | kDenormalsAreZero : 0)) {}

#if defined(TERROIR_HAS_FLOAT_CONTROL)
  /// That of this thread.
  static FloatControl current() noexcept { return FloatControl(__builtin_ia32_stmxcsr() & ~kHappened); }
  void apply() const noexcept { __builtin_ia32_ldmxcsr(bits_); }
#else
  static FloatControl current() noexcept { return FloatControl(Denormals::kept); }
  void apply() const noexcept {}
#endif

  bool operator==(const FloatControl&) const = default;

 private:
  explicit FloatControl(uint32_t bits) noexcept : bits_(bits) {}

  static constexpr uint32_t kHappened = 0x3f;  // exceptions since they were cleared: no setting
  static constexpr uint32_t kStandard = 0x1f80;
  static constexpr uint32_t kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;

  uint32_t bits_;
};

/// Of this thread, until the end of the scope.
class FloatControlScope {
 public:
  explicit FloatControlScope(FloatControl wanted) noexcept
      : before_(FloatControl::current()), changed_(before_ != wanted) {
    if (changed_) wanted.apply();
  }
  FloatControlScope(const FloatControlScope&) = delete;
  FloatControlScope& operator=(const FloatControlScope&) = delete;
  ~FloatControlScope() {
    if (changed_) before_.apply();
  }

 private:
  FloatControl before_;
  bool changed_;
};

}  // namespace terroir::parallel
