#include "ir/schema/registry.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/base/error.hpp"

namespace terroir::ir {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

int opset_number(std::string_view opset) {
  constexpr std::string_view kPrefix = "opset";
  if (!opset.starts_with(kPrefix)) return -1;
  opset.remove_prefix(kPrefix.size());
  int number = -1;
  const auto [end, error] = std::from_chars(opset.data(), opset.data() + opset.size(), number);
  return error == std::errc() && end == opset.data() + opset.size() && number > 0 ? number : -1;
}

std::string OpSchema::display_name() const {
  const int number = opset_number(opset);
  return type + "-" + (number > 0 ? std::to_string(number) : opset);
}

const OpSchema& OpRegistry::add(OpSchema schema) { return add(std::make_shared<const OpSchema>(std::move(schema))); }

const OpSchema& OpRegistry::add(std::shared_ptr<const OpSchema> schema) {
  auto& versions = schemas_[lower(schema->type)];
  const int number = opset_number(schema->opset);
  auto place = versions.end();
  for (auto it = versions.begin(); it != versions.end(); ++it) {
    if ((*it)->opset == schema->opset)
      throw_error(ErrorCode::invalid_argument, "operation ", schema->type, " of ", schema->opset,
                  " is registered twice");
    if (place == versions.end() && opset_number((*it)->opset) > number) place = it;
  }
  return **versions.insert(place, std::move(schema));
}

const OpSchema* OpRegistry::find(std::string_view type, std::string_view opset) const {
  const auto found = schemas_.find(lower(type));
  if (found == schemas_.end()) return nullptr;
  const int number = opset_number(opset);
  const OpSchema* best = nullptr;
  for (const auto& schema : found->second) {
    if (schema->opset == opset) return schema.get();
    const int introduced = opset_number(schema->opset);
    if (number > 0 && introduced > 0 && introduced <= number) best = schema.get();
  }
  return best;
}

const OpSchema& OpRegistry::get(std::string_view type, std::string_view opset) const {
  if (const OpSchema* schema = find(type, opset)) return *schema;
  const auto same_type = schemas_.find(lower(type));
  if (same_type != schemas_.end()) {
    std::string sets;
    for (const auto& schema : same_type->second) sets += (sets.empty() ? "" : ", ") + schema->opset;
    throw_error(ErrorCode::unsupported, "operation '", type, "' is not in '", opset, "'; it is known in ", sets,
                " (and the opsets after it)");
  }
  std::vector<std::string> types;
  for (const auto& [key, versions] : schemas_) types.push_back(versions.front()->type);
  const std::string nearest = nearest_name(std::string(type), types);
  throw_error(ErrorCode::unsupported, "unknown operation '", type, "' of '", opset, "'; ",
              nearest.empty() ? std::string("no known operation has a similar name")
                              : "the nearest known one is '" + nearest + "'",
              "; an operation of your own needs an extension");
}

std::vector<const OpSchema*> OpRegistry::all() const {
  std::vector<const OpSchema*> result;
  for (const auto& [key, versions] : schemas_)
    for (const auto& schema : versions) result.push_back(schema.get());
  return result;
}

}  // namespace terroir::ir
