// A model made ready to run on a device.
//
// What: a handle; copies are the same compiled model. It is immutable, and independent of the Model it was made from.
// Threads: everything may be called from several threads at once.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/export.hpp"
#include "terroir/infer_request.hpp"
#include "terroir/model.hpp"
#include "terroir/node.hpp"
#include "terroir/properties.hpp"
#include "terroir/remote_context.hpp"

namespace terroir {

namespace detail {
class CompiledState;
}

class TERROIR_API CompiledModel {
 public:
  /// An empty handle: every function throws Exception (invalid_argument).
  CompiledModel() = default;

  /// As the functions of Model of the same name.
  std::vector<Output<const Node>> inputs() const;
  Output<const Node> input() const;
  Output<const Node> input(size_t index) const;
  Output<const Node> input(const std::string& name) const;
  std::vector<Output<const Node>> outputs() const;
  Output<const Node> output() const;
  Output<const Node> output(size_t index) const;
  Output<const Node> output(const std::string& name) const;

  InferRequest create_infer_request();

  /// A setting with the value it came down to, or a fact about the compiled model. Throws Exception (not_found) that
  /// names the nearest known property.
  Any get_property(const std::string& name) const;
  template <typename T, PropertyMutability m>
  T get_property(const Property<T, m>& property) const {
    return get_property(std::string(property.name())).template as<T>();
  }
  /// Properties are settled when a model is compiled: throws Exception, unsupported for a property that
  /// Core::compile_model() takes, else not_found or invalid_argument. An empty map is no error.
  void set_property(const AnyMap& properties);
  template <typename... Entries>
  std::enable_if_t<(sizeof...(Entries) > 0) && are_properties<Entries...>> set_property(Entries&&... properties) {
    set_property(AnyMap{std::pair<const std::string, Any>(std::forward<Entries>(properties))...});
  }

  /// Frees the memory that requests keep between inferences, their tensors and variables excepted; the next inference
  /// takes it again. Throws Busy if a request is running, and then nothing is freed.
  void release_memory();

  /// Writes it for Core::import_model(): with its weights as the kernels want them, so that importing is fast. Throws
  /// Exception (file_not_found) if the stream fails, not_implemented if a layer cannot be written.
  void export_model(std::ostream& stream) const;

  /// The graph as it is executed, for people and viewers: layers of type ExecutionNode between Parameters and Results.
  /// Their runtime information tells, as texts: layerType, originalLayersNames (separated by commas), primitiveType
  /// (the kernel), outputPrecisions, outputLayouts, runtimePrecision, execOrder, execTimeMcs (the mean over the
  /// inferences so far if the model was compiled with enable_profiling(true), else "not_executed"). Throws Exception:
  /// not_implemented if the device has none to show, unsupported if there is no plan yet (a model of unknown extents
  /// that has not run).
  std::shared_ptr<const Model> get_runtime_model() const;

  /// No device has one: throws Exception (unsupported).
  RemoteContext get_context() const { detail::throw_no_remote_memory("CompiledModel::get_context()"); }

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator!() const noexcept { return state_ == nullptr; }

 private:
  friend struct detail::RuntimeAccess;
  explicit CompiledModel(std::shared_ptr<detail::CompiledState> state) : state_(std::move(state)) {}
  detail::CompiledState& state() const;

  std::shared_ptr<detail::CompiledState> state_;
};

}  // namespace terroir
