// OpenVINO's names for memory of accelerators, so that programs which can do without one compile.
//
// What: no device of this library has memory of its own, so there is never a context or a tensor of these classes:
//       whatever asks for one, or is called on an empty one, throws Exception (unsupported) that says so.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/export.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

namespace detail {
/// Throws Exception (unsupported): `what` needs a device with memory of its own.
[[noreturn]] TERROIR_API void throw_no_remote_memory(const char* what);
}  // namespace detail

/// A tensor in the memory of a device.
class RemoteTensor : public Tensor {
 public:
  RemoteTensor() = default;
  /// No tensor is one: `tensor.is<RemoteTensor>()` is false, `as` throws.
  static void type_check(const Tensor&, const std::map<std::string, std::vector<std::string>>& = {}) {
    detail::throw_no_remote_memory("a remote tensor");
  }
  void* data(const element::Type&) = delete;
  template <typename T>
  T* data() = delete;
  void copy_to(Tensor&) const { detail::throw_no_remote_memory("RemoteTensor::copy_to()"); }
  void copy_from(const Tensor&) { detail::throw_no_remote_memory("RemoteTensor::copy_from()"); }
  AnyMap get_params() const { detail::throw_no_remote_memory("RemoteTensor::get_params()"); }
  std::string get_device_name() const { detail::throw_no_remote_memory("RemoteTensor::get_device_name()"); }
};

/// Where tensors and models of a device live.
class RemoteContext {
 public:
  RemoteContext() = default;
  static void type_check(const RemoteContext&, const std::map<std::string, std::vector<std::string>>& = {}) {
    detail::throw_no_remote_memory("a remote context");
  }
  template <typename T>
  std::enable_if_t<std::is_base_of_v<RemoteContext, T>, bool> is() const noexcept {
    return false;
  }
  template <typename T>
  std::enable_if_t<std::is_base_of_v<RemoteContext, T>, T> as() const {
    T::type_check(*this);
    return *static_cast<const T*>(this);
  }
  std::string get_device_name() const { detail::throw_no_remote_memory("RemoteContext::get_device_name()"); }
  RemoteTensor create_tensor(const element::Type&, const Shape&, const AnyMap& = {}) {
    detail::throw_no_remote_memory("RemoteContext::create_tensor()");
  }
  Tensor create_host_tensor(const element::Type&, const Shape&) {
    detail::throw_no_remote_memory("RemoteContext::create_host_tensor()");
  }
  AnyMap get_params() const { detail::throw_no_remote_memory("RemoteContext::get_params()"); }
  explicit operator bool() const noexcept { return false; }
};

}  // namespace terroir
