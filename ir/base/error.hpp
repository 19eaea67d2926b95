// Building, throwing and decorating errors inside the library; assertions about ourselves.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/exception.hpp"

namespace terroir {

namespace detail {
inline void append(std::ostream& out, bool value) { out << (value ? "true" : "false"); }
inline void append(std::ostream& out, signed char value) { out << static_cast<int>(value); }
inline void append(std::ostream& out, unsigned char value) { out << static_cast<int>(value); }
template <typename T>
void append(std::ostream& out, const T& value) {
  out << value;
}
template <typename T>
void append(std::ostream& out, const std::vector<T>& values) {
  out << '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out << ',';
    append(out, values[i]);
  }
  out << ']';
}

// Texts of errors are most of what there is to write, and each has pieces of its own types: what writes them knows one
// piece at a time, and literals of all lengths are one type, or a tenth of a megabyte of code would do it.
struct Piece {
  const void* value;
  void (*append)(std::ostream& out, const void* value);
};
template <typename T>
void append_piece(std::ostream& out, const void* value) {
  append(out, *static_cast<const T*>(value));
}

inline const char* as_piece(const char* text) { return text; }
template <typename T>
std::enable_if_t<std::is_arithmetic_v<T>, T> as_piece(T value) {
  return value;
}
template <typename T>
std::enable_if_t<!std::is_arithmetic_v<T> && !std::is_convertible_v<const T&, const char*>, const T&> as_piece(
    const T& value) {
  return value;
}

std::string join(const Piece* pieces, size_t count);
[[noreturn]] void throw_joined(ErrorCode code, const Piece* pieces, size_t count);

template <typename... Pieces>
std::string concat_pieces(Pieces... pieces) {
  const Piece all[] = {{&pieces, &append_piece<std::remove_cv_t<std::remove_reference_t<Pieces>>>}...};
  return join(all, sizeof...(pieces));
}
template <typename... Pieces>
[[noreturn]] void throw_pieces(ErrorCode code, Pieces... pieces) {
  const Piece all[] = {{&pieces, &append_piece<std::remove_cv_t<std::remove_reference_t<Pieces>>>}...};
  throw_joined(code, all, sizeof...(pieces));
}
}  // namespace detail

/// One string of all pieces, written one after the other; vectors print as [1,2,3], booleans as words.
template <typename... Pieces>
[[gnu::always_inline]] inline std::string concat(const Pieces&... pieces) {
  return detail::concat_pieces<decltype(detail::as_piece(pieces))...>(detail::as_piece(pieces)...);
}

/// throw_error(ErrorCode::parse_error, "strides[", i, "] must be positive, got ", value);
template <typename... Pieces>
[[noreturn, gnu::always_inline]] inline void throw_error(ErrorCode code, const Pieces&... pieces) {
  detail::throw_pieces<decltype(detail::as_piece(pieces))...>(code, detail::as_piece(pieces)...);
}

/// Runs `body`; an Exception that leaves it gets the context `where()` (a string), computed only then.
template <typename Where, typename Body>
decltype(auto) with_context(Where&& where, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Exception& error) {
    error.add_context(where());
    throw;
  }
}

/// The candidate nearest to `name` (ignoring case; by edit distance), or "" if none is near enough to be meant.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

/// `nearest_name` as a sentence: ", did you mean 'X'?" or "".
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates);

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line, const char* names,
                                   const std::string& values);
template <typename... Values>
std::string describe_operands(const Values&... values) {
  std::ostringstream out;
  const char* separator = "";
  ((out << separator, append(out, values), separator = ", "), ...);
  return std::move(out).str();
}
}  // namespace detail

}  // namespace terroir

// TERROIR_ASSERT(condition, values...): a broken invariant of our own. Prints the condition and the operands and
// aborts. Where TERROIR_CHECKED is not defined (the released build) nothing is evaluated, but everything is still
// type-checked.
#if defined(TERROIR_CHECKED)
#define TERROIR_ASSERT(condition, ...)                                                        \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      ::terroir::detail::assertion_failed(#condition, __FILE__, __LINE__, "" #__VA_ARGS__,    \
                                          ::terroir::detail::describe_operands(__VA_ARGS__)); \
    }                                                                                         \
  } while (false)
#else
#define TERROIR_ASSERT(condition, ...)                                      \
  do {                                                                      \
    if (false) {                                                            \
      static_cast<void>(condition);                                         \
      static_cast<void>(::terroir::detail::describe_operands(__VA_ARGS__)); \
    }                                                                       \
  } while (false)
#endif
