#pragma once
// What: how random operands that make sense are found, per operation: one row per recipe, with the operations it
// serves. A recipe draws operands and those attributes that must fit them, and ends with Draw::op(). It may ask for
// what the operation refuses: that is counted, and tried again.
#include <span>
#include <string>
#include <string_view>

#include "tests/differential/draw.hpp"

namespace terroir::test {

using Recipe = void (*)(Draw&);

struct RecipeRow {
  std::string_view operations;  // "Gather-7 Gather-8"
  Recipe recipe;
};

/// The recipe for "Type-N"; null where there is none.
Recipe find_recipe(std::string_view operation);
/// Operations that recipes name, in the order of the tables.
std::vector<std::string> operations_with_recipes();

// One table per file recipes_<family>.cpp.
std::span<const RecipeRow> elementwise_recipes();
std::span<const RecipeRow> movement_recipes();
std::span<const RecipeRow> shape_recipes();
std::span<const RecipeRow> window_recipes();
std::span<const RecipeRow> arithmetic_recipes();
std::span<const RecipeRow> image_recipes();
std::span<const RecipeRow> detection_recipes();
std::span<const RecipeRow> sequence_recipes();
std::span<const RecipeRow> body_recipes();

}  // namespace terroir::test
