// The OpenVINO header of this name: contexts and tensors of an NPU. None can be had: see terroir/remote_context.hpp.
#pragma once

#include "openvino/core/namespace.hpp"
#include "openvino/runtime/core.hpp"
#include "openvino/runtime/intel_npu/remote_properties.hpp"
#include "openvino/runtime/remote_context.hpp"
#include "openvino/runtime/remote_tensor.hpp"

namespace terroir::intel_npu::level_zero {

class ZeroBufferTensor : public RemoteTensor {
 public:
  void* get() { detail::throw_no_remote_memory("ZeroBufferTensor::get()"); }
};

class ZeroContext : public RemoteContext {
 protected:
  ZeroContext() = default;

 public:
  using RemoteContext::create_tensor;

  explicit ZeroContext(Core& core) { static_cast<void>(core.get_default_context("NPU")); }
  void* get() { detail::throw_no_remote_memory("ZeroContext::get()"); }
  ZeroBufferTensor create_tensor(const element::Type&, const Shape&, void*) { none(); }
  ZeroBufferTensor create_tensor(const element::Type&, const Shape&, int) { none(); }
  ZeroBufferTensor create_l0_host_tensor(const element::Type&, const Shape&, TensorType = TensorType::BINDED) {
    none();
  }

 private:
  [[noreturn]] static void none() { detail::throw_no_remote_memory("a tensor of an NPU"); }
};

}  // namespace terroir::intel_npu::level_zero
