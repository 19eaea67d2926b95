#include "ir/xml/layer_attributes.hpp"

#include <algorithm>
#include <array>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"
#include "ir/xml/values.hpp"

namespace terroir::ir::xml {
namespace {

struct Row {
  std::string_view type, in_file, means;
};
#define TERROIR_TOLERATED(type, attribute)
#define TERROIR_RENAMED(type, in_file, attribute)
#define TERROIR_OPSET(type, in_file, read_as) Row{type, in_file, read_as},
constexpr Row kOpsets[] = {
#include "ir/xml/spellings.inc"
};
#undef TERROIR_OPSET
#undef TERROIR_RENAMED
#define TERROIR_OPSET(type, in_file, read_as)
#define TERROIR_RENAMED(type, in_file, attribute) Row{type, in_file, attribute},
constexpr Row kRenamed[] = {
#include "ir/xml/spellings.inc"
};
#undef TERROIR_RENAMED
#undef TERROIR_TOLERATED
#define TERROIR_RENAMED(type, in_file, attribute)
#define TERROIR_TOLERATED(type, attribute) Row{type, attribute, {}},
constexpr Row kTolerated[] = {
#include "ir/xml/spellings.inc"
};
#undef TERROIR_OPSET
#undef TERROIR_RENAMED
#undef TERROIR_TOLERATED

const Row* find_row(std::span<const Row> rows, std::string_view type, std::string_view in_file) {
  for (const Row& row : rows)
    if (row.in_file == in_file && (row.type == "*" || equal_ignoring_case(row.type, type))) return &row;
  return nullptr;
}

class ReadVisitor final : public AttributeVisitor {
 public:
  ReadVisitor(const OpSchema& schema, const LayerRecord& layer)
      : schema_(schema), layer_(layer), used_(layer.data.size(), false) {}

  void ignore(std::string_view name) {
    for (size_t i = 0; i < layer_.data.size(); ++i)
      if (layer_.data[i].first == name) used_[i] = true;
  }

  void finish(std::vector<std::string>* unknown) const {
    for (size_t i = 0; i < layer_.data.size(); ++i) {
      const auto& [name, text] = layer_.data[i];
      if (used_[i] || find_row(kTolerated, schema_.type, name)) continue;
      if (std::find(known_.begin(), known_.end(), name) != known_.end())
        throw_error(ErrorCode::parse_error, "attribute '", name, "' is given twice");
      const std::string meant = did_you_mean(std::string(name), not_given());
      if (unknown && meant.empty() && !schema_.opset.starts_with("terroir")) {
        unknown->push_back(concat("'", name, "' = '", text, "'"));
        continue;
      }
      std::string known;
      for (const std::string& one : known_) known += (known.empty() ? "" : ", ") + one;
      throw_error(ErrorCode::parse_error, "unknown attribute '", name, "' = '", text, "' of ", schema_.display_name(),
                  meant, known.empty() ? std::string("; it has none") : "; it has: " + known);
    }
  }

