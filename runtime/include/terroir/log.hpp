// What the library writes for people, and who gets it.
#pragma once

#include <functional>
#include <string_view>

#include "terroir/export.hpp"

namespace terroir {
namespace util {

/// Lines, without line feed, go to this function instead of the standard error stream; to nobody if it is empty. One
/// thread at a time calls it; what it throws and lines that it causes are dropped. It may replace itself.
TERROIR_API void set_log_callback(const std::function<void(std::string_view)>& callback);
/// They go to the standard error stream again. As above, the former function does not run any more on return.
TERROIR_API void reset_log_callback();

}  // namespace util
}  // namespace terroir
