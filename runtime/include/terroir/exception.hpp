// The one exception type that leaves the library.
//
// What: an error code for programs, a message for people, and the context that was added while unwinding.
// Text: `<outermost context>: ... : <innermost context>: <message>`, for instance
//       `MaxPool 'pool1' (layer 17, model.xml:203): strides[0] must be positive, got 0`.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "terroir/export.hpp"

namespace terroir {

/// What kind of error it is; programs branch on this, people read what().
enum class ErrorCode {
  general,           ///< none of the kinds below
  file_not_found,    ///< a file is missing or unreadable
  parse_error,       ///< a file or a string is not what its format says
  unsupported,       ///< valid, but this build or device cannot do it
  invalid_argument,  ///< a value the caller passed is out of its domain
  not_found,         ///< a name (port, device, property, operation) is unknown
  shape_mismatch,    ///< a shape contradicts the one that was declared or inferred
  type_mismatch,     ///< an element type contradicts the one that was declared or inferred
  out_of_memory,     ///< memory could not be had, or a size overflows
  not_implemented,   ///< planned, not there yet
  cancelled,         ///< the inference was cancelled
  busy               ///< the inference request is running
};

/// Name of the code, as written in the enumeration, e.g. "parse_error".
TERROIR_API const char* to_string(ErrorCode code) noexcept;

/// Base of every exception the library throws. Copying never throws; copies share their text.
class TERROIR_API Exception : public std::runtime_error {
 public:
  Exception(ErrorCode code, const std::string& message);
  /// An exception of code ErrorCode::general.
  explicit Exception(const std::string& message);
  Exception(const Exception&) noexcept = default;
  Exception& operator=(const Exception&) noexcept = default;
  ~Exception() override;

  ErrorCode code() const noexcept { return code_; }
  /// The message without its context.
  const std::string& message() const noexcept;
  /// The contexts, innermost first.
  const std::vector<std::string>& context() const noexcept;
  /// Says where it happened; call it while unwinding, then `throw;`. Each call wraps the text once more.
  void add_context(const std::string& where);
  /// The whole text, contexts included.
  const char* what() const noexcept override;

 private:
  struct State;
  ErrorCode code_;
  std::shared_ptr<const State> state_;
};

/// Thrown by InferRequest::wait() after InferRequest::cancel(). Code: ErrorCode::cancelled.
class TERROIR_API Cancelled : public Exception {
 public:
  explicit Cancelled(const std::string& message) : Exception(ErrorCode::cancelled, message) {}
  ~Cancelled() override;
};

/// Thrown by the functions of an InferRequest that may not be called while it runs. Code: ErrorCode::busy.
class TERROIR_API Busy : public Exception {
 public:
  explicit Busy(const std::string& message) : Exception(ErrorCode::busy, message) {}
  ~Busy() override;
};

}  // namespace terroir
