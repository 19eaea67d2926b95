#pragma once
// What: where the models of the zoo are.
#include <filesystem>
#include <string>

namespace terroir::test {

/// $TERROIR_ZOO_DIR, or the folder into which the build generates the models.
std::filesystem::path zoo_folder();

/// The IR file of a model, or an empty path when it was not generated.
std::filesystem::path zoo_model(const std::string& name);

}  // namespace terroir::test
