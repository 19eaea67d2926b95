#pragma once
// What: failed allocations as the errors of this library.
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "ir/base/error.hpp"
#include "ir/base/function_ref.hpp"

namespace terroir {

/// Runs `body`; where memory is short, an Exception (out_of_memory) leaves it that says what for: "no memory " +
/// what().
template <typename What, typename Body>
decltype(auto) with_memory(What&& what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more than a container can have
  }
  throw_error(ErrorCode::out_of_memory, "no memory ", what());
}

/// The same for what returns nothing, in one piece of code: with_memory_for("to clone the model", name, ...).
void with_memory_for(const char* what, const std::string& name, FunctionRef<void()> body);

}  // namespace terroir
