#include "tests/differential/recipes.hpp"

#include <map>

namespace terroir::test {
namespace {

template <class Fn>
void for_each_row(Fn&& fn) {
  for (const auto table :
       {elementwise_recipes(), movement_recipes(), shape_recipes(), window_recipes(), arithmetic_recipes(),
        image_recipes(), detection_recipes(), sequence_recipes(), body_recipes()})
    for (const RecipeRow& row : table)
      for (std::string_view rest = row.operations; !rest.empty();) {
        const size_t end = std::min(rest.find(' '), rest.size());
        fn(rest.substr(0, end), row.recipe);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
}

}  // namespace

Recipe find_recipe(std::string_view operation) {
  static const std::map<std::string_view, Recipe> recipes = [] {
    std::map<std::string_view, Recipe> filled;
    for_each_row([&](std::string_view name, Recipe recipe) { filled.emplace(name, recipe); });
    return filled;
  }();
  const auto found = recipes.find(operation);
  return found == recipes.end() ? nullptr : found->second;
}

std::vector<std::string> operations_with_recipes() {
  std::vector<std::string> names;
  for_each_row([&](std::string_view name, Recipe) { names.emplace_back(name); });
  return names;
}

}  // namespace terroir::test
