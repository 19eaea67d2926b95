#pragma once
// What: failed allocations as the errors of this library.
#include <new>
#include <stdexcept>
#include <utility>

#include "ir/base/error.hpp"

namespace terroir {

/// Runs `body`; where memory is short, an Exception (out_of_memory) leaves it that says what for: "no memory " +
/// what().
template <typename What, typename Body>
decltype(auto) with_memory(What&& what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    throw_error(ErrorCode::out_of_memory, "no memory ", what());
  } catch (const std::length_error&) {  // more than a container can have
    throw_error(ErrorCode::out_of_memory, "no memory ", what());
  }
}

}  // namespace terroir
