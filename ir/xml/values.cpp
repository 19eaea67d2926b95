#include "ir/xml/values.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"
#include "ir/xml/records.hpp"

namespace terroir::ir::xml {
namespace {

using detail::trim;

template <class T, class Parse>
std::optional<std::vector<T>> parse_list(std::string_view text, Parse parse) {
  std::vector<T> values;
  text = trim(text);
  if (text.empty()) return values;
  while (true) {
    const size_t comma = text.find(',');
    const auto value = parse(trim(text.substr(0, comma)));
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

std::optional<Dimension> parse_dimension(std::string_view text) {
  if (text.empty()) return std::nullopt;
  try {
    return Dimension(std::string(text));
  } catch (const Exception&) {
    return std::nullopt;
  }
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](unsigned char x, unsigned char y) {
           return std::tolower(x) == std::tolower(y);
         });
}

std::optional<bool> parse_bool(std::string_view text) {
  text = trim(text);
  if (text == "1" || equal_ignoring_case(text, "true")) return true;
  if (text == "0" || equal_ignoring_case(text, "false")) return false;
  return std::nullopt;
}

std::optional<int64_t> parse_int(std::string_view text) { return detail::parse_int64(text); }

std::optional<double> parse_real(std::string_view text) {
  text = trim(text);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<int64_t>> parse_ints(std::string_view text) { return parse_list<int64_t>(text, parse_int); }
std::optional<std::vector<double>> parse_reals(std::string_view text) { return parse_list<double>(text, parse_real); }

std::optional<std::vector<std::string>> parse_words(std::string_view text) {
  return parse_list<std::string>(text, [](std::string_view word) -> std::optional<std::string> {
    if (word.empty()) return std::nullopt;
    return std::string(word);
  });
}

std::optional<PartialShape> parse_shape(std::string_view text) {
  if (trim(text) == "...") return PartialShape::dynamic();
  auto dims = parse_list<Dimension>(text, parse_dimension);
  if (!dims || dims->size() > kMaxRank) return std::nullopt;
  return PartialShape(std::move(*dims));
}

std::vector<std::string> parse_names(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  const auto finish = [&] {
    if (!name.empty()) names.push_back(name);
    name.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      name += ',';
      ++i;
    } else if (text[i] == ',') {
      finish();
    } else {
      name += text[i];
    }
  }
  finish();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace terroir::ir::xml
