#include "terroir/infer_request.hpp"

#include "ir/base/error.hpp"
#include "runtime/api/compiled_state.hpp"

namespace terroir {

namespace {

detail::End at(const detail::RequestState& request, bool input, size_t index) {
  detail::check_index(*request.compiled()->skeleton()->graph, input, index, "the compiled model");
  return {input, index};
}

detail::End only(const detail::RequestState& request, bool input) {
  detail::check_single(*request.compiled()->skeleton()->graph, input, "the compiled model");
  return {input, 0};
}

}  // namespace

detail::RequestState& InferRequest::state() const {
  if (state_ == nullptr) throw_error(ErrorCode::invalid_argument, "the infer request is empty");
  return *state_;
}

void InferRequest::set_tensor(const std::string& name, const Tensor& tensor) {
  state().set_tensor(state().compiled()->find(name), tensor);
}
void InferRequest::set_tensor(const Output<const Node>& port, const Tensor& tensor) {
  state().set_tensor(state().compiled()->find(port), tensor);
}
void InferRequest::set_tensor(const Output<Node>& port, const Tensor& tensor) {
  set_tensor(Output<const Node>(port), tensor);
}
void InferRequest::set_input_tensor(size_t index, const Tensor& tensor) {
  state().set_tensor(at(state(), true, index), tensor);
}
void InferRequest::set_input_tensor(const Tensor& tensor) { state().set_tensor(only(state(), true), tensor); }
void InferRequest::set_output_tensor(size_t index, const Tensor& tensor) {
  state().set_tensor(at(state(), false, index), tensor);
}
void InferRequest::set_output_tensor(const Tensor& tensor) { state().set_tensor(only(state(), false), tensor); }

void InferRequest::set_tensors(const std::string& name, const std::vector<Tensor>& tensors) {
  state().set_tensors(state().compiled()->find(name), tensors);
}
void InferRequest::set_tensors(const Output<const Node>& port, const std::vector<Tensor>& tensors) {
  state().set_tensors(state().compiled()->find(port), tensors);
}
void InferRequest::set_input_tensors(size_t index, const std::vector<Tensor>& tensors) {
  state().set_tensors(at(state(), true, index), tensors);
}
void InferRequest::set_input_tensors(const std::vector<Tensor>& tensors) {
  state().set_tensors(only(state(), true), tensors);
}

Tensor InferRequest::get_tensor(const std::string& name) { return state().get_tensor(state().compiled()->find(name)); }
Tensor InferRequest::get_tensor(const Output<const Node>& port) {
  return state().get_tensor(state().compiled()->find(port));
}
Tensor InferRequest::get_tensor(const Output<Node>& port) { return get_tensor(Output<const Node>(port)); }
Tensor InferRequest::get_input_tensor(size_t index) { return state().get_tensor(at(state(), true, index)); }
Tensor InferRequest::get_input_tensor() { return state().get_tensor(only(state(), true)); }
Tensor InferRequest::get_output_tensor(size_t index) { return state().get_tensor(at(state(), false, index)); }
Tensor InferRequest::get_output_tensor() { return state().get_tensor(only(state(), false)); }

void InferRequest::infer() { state().infer(); }
void InferRequest::start_async() { state().start_async(); }
void InferRequest::wait() { state().wait(); }
bool InferRequest::wait_for(const std::chrono::milliseconds& timeout) { return state().wait_for(timeout); }
void InferRequest::set_callback(std::function<void(std::exception_ptr)> callback) {
  state().set_callback(std::move(callback));
}
void InferRequest::cancel() { state().cancel(); }
std::vector<ProfilingInfo> InferRequest::get_profiling_info() const { return state().profiling(); }
CompiledModel InferRequest::get_compiled_model() const { return detail::RuntimeAccess::make(state().compiled()); }

}  // namespace terroir
