#include "tests/zoo/zoo.hpp"

#include <cstdlib>

namespace terroir::test {

std::filesystem::path zoo_folder() {
  const char* set = std::getenv("TERROIR_ZOO_DIR");
  return set ? set : TERROIR_BINARY_DIR "/zoo";
}

std::filesystem::path zoo_model(const std::string& name) {
  const auto xml = zoo_folder() / (name + ".xml");
  return std::filesystem::exists(xml) ? xml : std::filesystem::path();
}

}  // namespace terroir::test
