// Lines for people, on the standard error stream.
//
// What: categories switched by the environment variable TERROIR_VERBOSE, a comma-separated list of dispatch, pass,
//       exec, threads or "all". Warnings (the model is odd, or something works but slowly) are shown unless the list
//       has "quiet".
// Threads: a line is written whole. Cost when off: one relaxed load.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "ir/base/error.hpp"

namespace terroir {

enum class LogCategory : unsigned { warning = 1, dispatch = 2, pass = 4, exec = 8, threads = 16 };

namespace detail {
extern std::atomic<unsigned> log_mask;
}

inline bool log_enabled(LogCategory category) noexcept {
  return (detail::log_mask.load(std::memory_order_relaxed) & static_cast<unsigned>(category)) != 0;
}

/// Writes `terroir: <category>: <text>` and a line feed, whether or not the category is on.
void log_line(LogCategory category, std::string_view text);

/// Mask of LogCategory bits that a TERROIR_VERBOSE text asks for; unknown words are ignored.
unsigned parse_log_categories(std::string_view text) noexcept;

/// Replaces what is enabled; returns the former mask.
unsigned set_log_categories(unsigned mask) noexcept;

/// Sends lines (without line feed) to `sink` instead; an empty function restores the standard error stream.
void set_log_sink(std::function<void(std::string_view)> sink);

}  // namespace terroir

// TERROIR_LOG(dispatch, "conv1: ", name): the pieces are evaluated only if the category is on.
#define TERROIR_LOG(category, ...)                                                           \
  do {                                                                                       \
    if (::terroir::log_enabled(::terroir::LogCategory::category)) {                          \
      ::terroir::log_line(::terroir::LogCategory::category, ::terroir::concat(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)
