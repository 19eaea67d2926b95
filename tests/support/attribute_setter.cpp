#include "tests/support/attribute_setter.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir::test {
namespace {

using ir::Presence;
using terroir::detail::trim;

bool same_word(std::string_view a, std::string_view b) {
  const auto same = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> items;
  std::string_view rest = trim(text);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    items.emplace_back(trim(rest.substr(0, end)));
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
  }
  return items;
}

template <class T>
T number(const char* name, std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    throw_error(ErrorCode::parse_error, "attribute ", name, ": '", text, "' is not a number of its type");
  return value;
}

template <class T>
std::vector<T> numbers(const char* name, const std::string& text) {
  std::vector<T> values;
  for (const std::string& item : split(text)) values.push_back(number<T>(name, item));
  return values;
}

class Setter final : public ir::AttributeVisitor {
 public:
  explicit Setter(const AttributeTexts& texts) {
    for (const auto& [name, text] : texts)
      if (!texts_.emplace(name, text).second)
        throw_error(ErrorCode::parse_error, "attribute ", name, " is given twice");
  }

  void check_all_used() const {
    if (texts_.empty()) return;
    std::string known;
    for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
    throw_error(ErrorCode::parse_error, "there is no attribute ", texts_.begin()->first, "; there are: ", known);
  }

 protected:
  void on(const char* name, bool& value, Presence) override {
    const auto text = take(name);
    if (!text) return;
    const bool yes = same_word(*text, "true") || *text == "1";
    if (!yes && !same_word(*text, "false") && *text != "0")
      throw_error(ErrorCode::parse_error, "attribute ", name, ": '", *text, "' is not true or false");
    value = yes;
  }
  void on(const char* name, int64_t& value, Presence) override {
    if (const auto text = take(name)) value = number<int64_t>(name, *text);
  }
  void on(const char* name, double& value, Presence) override {
    if (const auto text = take(name)) value = number<double>(name, *text);
  }
  void on(const char* name, std::string& value, Presence) override {
    if (const auto text = take(name)) value = *text;
  }
  void on(const char* name, element::Type& value, Presence) override {
    if (const auto text = take(name)) value = element::Type(*text);
  }
  void on(const char* name, PartialShape& value, Presence) override {
    if (const auto text = take(name)) value = text->empty() ? PartialShape() : PartialShape(*text);
  }
  void on(const char* name, std::vector<int64_t>& value, Presence) override {
    if (const auto text = take(name)) value = numbers<int64_t>(name, *text);
  }
  void on(const char* name, std::vector<double>& value, Presence) override {
    if (const auto text = take(name)) value = numbers<double>(name, *text);
  }
  void on(const char* name, std::vector<std::string>& value, Presence) override {
    if (const auto text = take(name)) value = split(*text);
  }
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names, Presence) override {
    const auto text = take(name);
    if (!text) return;
    const auto found = std::find_if(names.begin(), names.end(), [&](auto word) { return same_word(word, *text); });
    if (found == names.end())
      throw_error(ErrorCode::parse_error, "attribute ", name, ": '", *text, "' is not one of its spellings");
    index = found - names.begin();
  }

 private:
  std::optional<std::string> take(const char* name) {
    names_.emplace_back(name);
    auto entry = texts_.extract(name);
    return entry ? std::optional(std::move(entry.mapped())) : std::nullopt;
  }

  std::map<std::string, std::string> texts_;
  std::vector<std::string> names_;
};

}  // namespace

void set_attributes(ir::Attributes& attributes, const AttributeTexts& texts) {
  Setter setter(texts);
  attributes.visit(setter);
  setter.check_all_used();
}

}  // namespace terroir::test
