#pragma once
// What: where the models of the zoo are, and how tests of them are named.
#include <algorithm>
#include <filesystem>
#include <string>

namespace terroir::test {

/// $TERROIR_ZOO_DIR, or the folder into which the build generates the models.
std::filesystem::path zoo_folder();

/// The IR file of a model, or an empty path when it was not generated.
std::filesystem::path zoo_model(const std::string& name);

/// Of a test whose parameter is the name of a model.
inline constexpr auto name_of_test = [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
};

}  // namespace terroir::test
