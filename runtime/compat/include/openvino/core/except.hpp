// The OpenVINO header of this name: ov::Exception and the macros that throw it.
#pragma once

#include <sstream>
#include <string>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/namespace.hpp"
#include "terroir/assert_failure.hpp"

namespace terroir {

/// Thrown by OPENVINO_NOT_IMPLEMENTED.
class NotImplemented : public AssertFailure {
 public:
  explicit NotImplemented(const std::string& message) : AssertFailure(ErrorCode::not_implemented, message) {}
};

namespace compat {

template <typename... Parts>
std::string in_one_text(const Parts&... parts) {
  std::ostringstream text;
  static_cast<void>((text << ... << parts));
  return text.str();
}

template <typename... Parts>
std::string failed_check(const char* file, int line, const char* condition, const Parts&... parts) {
  const std::string where = in_one_text("Check '", condition, "' failed at ", file, ":", line);
  const std::string why = in_one_text(parts...);
  return why.empty() ? where : where + ": " + why;
}

}  // namespace compat

}  // namespace terroir

/// OPENVINO_ASSERT(condition, parts of the message...).
#define OPENVINO_ASSERT(...) TERROIR_COMPAT_ASSERT(__VA_ARGS__, "")
#define TERROIR_COMPAT_ASSERT(condition, ...)                                                                       \
  do {                                                                                                              \
    if (!static_cast<bool>(condition)) {                                                                            \
      throw ::terroir::AssertFailure(::terroir::compat::failed_check(__FILE__, __LINE__, #condition, __VA_ARGS__)); \
    }                                                                                                               \
  } while (false)
/// OPENVINO_THROW(parts of the message...).
#define OPENVINO_THROW(...) throw ::terroir::Exception(::terroir::compat::in_one_text(__VA_ARGS__))
#define OPENVINO_NOT_IMPLEMENTED throw ::terroir::NotImplemented("not implemented")
