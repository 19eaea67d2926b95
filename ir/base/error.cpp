#include "ir/base/error.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "terroir/assert_failure.hpp"

namespace terroir {

struct Exception::State {
  std::string message;
  std::vector<std::string> context;
  std::string text;
};

Exception::Exception(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code), state_(std::make_shared<State>(State{message, {}, message})) {}
Exception::Exception(const std::string& message) : Exception(ErrorCode::general, message) {}
Exception::~Exception() = default;
Cancelled::~Cancelled() = default;
Busy::~Busy() = default;
AssertFailure::~AssertFailure() = default;
NodeValidationFailure::~NodeValidationFailure() = default;

const std::string& Exception::message() const noexcept { return state_->message; }
const std::vector<std::string>& Exception::context() const noexcept { return state_->context; }
const char* Exception::what() const noexcept { return state_->text.c_str(); }

void Exception::add_context(const std::string& where) {
  if (where.empty()) return;
  // A copy: the same state may be held by an exception_ptr of another thread.
  auto state = std::make_shared<State>(*state_);
  state->context.push_back(where);
  state->text = where + ": " + state->text;
  state_ = std::move(state);
}

namespace detail {

std::string join(const Piece* pieces, size_t count) {
  std::ostringstream out;
  for (size_t i = 0; i < count; ++i) pieces[i].append(out, pieces[i].value);
  return std::move(out).str();
}

void throw_joined(ErrorCode code, const Piece* pieces, size_t count) {
  const std::string message = join(pieces, count);
  switch (code) {
    case ErrorCode::parse_error:
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::shape_mismatch:
    case ErrorCode::type_mismatch:
      throw AssertFailure(code, message);
    default:
      throw Exception(code, message);
  }
}

}  // namespace detail

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::general:
      return "general";
    case ErrorCode::file_not_found:
      return "file_not_found";
    case ErrorCode::parse_error:
      return "parse_error";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::shape_mismatch:
      return "shape_mismatch";
    case ErrorCode::type_mismatch:
      return "type_mismatch";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::not_implemented:
      return "not_implemented";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::busy:
      return "busy";
  }
  return "unknown";
}

namespace {
size_t edit_distance(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}
}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  // Names come from files: a hostile one may be megabytes long, and nobody means a known name by it.
  if (name.size() > 256) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : ", did you mean '" + nearest + "'?";
}

void detail::assertion_failed(const char* condition, const char* file, int line, const char* names,
                              const std::string& values) {
  std::fprintf(stderr, "%s:%d: internal error: %s is false", file, line, condition);
  if (*names != '\0') std::fprintf(stderr, "; (%s) = (%s)", names, values.c_str());
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace terroir
