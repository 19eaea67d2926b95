// The way in: reads models, knows the devices, compiles.
//
// Threads: everything may be called from several threads at once.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/compiled_model.hpp"
#include "terroir/exception.hpp"
#include "terroir/executor.hpp"
#include "terroir/export.hpp"
#include "terroir/model.hpp"
#include "terroir/properties.hpp"
#include "terroir/remote_context.hpp"
#include "terroir/tensor.hpp"
#include "terroir/version.hpp"

extern "C" {
typedef struct terroir_extension terroir_extension;
}

namespace terroir {

namespace detail {
struct RuntimeAccess;
}
namespace op {
class Op;
}
template <typename Layer>
class OpExtension;

/// What Core::add_extension() takes: OpExtension and classes derived from BaseOpExtension (terroir/op_extension.hpp).
class Extension : public std::enable_shared_from_this<Extension> {
 public:
  using Ptr = std::shared_ptr<Extension>;
  virtual ~Extension() = default;
  /// Lives as long as the process. Throws Exception (unsupported) for an extension of something else than layers.
  virtual const terroir_extension* description() const {
    throw Exception(ErrorCode::unsupported, "an extension that brings no layers");
  }
  /// What is added together with it.
  virtual std::vector<Ptr> get_attached_extensions() const { return {}; }
};

/// Layer name -> device that can run it.
using SupportedOpsMap = std::map<std::string, std::string>;

class TERROIR_API Core {
  template <typename T, typename... Entries>
  using IfEntries = std::enable_if_t<(sizeof...(Entries) > 0) && are_properties<Entries...>, T>;
  // Not what converts to a path: a text does.
  template <typename T, typename Path>
  using IfPath = std::enable_if_t<std::is_same_v<Path, std::filesystem::path>, T>;
  static std::string text_of(const std::filesystem::path& path) { return path.string(); }
  template <typename... Entries>
  static AnyMap map_of(Entries&&... entries) {
    return AnyMap{std::pair<const std::string, Any>(std::forward<Entries>(entries))...};
  }

 public:
  /// The devices are those of this library: there is no file that lists plugins. Throws Exception (unsupported) for the
  /// name of one.
  explicit Core(const std::string& xml_config_file = {});
  /// Copies share devices, extensions and properties.
  Core(const Core&) = default;
  Core& operator=(const Core&) = default;
  ~Core();

  /// Versions of the devices, by name; "" for all.
  std::map<std::string, Version> get_versions(const std::string& device = {}) const;

