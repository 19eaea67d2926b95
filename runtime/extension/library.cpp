#include "runtime/extension/library.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>

#include "ir/base/code_file.hpp"
#include "ir/base/error.hpp"
#include "ir/base/file_signature.hpp"
#include "runtime/extension/layer.hpp"

namespace terroir::custom {
namespace {

/// All there is, by descriptor. Never destroyed: models may be used while the process ends.
struct Store {
  std::mutex mutex;
  std::map<const terroir_extension*, Extension> extensions;
  std::deque<Layer> layers;
};

Store& store() {
  static Store& instance = *new Store;
  return instance;
}

/// Bytes of the struct as version 1 of the header had it.
constexpr size_t kFirstSize = offsetof(terroir_extension, device_count);

void check(const terroir_extension& extension) {
  if (extension.abi_version > TERROIR_ABI_VERSION)
    throw_error(ErrorCode::unsupported, "it is built for version ", extension.abi_version,
                " of extension_abi.h; this library knows versions up to ", TERROIR_ABI_VERSION,
                ": build it with the headers of this one");
  const size_t needed = extension.abi_version >= 2 ? sizeof(terroir_extension) : kFirstSize;
  if (extension.abi_version == 0 || extension.struct_size < needed)
    throw_error(ErrorCode::invalid_argument, "it says that it is of version ", extension.abi_version,
                " of extension_abi.h and has ", extension.struct_size, " bytes; that version has ", needed);
  if (extension.layer_count > 0 && extension.layers == nullptr)
    throw_error(ErrorCode::invalid_argument, "layer_count is ", extension.layer_count, ", but layers is null");
  if (extension.abi_version >= 2 && extension.device_count > 0 && extension.devices == nullptr)
    throw_error(ErrorCode::invalid_argument, "device_count is ", extension.device_count, ", but devices is null");
}

/// `file`: of the library, empty if the program has loaded or has the layers itself.
const Extension& adopt(const terroir_extension* extension, const std::string& source, const std::string& file) {
  check(*extension);
  Store& known = store();
  const std::lock_guard lock(known.mutex);
  const auto [entry, fresh] = known.extensions.try_emplace(extension);
  if (!fresh) return entry->second;
  try {
    for (uint32_t i = 0; i < extension->layer_count; ++i) {
      Layer& layer = known.layers.emplace_back(checked_layer(extension->layers[i], source, file));
      if (file.empty()) layer.file = file_of_code(reinterpret_cast<const void*>(layer.descriptor.compute));
      entry->second.operations.push_back(std::make_shared<const ir::OpSchema>(make_schema(layer)));
      if (layer.descriptor.states == 0) continue;
      layer.with_states = std::make_shared<const ir::OpSchema>(make_schema(layer, States::ports));
      entry->second.operations.push_back(layer.with_states);
    }
    const uint32_t devices = extension->abi_version >= 2 ? extension->device_count : 0;
    for (uint32_t i = 0; i < devices; ++i)
      entry->second.devices.push_back(checked_device(extension->devices[i], source));
  } catch (...) {
    known.extensions.erase(entry);
    throw;
  }
  return entry->second;
}

const terroir_extension* entry_of(const std::string& path) {
  // With a folder: without one, the loader would look in those of the system.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
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

const Extension& load_extension(const std::string& path) {
  return with_context([&] { return "extension '" + path + "'"; },
                      [&]() -> const Extension& {
                        std::error_code unreadable;  // what it cannot look at is not there
                        const std::filesystem::path file = std::filesystem::absolute(path, unreadable);
                        if (path.empty() || !std::filesystem::exists(file, unreadable))
                          throw_error(ErrorCode::file_not_found, "there is no such file");
                        return adopt(entry_of(file.string()), file.filename().string(), file.string());
                      });
}

const Extension& adopt_extension(const terroir_extension* extension) {
  if (extension == nullptr) throw_error(ErrorCode::invalid_argument, "the extension is null");
  const std::string name = extension->name != nullptr ? extension->name : "without a name";
  return with_context([&] { return "extension '" + name + "'"; },
                      [&]() -> const Extension& { return adopt(extension, name, {}); });
}

namespace {

/// Null for operations of our own.
const Layer* layer_of(const ir::OpSchema& schema) {
  const std::unique_ptr<ir::Attributes> attributes = schema.make_attributes();
  const LayerAttrs* theirs = layer_attributes(*attributes);
  return theirs != nullptr ? theirs->layer : nullptr;
}

}  // namespace

std::string source_of(const ir::OpSchema& schema) {
  const Layer* layer = layer_of(schema);
  return layer != nullptr ? layer->source : std::string();
}

std::string fingerprint(const ir::OpRegistry& operations) {
  std::string text;
  for (const ir::OpSchema* schema : operations.all()) {
    if (!schema->from_extension) continue;
    const Layer* layer = layer_of(*schema);
    if (layer == nullptr) continue;
    text += concat(' ', schema->display_name(), " of ", layer->source);
    if (const auto file = FileSignature::of(layer->file))
      text += concat(", ", file->bytes, " bytes, ", file->inode, ' ', file->modified);
  }
  return text;
}

}  // namespace terroir::custom
