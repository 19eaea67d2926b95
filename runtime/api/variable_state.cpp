#include "terroir/variable_state.hpp"

#include "ir/base/error.hpp"
#include "runtime/api/compiled_state.hpp"

namespace terroir {

detail::RequestState& VariableState::request() const {
  if (request_ == nullptr) throw_error(ErrorCode::invalid_argument, "the variable state is empty");
  return *request_;
}

std::string VariableState::get_name() const { return request().variables().at(index_).name; }
Tensor VariableState::get_state() const { return request().get_variable(index_); }
void VariableState::set_state(const Tensor& state) { request().set_variable(index_, state); }
void VariableState::reset() { request().reset_variable(index_); }

std::vector<VariableState> InferRequest::query_state() {
  std::vector<VariableState> states;
  const auto request = state().shared_from_this();
  for (size_t i = 0; i < request->variables().size(); ++i) states.push_back(VariableState(request, i));
  return states;
}

void InferRequest::reset_state() {
  for (size_t i = 0; i < state().variables().size(); ++i) state().reset_variable(i);
}

}  // namespace terroir
