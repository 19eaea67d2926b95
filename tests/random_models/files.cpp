#include "tests/random_models/files.hpp"

#include <fstream>

#include "ir/base/error.hpp"
#include "ir/xml/writer.hpp"

namespace terroir::test {

void write_files(const Subject& subject, const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::create_directories(folder);
  ir::write_model(*subject.graph, (folder / (name + ".xml")).string());
  for (size_t i = 0; i < subject.inputs.size(); ++i) {
    if (subject.inputs[i].type() == element::string) continue;
    const std::filesystem::path path = folder / concat(name, ".in", i, ".raw");
    std::ofstream file(path, std::ios::binary);
    const ir::TensorView& view = subject.inputs[i].view();
    if (view.bytes() > 0) file.write(static_cast<const char*>(view.data), static_cast<std::streamsize>(view.bytes()));
    if (!file.flush()) throw_error(ErrorCode::file_not_found, path.string(), " cannot be written");
  }
}

}  // namespace terroir::test
