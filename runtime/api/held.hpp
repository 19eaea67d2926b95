#pragma once
// What: what an object of the API holds, or an error that says that the object was moved from.
#include <memory>

#include "ir/base/error.hpp"

namespace terroir::detail {

template <class T>
T& held(const std::unique_ptr<T>& state, const char* object) {
  if (state == nullptr)
    throw_error(ErrorCode::invalid_argument, "the ", object, " was moved from; use the one that it was moved to");
  return *state;
}

}  // namespace terroir::detail
