#pragma once
// What: something that who runs a reference lends to it: a function that it finds while the loan holds.
// Threads: a loan holds for calls of the lending thread alone.
#include <utility>

namespace terroir::ops::reference {

/// `Function`: a FunctionRef, of a signature that belongs to this kind of loan.
template <class Function>
class Lent {
 public:
  /// What `function` refers to must outlive this.
  explicit Lent(Function function) : function_(function), before_(std::exchange(current_, &function_)) {}
  ~Lent() { current_ = before_; }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  /// Null where nothing is lent.
  static const Function* current() { return current_; }

 private:
  static inline thread_local const Function* current_ = nullptr;

  Function function_;
  const Function* before_;
};

}  // namespace terroir::ops::reference