  /// Reads an IR model. Paths may be wide, too, and std::filesystem::path. Without `bin_path` the weights are the file
  /// beside it with the extension .bin, if there is one. The weights stay mapped read-only while the model or a
  /// compiled model uses them; do not write to the file meanwhile, or set enable_mmap(false). Properties are those set
  /// for all devices, overridden by these. Throws Exception that names file, line, layer: file_not_found, parse_error,
  /// not_found (unknown operation), invalid_argument, shape_mismatch, type_mismatch.
  std::shared_ptr<Model> read_model(const std::string& model_path, const std::string& bin_path = {},
                                    const AnyMap& properties = {}) const;
  template <typename Path>
  IfPath<std::shared_ptr<Model>, Path> read_model(const Path& model_path, const Path& bin_path = {},
                                                  const AnyMap& properties = {}) const {
    return read_model(text_of(model_path), text_of(bin_path), properties);
  }
  std::shared_ptr<Model> read_model(const std::wstring& model_path, const std::wstring& bin_path = {},
                                    const AnyMap& properties = {}) const {
    return read_model(text_of(model_path), text_of(bin_path), properties);
  }
  template <typename... Entries>
  IfEntries<std::shared_ptr<Model>, Entries...> read_model(const std::wstring& model_path, const std::wstring& bin_path,
                                                           Entries&&... properties) const {
    return read_model(text_of(model_path), text_of(bin_path), map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<std::shared_ptr<Model>, Entries...> read_model(const std::string& model_path, const std::string& bin_path,
                                                           Entries&&... properties) const {
    return read_model(model_path, bin_path, map_of(std::forward<Entries>(properties)...));
  }
  template <typename Path, typename... Entries>
  IfPath<IfEntries<std::shared_ptr<Model>, Entries...>, Path> read_model(const Path& model_path, const Path& bin_path,
                                                                         Entries&&... properties) const {
    return read_model(text_of(model_path), text_of(bin_path), map_of(std::forward<Entries>(properties)...));
  }
  /// The same from memory: the text of the .xml and the bytes of the .bin (a u8 tensor, or any other type), which the
  /// model keeps.
  std::shared_ptr<Model> read_model(const std::string& model, const Tensor& weights) const;

  /// Compiles for a device: "CPU", "INTERPRETER" (the slow reference); "", none or "AUTO" choose CPU, "AUTO:A,B" (or
  /// "AUTO" with device::priorities("A", "B")) the first there is, "AUTO:-A" another than A; "MULTI:A" and
  /// "HETERO:A" are A. Properties are those set for the device, overridden by these. Throws Exception: not_found for a
  /// device or property there is not, unsupported for MULTI and HETERO of several devices and for BATCH,
  /// invalid_argument or parse_error for a value, and whatever reading or the device says.
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const AnyMap& properties = {}) {
    return compile_model(model, std::string(), properties);
  }
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties = {});
  CompiledModel compile_model(const std::string& model_path, const AnyMap& properties = {}) {
    return compile_model(model_path, std::string(), properties);
  }
  CompiledModel compile_model(const std::string& model_path, const std::string& device, const AnyMap& properties = {});
  template <typename Path>
  IfPath<CompiledModel, Path> compile_model(const Path& model_path, const AnyMap& properties = {}) {
    return compile_model(text_of(model_path), properties);
  }
  template <typename Path>
  IfPath<CompiledModel, Path> compile_model(const Path& model_path, const std::string& device,
                                            const AnyMap& properties = {}) {
    return compile_model(text_of(model_path), device, properties);
  }
  template <typename Path, typename... Entries>
  IfPath<IfEntries<CompiledModel, Entries...>, Path> compile_model(const Path& model_path, const std::string& device,
                                                                   Entries&&... properties) {
    return compile_model(text_of(model_path), device, map_of(std::forward<Entries>(properties)...));
  }
  template <typename Path, typename... Entries>
  IfPath<IfEntries<CompiledModel, Entries...>, Path> compile_model(const Path& model_path, Entries&&... properties) {
    return compile_model(text_of(model_path), map_of(std::forward<Entries>(properties)...));
  }
  CompiledModel compile_model(const std::wstring& model_path, const AnyMap& properties = {}) {
    return compile_model(text_of(model_path), properties);
  }
  CompiledModel compile_model(const std::wstring& model_path, const std::string& device,
                              const AnyMap& properties = {}) {
    return compile_model(text_of(model_path), device, properties);
  }
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::wstring& model_path, Entries&&... properties) {
    return compile_model(text_of(model_path), map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::wstring& model_path, const std::string& device,
                                                     Entries&&... properties) {
    return compile_model(text_of(model_path), device, map_of(std::forward<Entries>(properties)...));
  }
  CompiledModel compile_model(const std::string& model, const Tensor& weights, const std::string& device,
                              const AnyMap& properties = {});
  /// compile_model(model, "CPU", num_streams(2), enable_profiling(true)), and so for all of the above.
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::shared_ptr<const Model>& model,
                                                     Entries&&... properties) {
    return compile_model(model, map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::shared_ptr<const Model>& model,
                                                     const std::string& device, Entries&&... properties) {
    return compile_model(model, device, map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::string& model_path, Entries&&... properties) {
    return compile_model(model_path, map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::string& model_path, const std::string& device,
                                                     Entries&&... properties) {
    return compile_model(model_path, device, map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<CompiledModel, Entries...> compile_model(const std::string& model, const Tensor& weights,
                                                     const std::string& device, Entries&&... properties) {
    return compile_model(model, weights, device, map_of(std::forward<Entries>(properties)...));
  }

  /// What CompiledModel::export_model() has written, ready to run without compiling it again; the weights stay where
  /// the tensor has them, which it keeps. Properties as for compile_model(), but those that decide how a model is
  /// compiled are those that it was compiled with. Throws Exception: parse_error for anything else than an undamaged
  /// compiled model, unsupported for one of another build of the library, another device or another instruction set,
  /// not_found for layers of extensions that were not added. Import only what you trust: a damaged file is noticed, one
  /// that was made to do harm is not.
  CompiledModel import_model(std::istream& model, const std::string& device = {}, const AnyMap& properties = {});
  CompiledModel import_model(const Tensor& model, const std::string& device = {}, const AnyMap& properties = {});
  /// The file that it was written to, which is mapped: do not write to it while the model lives. Throws Exception, too:
  /// file_not_found.
  CompiledModel import_model(const std::filesystem::path& model_path, const std::string& device = {},
                             const AnyMap& properties = {});
  template <typename Source, typename... Entries>
  IfEntries<CompiledModel, Entries...> import_model(Source&& model, const std::string& device,
                                                    Entries&&... properties) {
    return import_model(std::forward<Source>(model), device, map_of(std::forward<Entries>(properties)...));
  }

  /// Layers of your own, from a shared library or of this program: models read or built with this Core may have them
  /// from now on. The library stays loaded as long as the process lives. Throws Exception that names the file:
  /// file_not_found, unsupported (no such library, or made for another version), invalid_argument (a description that
  /// is wrong, or an operation that exists already); then nothing is added. See terroir/extension.hpp.
  void add_extension(const std::string& library_path);
  template <typename Path>
  IfPath<void, Path> add_extension(const Path& library_path) {
    add_extension(text_of(library_path));
  }
  void add_extension(const std::wstring& library_path) { add_extension(text_of(library_path)); }
  void add_extension(const terroir_extension* extension);
  /// Layers that are classes, see terroir/op_extension.hpp: add_extension<Layer, Another>(), or one OpExtension<Layer>,
  /// by itself, by pointer or in a list. Of a list, what comes before the one that is refused is added.
  void add_extension(const std::shared_ptr<Extension>& extension) {
    add_extension(extension != nullptr ? extension->description() : nullptr);
    add_extension(extension->get_attached_extensions());
  }
  void add_extension(const std::vector<std::shared_ptr<Extension>>& extensions) {
    for (const auto& extension : extensions) add_extension(extension);
  }
  template <typename E>
  std::enable_if_t<std::is_base_of_v<Extension, E>> add_extension(const E& extension) {
    add_extension(std::shared_ptr<Extension>(std::make_shared<E>(extension)));
  }
  template <typename Layer, typename... Others>
  std::enable_if_t<std::is_base_of_v<op::Op, Layer>> add_extension() {
    add_extension(OpExtension<Layer>());
    (add_extension(OpExtension<Others>()), ...);
  }

  /// The layers of the model the device can run, mapped to its name.
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties = {}) const;
  template <typename... Entries>
  IfEntries<SupportedOpsMap, Entries...> query_model(const std::shared_ptr<const Model>& model,
                                                     const std::string& device, Entries&&... properties) const {
    return query_model(model, device, map_of(std::forward<Entries>(properties)...));
  }

  /// Sets properties for one device, or for all. Throws Exception, and then nothing is changed.
  void set_property(const AnyMap& properties);
  void set_property(const std::string& device, const AnyMap& properties);
  template <typename... Entries>
  IfEntries<void, Entries...> set_property(Entries&&... properties) {
    set_property(map_of(std::forward<Entries>(properties)...));
  }
  template <typename... Entries>
  IfEntries<void, Entries...> set_property(const std::string& device, Entries&&... properties) {
    set_property(device, map_of(std::forward<Entries>(properties)...));
  }
  /// What runs the tasks of models compiled from now on, on all devices; null: the runtime's own threads. The same as
  /// set_property(task_executor(...)).
  void set_executor(std::shared_ptr<TaskExecutor> executor);
  /// A property of a device, or without a device of all together. `arguments` count as if they were set. Throws
  /// Exception (not_found) that names the nearest known device or property.
  Any get_property(const std::string& device, const std::string& name, const AnyMap& arguments = {}) const;
  Any get_property(const std::string& name) const { return get_property(std::string(), name); }
  template <typename T, PropertyMutability m>
  T get_property(const std::string& device, const Property<T, m>& property, const AnyMap& arguments = {}) const {
    return get_property(device, std::string(property.name()), arguments).template as<T>();
  }
  template <typename T, PropertyMutability m, typename... Entries>
  IfEntries<T, Entries...> get_property(const std::string& device, const Property<T, m>& property,
                                        Entries&&... arguments) const {
    return get_property(device, property, map_of(std::forward<Entries>(arguments)...));
  }

  /// No device has remote memory: these throw Exception, not_found for a device there is not, else unsupported.
  RemoteContext create_context(const std::string& device, const AnyMap& parameters);
  template <typename... Entries>
  IfEntries<RemoteContext, Entries...> create_context(const std::string& device, Entries&&... parameters) {
    return create_context(device, map_of(std::forward<Entries>(parameters)...));
  }
  RemoteContext get_default_context(const std::string& device) { return create_context(device, AnyMap()); }

  /// {"CPU", "INTERPRETER"}.
  std::vector<std::string> get_available_devices() const;

 private:
  friend struct detail::RuntimeAccess;
  struct State;
  std::shared_ptr<State> state_;
};

/// Frees what the library keeps for the life of the process. It keeps nothing: Core, models and requests own all there
/// is, so this does nothing and may be called or not.
inline void shutdown() {}

}  // namespace terroir
