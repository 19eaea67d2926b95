#include "terroir/any.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir {

namespace {

std::string type_name(const std::type_info& type) {
  if (type == typeid(std::string)) return "text";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? name.get() : type.name();
}

template <typename T>
T parse_number(const std::string& text, const char* expected) {
  std::string_view digits = detail::trim(text);
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string_view rest(end, static_cast<size_t>(digits.data() + digits.size() - end));
  // A whole number may be written as "2.0".
  const bool whole = std::is_integral_v<T> && rest.size() > 1 && rest.front() == '.' &&
                     rest.find_first_not_of('0', 1) == std::string_view::npos;
  if (error != std::errc() || !(rest.empty() || whole)) detail::any_cannot_parse(text, expected);
  return value;
}

}  // namespace

void detail::any_is_empty() { throw_error(ErrorCode::invalid_argument, "the value is empty"); }

void detail::any_cannot_convert(const std::type_info& from, const std::string& text, const std::type_info& to) {
  throw_error(ErrorCode::invalid_argument, "the value '", text, "' of type ", type_name(from),
              " cannot be used as a value of type ", type_name(to));
}

void detail::any_cannot_parse(const std::string& text, const char* expected) {
  throw_error(ErrorCode::parse_error, "'", text, "' is not ", expected);
}

void detail::any_cannot_compare(const std::type_info& type) {
  throw_error(ErrorCode::unsupported, "values of type ", type_name(type), " cannot be compared");
}

bool detail::parse_bool(const std::string& text) {
  std::string word(trim(text));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (word == "YES" || word == "TRUE" || word == "ON" || word == "1") return true;
  if (word == "NO" || word == "FALSE" || word == "OFF" || word == "0") return false;
  any_cannot_parse(text, "YES or NO");
}

int64_t detail::parse_integer(const std::string& text) { return parse_number<int64_t>(text, "a whole number"); }
uint64_t detail::parse_unsigned(const std::string& text) {
  return parse_number<uint64_t>(text, "a non-negative whole number");
}
double detail::parse_real(const std::string& text) { return parse_number<double>(text, "a number"); }

template <typename Real>
static std::string shortest_text(Real value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

std::string detail::print_real(double value) { return shortest_text(value); }
std::string detail::print_real(float value) { return shortest_text(value); }

std::vector<std::string> detail::split_items(const std::string& text) {
  std::string_view rest = trim(text);
  if (rest.size() >= 2 &&
      ((rest.front() == '[' && rest.back() == ']') || (rest.front() == '{' && rest.back() == '}'))) {
    rest = rest.substr(1, rest.size() - 2);
  }
  std::vector<std::string> items;
  constexpr std::string_view kSeparators = ", \t\r\n";
  while (true) {
    const size_t begin = rest.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return items;
    rest.remove_prefix(begin);
    const size_t end = std::min(rest.find_first_of(kSeparators), rest.size());
    items.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

std::vector<std::pair<std::string, std::string>> detail::split_entries(const std::string& text) {
  const auto fail = [&] { any_cannot_parse(text, "a map {key:value,key:value}"); };
  std::string_view rest = trim(text);
  if (rest.size() < 2 || rest.front() != '{' || rest.back() != '}') fail();
  rest = trim(rest.substr(1, rest.size() - 2));
  std::vector<std::pair<std::string, std::string>> entries;
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) fail();
    size_t end = colon + 1;
    int depth = 0;  // a comma inside brackets belongs to the value
    for (; end < rest.size() && (depth > 0 || rest[end] != ','); ++end) {
      if (rest[end] == '{' || rest[end] == '[') ++depth;
      if ((rest[end] == '}' || rest[end] == ']') && --depth < 0) fail();
    }
    if (depth != 0) fail();
    entries.emplace_back(trim(rest.substr(0, colon)), trim(rest.substr(colon + 1, end - colon - 1)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return entries;
}

std::ostream& operator<<(std::ostream& out, const AnyMap& map) { return out << detail::print_value(map); }

}  // namespace terroir
