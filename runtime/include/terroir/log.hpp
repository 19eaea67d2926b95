// What the library writes for people, and who gets it.
#pragma once

#include <functional>
#include <string_view>

#include "terroir/export.hpp"

namespace terroir {
namespace util {

/// Lines, without line feed, go to this function instead of the standard error stream; to nobody if it is empty. It is
/// called by one thread at a time, and must not cause lines itself. log::level says which lines there are.
TERROIR_API void set_log_callback(const std::function<void(std::string_view)>& callback);
/// They go to the standard error stream again.
TERROIR_API void reset_log_callback();

}  // namespace util
}  // namespace terroir
