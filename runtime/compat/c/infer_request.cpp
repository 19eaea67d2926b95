// Inferences of the C API.
#include <chrono>

#include "runtime/compat/c/objects.hpp"

using namespace terroir::c;

namespace {

ov_status_e hand_out(const ov_infer_request_t* request, ov_tensor_t** tensor, const auto& get) {
  // Getting a tensor may make it, so the request is not const in C++.
  return guarded([&] { *tensor = new ov_tensor{get(const_cast<ov_infer_request_t*>(request)->object)}; }, request,
                 tensor);
}

}  // namespace

ov_status_e ov_infer_request_set_tensor(ov_infer_request_t* request, const char* name, const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_tensor(std::string(name), tensor->object); }, request, name, tensor);
}
ov_status_e ov_infer_request_set_tensor_by_port(ov_infer_request_t* request, const ov_output_port_t* port,
                                                const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_tensor(port->object, tensor->object); }, request, port, tensor);
}
ov_status_e ov_infer_request_set_tensor_by_const_port(ov_infer_request_t* request, const ov_output_const_port_t* port,
                                                      const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_tensor(port->object, tensor->object); }, request, port, tensor);
}
ov_status_e ov_infer_request_set_input_tensor_by_index(ov_infer_request_t* request, const size_t idx,
                                                       const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_input_tensor(idx, tensor->object); }, request, tensor);
}
ov_status_e ov_infer_request_set_input_tensor(ov_infer_request_t* request, const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_input_tensor(tensor->object); }, request, tensor);
}
ov_status_e ov_infer_request_set_output_tensor_by_index(ov_infer_request_t* request, const size_t idx,
                                                        const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_output_tensor(idx, tensor->object); }, request, tensor);
}
ov_status_e ov_infer_request_set_output_tensor(ov_infer_request_t* request, const ov_tensor_t* tensor) {
  return guarded([&] { request->object.set_output_tensor(tensor->object); }, request, tensor);
}

ov_status_e ov_infer_request_get_tensor(const ov_infer_request_t* request, const char* name, ov_tensor_t** tensor) {
  if (name == nullptr) return null_argument();
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_tensor(std::string(name)); });
}
ov_status_e ov_infer_request_get_tensor_by_const_port(const ov_infer_request_t* request,
                                                      const ov_output_const_port_t* port, ov_tensor_t** tensor) {
  if (port == nullptr) return null_argument();
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_tensor(port->object); });
}
ov_status_e ov_infer_request_get_tensor_by_port(const ov_infer_request_t* request, const ov_output_port_t* port,
                                                ov_tensor_t** tensor) {
  if (port == nullptr) return null_argument();
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_tensor(port->object); });
}
ov_status_e ov_infer_request_get_input_tensor_by_index(const ov_infer_request_t* request, const size_t idx,
                                                       ov_tensor_t** tensor) {
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_input_tensor(idx); });
}
ov_status_e ov_infer_request_get_input_tensor(const ov_infer_request_t* request, ov_tensor_t** tensor) {
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_input_tensor(); });
}
ov_status_e ov_infer_request_get_output_tensor_by_index(const ov_infer_request_t* request, const size_t idx,
                                                        ov_tensor_t** tensor) {
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_output_tensor(idx); });
}
ov_status_e ov_infer_request_get_output_tensor(const ov_infer_request_t* request, ov_tensor_t** tensor) {
  return hand_out(request, tensor, [&](terroir::InferRequest& r) { return r.get_output_tensor(); });
}

ov_status_e ov_infer_request_infer(ov_infer_request_t* request) {
  return guarded([&] { request->object.infer(); }, request);
}
ov_status_e ov_infer_request_cancel(ov_infer_request_t* request) {
  return guarded([&] { request->object.cancel(); }, request);
}
ov_status_e ov_infer_request_start_async(ov_infer_request_t* request) {
  return guarded([&] { request->object.start_async(); }, request);
}
ov_status_e ov_infer_request_wait(ov_infer_request_t* request) {
  return guarded([&] { request->object.wait(); }, request);
}
ov_status_e ov_infer_request_wait_for(ov_infer_request_t* request, const int64_t timeout) {
  return guarded([&] { request->object.wait_for(std::chrono::milliseconds(timeout)); }, request);
}
ov_status_e ov_infer_request_set_callback(ov_infer_request_t* request, const ov_callback_t* callback) {
  return guarded(
      [&] {
        const ov_callback_t call = *callback;
        if (call.callback_func == nullptr) {
          request->object.set_callback({});
        } else {
          request->object.set_callback([call](std::exception_ptr) { call.callback_func(call.args); });
        }
      },
      request, callback);
}
void ov_infer_request_free(ov_infer_request_t* request) { delete request; }

ov_status_e ov_infer_request_get_profiling_info(const ov_infer_request_t* request, ov_profiling_info_list_t* list) {
  return guarded(
      [&] {
        const std::vector<terroir::ProfilingInfo> infos = request->object.get_profiling_info();
        *list = {new_array<ov_profiling_info_t>(infos.size()), infos.size()};
        for (size_t i = 0; i < infos.size(); ++i) {
          ov_profiling_info_t& to = list->profiling_infos[i];
          // The enumerators have the same order.
          to.status = static_cast<decltype(to.status)>(infos[i].status);
          to.real_time = infos[i].real_time.count();
          to.cpu_time = infos[i].cpu_time.count();
          to.node_name = copy_text(infos[i].node_name);
          to.exec_type = copy_text(infos[i].exec_type);
          to.node_type = copy_text(infos[i].node_type);
        }
      },
      request, list);
}
void ov_profiling_info_list_free(ov_profiling_info_list_t* list) {
  if (list == nullptr) return;
  for (size_t i = 0; i < list->size; ++i) {
    ov_free(list->profiling_infos[i].node_name);
    ov_free(list->profiling_infos[i].exec_type);
    ov_free(list->profiling_infos[i].node_type);
  }
  std::free(list->profiling_infos);
  *list = {nullptr, 0};
}
