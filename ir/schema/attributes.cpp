#include "ir/schema/attributes.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "ir/base/error.hpp"

namespace terroir::ir {
namespace {

std::string number(double value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

template <class Range, class Print>
std::string joined(const Range& range, Print print) {
  std::string text;
  for (const auto& element : range) {
    if (!text.empty()) text += ", ";
    text += print(element);
  }
  return text;
}

std::string dimension_text(const Dimension& d) {
  if (d.is_static()) return std::to_string(d.get_length());
  if (d == Dimension::dynamic()) return "?";
  const auto low = d.get_min_length(), high = d.get_max_length();
  return (low > 0 ? std::to_string(low) : std::string()) + ".." + (high >= 0 ? std::to_string(high) : std::string());
}

std::string shape_text(const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return "...";
  return joined(shape, dimension_text);
}

class TextVisitor final : public AttributeVisitor {
 public:
  std::vector<AttributeText> take() { return std::move(texts_); }

 protected:
  void on(const char* name, bool& value, Presence p) override { add(name, value ? "true" : "false", p); }
  void on(const char* name, int64_t& value, Presence p) override { add(name, std::to_string(value), p); }
  void on(const char* name, double& value, Presence p) override { add(name, number(value), p); }
  void on(const char* name, std::string& value, Presence p) override { add(name, value, p); }
  void on(const char* name, element::Type& value, Presence p) override { add(name, value.get_type_name(), p); }
  void on(const char* name, PartialShape& value, Presence p) override { add(name, shape_text(value), p); }
  void on(const char* name, std::vector<int64_t>& value, Presence p) override {
    add(name, joined(value, [](int64_t v) { return std::to_string(v); }), p, value.empty());
  }
  void on(const char* name, std::vector<double>& value, Presence p) override {
    add(name, joined(value, number), p, value.empty());
  }
  void on(const char* name, std::vector<std::string>& value, Presence p) override {
    add(name, joined(value, [](const std::string& v) { return v; }), p, value.empty());
  }
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names, Presence p) override {
    add(name, std::string(names[static_cast<size_t>(index)]), p);
  }

 private:
  void add(const char* name, std::string value, Presence presence, bool empty_list = false) {
    texts_.push_back({name, std::move(value), presence, empty_list});
  }
  std::vector<AttributeText> texts_;
};

class NumberVisitor final : public AttributeVisitor {
 public:
  explicit NumberVisitor(std::string_view wanted) : wanted_(wanted) {}
  std::optional<double> found() const { return found_; }

 protected:
  void on(const char* name, bool& value, Presence) override { note(name, value ? 1 : 0); }
  void on(const char* name, int64_t& value, Presence) override { note(name, static_cast<double>(value)); }
  void on(const char* name, double& value, Presence) override { note(name, value); }
  void on(const char*, std::string&, Presence) override {}
  void on(const char*, element::Type&, Presence) override {}
  void on(const char*, PartialShape&, Presence) override {}
  void on(const char*, std::vector<int64_t>&, Presence) override {}
  void on(const char*, std::vector<double>&, Presence) override {}
  void on(const char*, std::vector<std::string>&, Presence) override {}
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view>, Presence) override {
    note(name, static_cast<double>(index));
  }

 private:
  void note(const char* name, double value) {
    if (wanted_ == name) found_ = value;
  }
  std::string_view wanted_;
  std::optional<double> found_;
};

}  // namespace

double number_attribute(const Attributes& attributes, std::string_view name) {
  NumberVisitor visitor(name);
  attributes.inspect(visitor);
  if (!visitor.found()) throw_error(ErrorCode::not_found, "there is no numeric attribute '", name, "'");
  return *visitor.found();
}

std::vector<AttributeText> to_text(const Attributes& attributes) {
  TextVisitor visitor;
  attributes.inspect(visitor);
  return visitor.take();
}

bool equal(const Attributes& a, const Attributes& b) {
  const auto left = to_text(a), right = to_text(b);
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i].name != right[i].name || left[i].value != right[i].value || left[i].empty_list != right[i].empty_list)
      return false;
  return true;
}

}  // namespace terroir::ir
