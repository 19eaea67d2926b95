// The way in: reads models, knows the devices, compiles.
//
// Threads: everything may be called from several threads at once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/compiled_model.hpp"
#include "terroir/export.hpp"
#include "terroir/model.hpp"
#include "terroir/properties.hpp"
#include "terroir/tensor.hpp"
#include "terroir/version.hpp"

extern "C" {
typedef struct terroir_extension terroir_extension;
}

namespace terroir {

namespace detail {
struct RuntimeAccess;
}

/// Layer name -> device that can run it.
using SupportedOpsMap = std::map<std::string, std::string>;

class TERROIR_API Core {
 public:
  Core();
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Versions of the devices, by name; "" for all.
  std::map<std::string, Version> get_versions(const std::string& device = {}) const;

  /// Reads an IR model. Without `bin_path` the weights are the file beside it with the extension .bin, if there is one.
  /// The weights stay mapped read-only while the model or a compiled model uses them; do not write to the file
  /// meanwhile. Throws Exception that names file, line, layer: file_not_found, parse_error, not_found (unknown
  /// operation), invalid_argument, shape_mismatch, type_mismatch.
  std::shared_ptr<Model> read_model(const std::string& model_path, const std::string& bin_path = {}) const;
  /// The same from memory: the text of the .xml and the bytes of the .bin (a u8 tensor, or any other type), which the
  /// model keeps.
  std::shared_ptr<Model> read_model(const std::string& model, const Tensor& weights) const;

  /// Compiles for a device: "CPU", "INTERPRETER" (the slow reference); "" or "AUTO" choose CPU. Properties are those
  /// set for the device, overridden by these. Throws Exception: not_found for a device or property there is not,
  /// invalid_argument or parse_error for a value, and whatever reading or the device says.
  CompiledModel compile_model(const std::shared_ptr<const Model>& model, const std::string& device = {},
                              const AnyMap& properties = {});
  CompiledModel compile_model(const std::string& model_path, const std::string& device = {},
                              const AnyMap& properties = {});
  CompiledModel compile_model(const std::string& model, const Tensor& weights, const std::string& device = {},
                              const AnyMap& properties = {});
  /// compile_model(model, "CPU", num_streams(2), enable_profiling(true)).
  template <typename... Entries>
  std::enable_if_t<(sizeof...(Entries) > 0) && are_properties<Entries...>, CompiledModel> compile_model(
      const std::shared_ptr<const Model>& model, const std::string& device, Entries&&... properties) {
    return compile_model(model, device,
                         AnyMap{std::pair<const std::string, Any>(std::forward<Entries>(properties))...});
  }
  template <typename... Entries>
  std::enable_if_t<(sizeof...(Entries) > 0) && are_properties<Entries...>, CompiledModel> compile_model(
      const std::string& model_path, const std::string& device, Entries&&... properties) {
    return compile_model(model_path, device,
                         AnyMap{std::pair<const std::string, Any>(std::forward<Entries>(properties))...});
  }

  /// Layers of your own, from a shared library or of this program: models read or built with this Core may have them
  /// from now on. The library stays loaded as long as the process lives. Throws Exception that names the file:
  /// file_not_found, unsupported (no such library, or made for another version), invalid_argument (a description that
  /// is wrong, or an operation that exists already); then nothing is added. See terroir/extension.hpp.
  void add_extension(const std::string& library_path);
  void add_extension(const terroir_extension* extension);

  /// The layers of the model the device can run, mapped to its name.
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const std::string& device,
                              const AnyMap& properties = {}) const;

  /// Sets properties for one device, or for all. Throws Exception, and then nothing is changed.
  void set_property(const AnyMap& properties);
  void set_property(const std::string& device, const AnyMap& properties);
  template <typename... Entries>
  std::enable_if_t<(sizeof...(Entries) > 0) && are_properties<Entries...>> set_property(const std::string& device,
                                                                                        Entries&&... properties) {
    set_property(device, AnyMap{std::pair<const std::string, Any>(std::forward<Entries>(properties))...});
  }
  template <typename Entry>
  std::enable_if_t<are_properties<Entry>> set_property(const Entry& property) {
    set_property(AnyMap{std::pair<const std::string, Any>(property)});
  }
  /// A property of a device. Throws Exception (not_found) that names the nearest known device or property.
  Any get_property(const std::string& device, const std::string& name) const;
  template <typename T, PropertyMutability m>
  T get_property(const std::string& device, const Property<T, m>& property) const {
    return get_property(device, std::string(property.name())).template as<T>();
  }

  /// {"CPU", "INTERPRETER"}.
  std::vector<std::string> get_available_devices() const;

 private:
  friend struct detail::RuntimeAccess;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace terroir
