#pragma once
// What: the terroir::Exception that a piece of code throws, for tests that look at its code and text.
#include <gtest/gtest.h>

#include <terroir/exception.hpp>

namespace terroir {

/// The exception that `body` threw; a failure of the test, and an exception of code general, if it threw none.
template <typename Body>
Exception caught(Body&& body) {
  try {
    body();
  } catch (const Exception& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Exception("none");
}

}  // namespace terroir