 protected:
  void on(const char* name, bool& value, Presence p) override { read(name, p, value, "true or false", parse_bool); }
  void on(const char* name, int64_t& value, Presence p) override { read(name, p, value, "an integer", parse_int); }
  void on(const char* name, double& value, Presence p) override { read(name, p, value, "a number", parse_real); }
  void on(const char* name, std::string& value, Presence p) override {
    if (const auto text = find(name, p)) value = *text;
  }
  void on(const char* name, element::Type& value, Presence p) override {
    const auto text = find(name, p);
    if (!text) return;
    with_context([&] { return std::string("attribute '") + name + "'"; },
                 [&] { value = element::Type(std::string(detail::trim(*text))); });
  }
  void on(const char* name, PartialShape& value, Presence p) override {
    read(name, p, value, "a shape such as '1, 3, ?, 1..64', or '...' for an unknown rank", parse_shape);
  }
  void on(const char* name, std::vector<int64_t>& value, Presence p) override {
    read(name, p, value, "integers separated by commas", parse_ints);
  }
  void on(const char* name, std::vector<double>& value, Presence p) override {
    read(name, p, value, "numbers separated by commas", parse_reals);
  }
  void on(const char* name, std::vector<std::string>& value, Presence p) override {
    read(name, p, value, "words separated by commas", parse_words);
  }
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names, Presence p) override {
    const auto text = find(name, p);
    if (!text) return;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!equal_ignoring_case(names[i], detail::trim(*text))) continue;
      index = static_cast<int64_t>(i);
      return;
    }
    std::string expected;
    std::vector<std::string> all(names.begin(), names.end());
    for (const auto& one : all) expected += (expected.empty() ? "" : ", ") + one;
    throw_error(ErrorCode::parse_error, "attribute '", name, "' must be one of ", expected, ", got '", *text, "'",
                did_you_mean(std::string(*text), all));
  }

 private:
  template <class T, class Parse>
  void read(const char* name, Presence presence, T& value, const char* expected, Parse parse) {
    const auto text = find(name, presence);
    if (!text) return;
    auto parsed = parse(*text);
    if (!parsed)
      throw_error(ErrorCode::parse_error, "attribute '", name, "' must be ", expected, ", got '", *text, "'");
    value = std::move(*parsed);
  }

  std::optional<std::string_view> find(const char* name, Presence presence) {
    known_.emplace_back(name);
    size_t found = position(name);
    for (const Row& row : kRenamed)
      if (found == layer_.data.size() && row.means == name && row.type == schema_.type) found = position(row.in_file);
    if (found < layer_.data.size()) {
      used_[found] = true;
      return layer_.data[found].second;
    }
    if (presence == Presence::required)
      throw_error(ErrorCode::parse_error, "required attribute '", name, "' of ", schema_.display_name(),
                  " is missing in <data>", near_miss(name));
    return std::nullopt;
  }

  size_t position(std::string_view name) const {
    const auto at =
        std::find_if(layer_.data.begin(), layer_.data.end(), [&](auto& entry) { return entry.first == name; });
    return static_cast<size_t>(at - layer_.data.begin());
  }

  std::vector<std::string> not_given() const {
    std::vector<std::string> names;
    for (const std::string& name : known_)
      if (position(name) == layer_.data.size()) names.push_back(name);
    return names;
  }

  std::string near_miss(const char* name) const {
    std::vector<std::string> given;
    for (size_t i = 0; i < layer_.data.size(); ++i)
      if (!used_[i]) given.emplace_back(layer_.data[i].first);
    const std::string nearest = nearest_name(name, given);
    return nearest.empty() ? "" : "; is '" + nearest + "' meant to be it?";
  }

  const OpSchema& schema_;
  const LayerRecord& layer_;
  std::vector<bool> used_;
  std::vector<std::string> known_;
};

}  // namespace

const OpSchema& find_schema(const OpRegistry& registry, const LayerRecord& layer) {
  if (const OpSchema* schema = registry.find(layer.type, layer.opset)) return *schema;
  for (const Row& row : kOpsets)
    if (row.in_file == layer.opset && equal_ignoring_case(row.type, layer.type))
      if (const OpSchema* schema = registry.find(layer.type, row.means)) return *schema;
  return registry.get(layer.type, layer.opset);
}

std::unique_ptr<Attributes> read_attributes(const OpSchema& schema, const LayerRecord& layer,
                                            std::vector<std::string>* unknown,
                                            std::initializer_list<std::string_view> container) {
  auto attributes = schema.make_attributes();
  ReadVisitor visitor(schema, layer);
  for (const std::string_view name : container) visitor.ignore(name);
  attributes->visit(visitor);
  visitor.finish(unknown);
  return attributes;
}

std::string_view data_text(const LayerRecord& layer, std::string_view name) {
  for (const auto& [key, value] : layer.data)
    if (key == name) return value;
  throw_error(ErrorCode::parse_error, "required attribute '", name, "' is missing in <data>");
}

}  // namespace terroir::ir::xml
