// Attributes of layers that are no classes of the program, shown to the program's visitors.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/schema/attributes.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/attribute_visitor.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

namespace {

/// Everything as what the public visitor knows.
class Plain final : public ir::AttributeVisitor {
 public:
  std::vector<std::pair<std::string, AttributeValue>> found;

 protected:
  using Presence = ir::Presence;
  void on(const char* name, bool& value, Presence) override { found.emplace_back(name, value); }
  void on(const char* name, int64_t& value, Presence) override { found.emplace_back(name, value); }
  void on(const char* name, double& value, Presence) override { found.emplace_back(name, value); }
  void on(const char* name, std::string& value, Presence) override { found.emplace_back(name, value); }
  void on(const char* name, element::Type& value, Presence) override { found.emplace_back(name, value.to_string()); }
  void on(const char* name, PartialShape& value, Presence) override { found.emplace_back(name, value.to_string()); }
  void on(const char* name, std::vector<int64_t>& value, Presence) override { found.emplace_back(name, value); }
  void on(const char* name, std::vector<double>& value, Presence) override { found.emplace_back(name, value); }
  void on(const char* name, std::vector<std::string>& value, Presence) override {
    found.emplace_back(name, detail::plain_value(value));
  }
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names, Presence) override {
    found.emplace_back(name, std::string(names[static_cast<size_t>(index)]));
  }
};

}  // namespace

bool Node::visit_attributes(AttributeVisitor& visitor) {
  Plain plain;
  detail::NodeAccess::attributes(*this)->inspect(plain);
  AnyMap changed;
  for (auto& [name, value] : plain.found) {
    if (!visitor.on_value(visitor.whole_name(name), value)) continue;
    std::visit([&, &key = name](const auto& now) { changed[key] = now; }, value);
  }
  if (!changed.empty()) detail::set_attributes(*this, changed);
  return true;
}

}  // namespace terroir
