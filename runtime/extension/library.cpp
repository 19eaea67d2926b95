#include "runtime/extension/library.hpp"

#include <dlfcn.h>

#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "ir/base/error.hpp"
#include "runtime/extension/layer.hpp"

namespace terroir::custom {
namespace {

using Schemas = std::vector<std::shared_ptr<const ir::OpSchema>>;

/// All there is, by descriptor. Never destroyed: models may be used while the process ends.
struct Store {
  std::mutex mutex;
  std::map<const terroir_extension*, Schemas> extensions;
  std::deque<Layer> layers;
};

Store& store() {
  static Store& instance = *new Store;
  return instance;
}

const Schemas& adopt(const terroir_extension* extension, const std::string& source) {
  if (extension->abi_version > TERROIR_ABI_VERSION)
    throw_error(ErrorCode::unsupported, "it is built for version ", extension->abi_version,
                " of extension_abi.h; this library knows versions up to ", TERROIR_ABI_VERSION,
                ": build it with the headers of this one");
  if (extension->abi_version == 0 || extension->struct_size < sizeof(terroir_extension))
    throw_error(ErrorCode::invalid_argument, "it says that it is of version ", extension->abi_version,
                " of extension_abi.h and has ", extension->struct_size, " bytes; version ", TERROIR_ABI_VERSION,
                " has ", sizeof(terroir_extension));
  if (extension->layer_count > 0 && extension->layers == nullptr)
    throw_error(ErrorCode::invalid_argument, "layer_count is ", extension->layer_count, ", but layers is null");
  Store& known = store();
  const std::lock_guard lock(known.mutex);
  const auto [entry, fresh] = known.extensions.try_emplace(extension);
  if (!fresh) return entry->second;
  try {
    for (uint32_t i = 0; i < extension->layer_count; ++i) {
      const Layer& layer = known.layers.emplace_back(checked_layer(extension->layers[i], source));
      entry->second.push_back(std::make_shared<const ir::OpSchema>(make_schema(layer)));
    }
  } catch (...) {
    known.extensions.erase(entry);
    throw;
  }
  return entry->second;
}

const terroir_extension* entry_of(const std::string& path) {
  if (!std::filesystem::exists(path)) throw_error(ErrorCode::file_not_found, "there is no such file");
  // Without a folder, the loader would look in those of the system.
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = dlerror();
    throw_error(ErrorCode::unsupported, "it cannot be loaded: ", text != nullptr ? text : "no reason is given");
  }
  void* symbol = dlsym(library, TERROIR_EXTENSION_ENTRY);
  if (symbol == nullptr)
    throw_error(ErrorCode::unsupported, "it is no extension: it does not export ", TERROIR_EXTENSION_ENTRY,
                "(); with terroir/extension.hpp, TERROIR_EXTENSION(\"name\", Layer) makes one");
  const auto get = reinterpret_cast<terroir_get_extension_function>(symbol);
  const terroir_extension* extension = get(TERROIR_ABI_VERSION);
  if (extension == nullptr)
    throw_error(ErrorCode::unsupported, "it refuses to work with version ", TERROIR_ABI_VERSION,
                " of extension_abi.h; build it with the headers of this library");
  return extension;
}

}  // namespace

std::span<const std::shared_ptr<const ir::OpSchema>> load_extension(const std::string& path) {
  return with_context(
      [&] { return "extension '" + path + "'"; },
      [&]() -> const Schemas& { return adopt(entry_of(path), std::filesystem::path(path).filename().string()); });
}

std::span<const std::shared_ptr<const ir::OpSchema>> adopt_extension(const terroir_extension* extension) {
  if (extension == nullptr) throw_error(ErrorCode::invalid_argument, "the extension is null");
  const std::string name = extension->name != nullptr ? extension->name : "without a name";
  return with_context([&] { return "extension '" + name + "'"; },
                      [&]() -> const Schemas& { return adopt(extension, name); });
}

std::string source_of(const ir::OpSchema& schema) {
  const std::unique_ptr<ir::Attributes> attributes = schema.make_attributes();
  const LayerAttrs* ours = layer_attributes(*attributes);
  return ours != nullptr ? ours->layer->source : std::string();
}

}  // namespace terroir::custom
