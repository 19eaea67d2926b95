#include "ir/base/text_dims.hpp"

#include <charconv>

namespace terroir::detail {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<int64_t> parse_int64(std::string_view text) {
  text = trim(text);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<std::string_view>> split_list(std::string_view text) {
  text = trim(text);
  const auto bracket = [&](char open, char close) -> std::optional<bool> {
    const bool opens = !text.empty() && text.front() == open;
    const bool closes = !text.empty() && text.back() == close;
    if (opens != closes || (opens && text.size() < 2)) return std::nullopt;
    return opens;
  };
  const auto square = bracket('[', ']');
  const auto curly = bracket('{', '}');
  if (!square || !curly) return std::nullopt;
  std::vector<std::string_view> items;
  if (*square || *curly) text = trim(text.substr(1, text.size() - 2));
  if (text.empty()) return items;
  while (true) {
    const size_t comma = text.find(',');
    items.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace terroir::detail
