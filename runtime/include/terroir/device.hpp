// A device of your own in C++: three classes, in a shared library or in the program itself.
//
//   #include <terroir/device.hpp>
//   using namespace terroir::extension;
//
//   struct Request : DeviceRequest { void infer(const DeviceRun& run) override { ... } };
//   struct Compiled : DeviceModel { std::unique_ptr<DeviceRequest> create_request() override { ... } };
//   struct MyDevice : Device {
//     static constexpr const char* name = "MINE";               // compile_model(model, "MINE")
//     static constexpr const char* full_name = "my processor";
//     std::vector<std::string> supported_layers(const ModelText& model) const { ... }
//     std::unique_ptr<DeviceModel> compile(const ModelText& model, const Properties& properties) const { ... }
//   };
//   TERROIR_EXTENSION("my device", MyDevice)
//
// What: header-only, over terroir/device_abi.h, which says what reaches a device. As with layers, the library works
// with
//       the version of Terroir it was built for and later ones, and links with nothing of Terroir's unless it wants to.
// Errors: throw anything derived from std::exception; the user reads its text with the names of device and library.
// Threads: a Device and a DeviceModel may be used by several threads at once, a DeviceRequest by one.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "terroir/device_abi.h"
#include "terroir/extension.hpp"

namespace terroir {
namespace extension {

/// A model as files of IR version 11 would have it. The memory is the caller's: copy what is needed afterwards.
struct ModelText {
  std::string_view xml;
  const void* weights = nullptr;  ///< aligned to 64 bytes
  size_t weight_bytes = 0;
};

/// Keys and values as texts: {"NUM_STREAMS", "2"}.
using Properties = std::map<std::string, std::string>;

/// One inference.
class DeviceRun {
 public:
  DeviceRun(const terroir_host& host, terroir_run* run, int32_t input_count, const terroir_tensor* inputs)
      : host_(host), run_(run), input_count_(input_count), inputs_(inputs) {}

  int32_t input_count() const { return input_count_; }
  Tensor input(int32_t index) const { return Tensor(inputs_[index]); }
  /// Where to write an output of these extents; to be asked for each output once. `type`: if the model leaves it open.
  /// Throws if the host has no place for it; let the exception pass.
  void* output(int32_t index, const std::vector<int64_t>& dims, terroir_element type = TERROIR_DYNAMIC) const {
    void* memory = host_.bind_output(run_, index, type, static_cast<int32_t>(dims.size()), dims.data());
    if (memory == nullptr) throw std::runtime_error("output " + std::to_string(index) + " cannot be bound");
    return memory;
  }
  /// Whether the user no longer waits: what the outputs hold then does not matter.
  bool cancelled() const { return host_.cancelled(run_) != 0; }
  /// body(0) ... body(tasks - 1), each once, on the threads of this inference; body must not throw.
  template <typename Body>
  void parallel_for(int64_t tasks, Body&& body) const {
    host_.parallel_for(
        run_, tasks,
        [](void* argument, int64_t task) { (*static_cast<std::remove_reference_t<Body>*>(argument))(task); }, &body);
  }

 private:
  const terroir_host& host_;
  terroir_run* run_;
  int32_t input_count_;
  const terroir_tensor* inputs_;
};

class DeviceRequest {
 public:
  virtual ~DeviceRequest() = default;
  virtual void infer(const DeviceRun& run) = 0;
};

class DeviceModel {
 public:
  virtual ~DeviceModel() = default;
  /// The model outlives its requests.
  virtual std::unique_ptr<DeviceRequest> create_request() = 0;
};

/// Base of devices, which are default-constructed once.
struct Device {
  static constexpr const char* capabilities = "FP32";  ///< "FP32|INT8"

  template <typename D>
  static const terroir_device* described();
};

namespace detail {

inline ModelText text_of(const terroir_model_text& model) {
  return {std::string_view(model.xml, model.xml_bytes), model.weights, static_cast<size_t>(model.weight_bytes)};
}

/// What a function has to return.
template <typename T>
T* not_null(const char* function, std::unique_ptr<T> object) {
  if (object == nullptr) throw std::logic_error(std::string(function) + " returns a null pointer");
  return object.release();
}

}  // namespace detail

template <typename D>
const terroir_device* Device::described() {
  static const D& device = *new D;  // lives as long as the process
  static const terroir_device descriptor = [] {
    terroir_device d{};
    d.struct_size = sizeof d;
    d.abi_version = TERROIR_ABI_VERSION;
    d.name = D::name;
    d.full_name = D::full_name;
    d.capabilities = D::capabilities;
    d.query = [](void*, const terroir_host* host, const terroir_model_text* model, terroir_layer_names* names,
                 terroir_error* error) {
      return detail::guarded(*host, error, [&] {
        for (const std::string& layer : device.supported_layers(detail::text_of(*model)))
          host->add_supported_layer(names, layer.c_str());
      });
    };
    d.compile = [](void*, const terroir_host* host, const terroir_model_text* model, uint32_t count,
                   const terroir_property* properties, void** compiled, terroir_error* error) {
      return detail::guarded(*host, error, [&] {
        Properties all;
        for (uint32_t i = 0; i < count; ++i) all.emplace(properties[i].key, properties[i].value);
        *compiled = detail::not_null<DeviceModel>("compile()", device.compile(detail::text_of(*model), all));
      });
    };
    d.release = [](void*, void* compiled) { delete static_cast<DeviceModel*>(compiled); };
    d.create_request = [](void*, const terroir_host* host, void* compiled, void** request, terroir_error* error) {
      return detail::guarded(*host, error, [&] {
        *request =
            detail::not_null<DeviceRequest>("create_request()", static_cast<DeviceModel*>(compiled)->create_request());
      });
    };
    d.release_request = [](void*, void* request) { delete static_cast<DeviceRequest*>(request); };
    d.infer = [](void*, const terroir_host* host, void* request, terroir_run* run, int32_t input_count,
                 const terroir_tensor* inputs, terroir_error* error) {
      return detail::guarded(*host, error, [&] {
        static_cast<DeviceRequest*>(request)->infer(DeviceRun(*host, run, input_count, inputs));
      });
    };
    return d;
  }();
  return &descriptor;
}

}  // namespace extension
}  // namespace terroir
