// A model made ready to run on a device.
//
// What: a handle; copies are the same compiled model. It is immutable, and independent of the Model it was made from.
// Threads: everything may be called from several threads at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/export.hpp"
#include "terroir/infer_request.hpp"
#include "terroir/model.hpp"
#include "terroir/node.hpp"
#include "terroir/properties.hpp"

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
  /// The graph as it is executed, for people. Throws Exception (not_implemented) if the device has none to show.
  std::shared_ptr<const Model> get_runtime_model() const;

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator!() const noexcept { return state_ == nullptr; }

 private:
  friend struct detail::RuntimeAccess;
  explicit CompiledModel(std::shared_ptr<detail::CompiledState> state) : state_(std::move(state)) {}
  detail::CompiledState& state() const;

  std::shared_ptr<detail::CompiledState> state_;
};

}  // namespace terroir
