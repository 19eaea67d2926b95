// Code and text of the exception that a piece of code throws.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/caught.hpp"

namespace terroir {

template <typename Body>
ErrorCode code_of(Body&& body) {
  return caught(std::forward<Body>(body)).code();
}

template <typename Body>
std::string error_text(Body&& body) {
  return caught(std::forward<Body>(body)).what();
}

inline void expect_error(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
}

}  // namespace terroir
