// Models that the reader refuses, and what it says about them.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/support/caught.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::test {

/// The exception; the pattern must be found in its text.
inline Exception expect_unreadable(const std::string& xml, const std::string& pattern,
                                   const std::string& weights = {}) {
  const Exception error = caught([&] { Read()(xml, weights); });
  EXPECT_TRUE(std::regex_search(error.what(), std::regex(pattern))) << error.what() << "\nlacks " << pattern;
  return error;
}

}  // namespace terroir::test
