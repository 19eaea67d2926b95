// A variable of a model with state, as one request holds it.
//
// What: ReadValue layers read it, Assign layers set it for the next inference. Each request has its own.
// Threads: as InferRequest: not while the request runs (Busy).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "terroir/export.hpp"
#include "terroir/tensor.hpp"

namespace terroir {

namespace detail {
class RequestState;
}  // namespace detail

class InferRequest;

class TERROIR_API VariableState {
 public:
  /// An empty handle: every function throws Exception (invalid_argument).
  VariableState() = default;

  /// The variable_id of the layers.
  std::string get_name() const;
  /// A copy of the value that the next inference will read; zeros while that is the initial value, which is computed
  /// when the inference begins. Pointers into it hold until the variable is asked for again, whether or not the tensor
  /// is kept.
  Tensor get_state() const;
  /// Exception: type_mismatch, shape_mismatch.
  void set_state(const Tensor& state);
  /// The next inference begins with the initial value.
  void reset();

 private:
  friend class InferRequest;
  VariableState(std::shared_ptr<detail::RequestState> request, size_t index)
      : request_(std::move(request)), index_(index) {}
  detail::RequestState& request() const;

  std::shared_ptr<detail::RequestState> request_;
  size_t index_ = 0;
};

}  // namespace terroir
