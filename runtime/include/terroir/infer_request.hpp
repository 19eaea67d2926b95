// One inference at a time of a compiled model: its inputs, its outputs, its run.
// What: a handle; copies are the same request. As many requests of a compiled model run at once as it has streams.
// End: the last copy that goes removes the callback and waits for the run that start_async() began, unless it goes in
//      that callback or in one which that callback waits for. No tensor is in use then. cancel() makes it short.
// Threads: one request is used by one thread at a time, but wait(), wait_for() and cancel() may be called from any.
//          While it runs, functions that read or change it throw Busy.
// Copies: tensors are used in place: set_input_tensor() and set_output_tensor() cost nothing but a check, if the tensor
//         is continuous. Views with gaps are copied on each run, and outputs in the memory of another one.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "terroir/exception.hpp"
#include "terroir/export.hpp"
#include "terroir/node.hpp"
#include "terroir/profiling_info.hpp"
#include "terroir/tensor.hpp"
#include "terroir/variable_state.hpp"

namespace terroir {

class CompiledModel;
namespace detail {
class RequestState;
struct RuntimeAccess;
}  // namespace detail

class TERROIR_API InferRequest {
 public:
  /// An empty handle: every function throws Exception (invalid_argument).
  InferRequest() = default;

  /// Use this tensor for an input or output, found by tensor name (or layer name) or by a port of the compiled model or
  /// of the model it was made from. Throws Exception: not_found for an unknown name or port (the text lists the known
  /// ones), type_mismatch, shape_mismatch, Busy. Of outputs that share memory, one is there after a run.
  void set_tensor(const std::string& name, const Tensor& tensor);
  void set_tensor(const Output<const Node>& port, const Tensor& tensor);
  void set_tensor(const Output<Node>& port, const Tensor& tensor);
  /// By position, else the same; without it: the only input or output, else Exception (invalid_argument).
  void set_input_tensor(size_t index, const Tensor& tensor);
  void set_input_tensor(const Tensor& tensor);
  void set_output_tensor(size_t index, const Tensor& tensor);
  void set_output_tensor(const Tensor& tensor);

  /// The images of a batch as one tensor each, each of extent 1 where the layout of the input has N; they are gathered
  /// at the start of each run. One tensor alone is set as by set_tensor(). Throws Exception: not_found; Busy;
  /// invalid_argument for an output, for no tensors, or without a layout that has N (layout::set_layout() before
  /// compiling); type_mismatch and shape_mismatch for tensors or a number of them that do not fit.
  void set_tensors(const std::string& name, const std::vector<Tensor>& tensors);
  void set_tensors(const Output<const Node>& port, const std::vector<Tensor>& tensors);
  void set_input_tensors(size_t index, const std::vector<Tensor>& tensors);
  void set_input_tensors(const std::vector<Tensor>& tensors);

  /// The tensor of an input or output: the one that was set, or one of the request's own, which it makes on first use.
  /// Extents that are not known yet start as 0; for an input, call Tensor::set_shape(). Throws Exception
  /// (invalid_argument) for an input that was given as several tensors.
  Tensor get_tensor(const std::string& name);
  Tensor get_tensor(const Output<const Node>& port);
  Tensor get_tensor(const Output<Node>& port);
  Tensor get_input_tensor(size_t index);
  Tensor get_input_tensor();
  Tensor get_output_tensor(size_t index);
  Tensor get_output_tensor();

  /// Runs in the calling thread, after waiting for a free stream. Throws what went wrong.
  void infer();
  /// Runs in a thread of the compiled model; returns at once. Throws Busy; Exception if no thread can be started.
  void start_async();
  /// Waits for the end of the last start_async() and its callback. Throws what went wrong there, each time it is
  /// called; Cancelled after cancel(). Returns at once without a start_async(), and in that callback; so does, of
  /// callbacks that wait for each other, the last one: the inference that it waits for has ended.
  void wait();
  /// The same, at most `timeout`; whether it has ended.
  bool wait_for(const std::chrono::milliseconds& timeout);
  /// Called in a thread of the compiled model at the end of every start_async(), with null or what went wrong. The
  /// request is idle then, so it may be read and started again. An exception that leaves it is thrown by wait(). An
  /// empty function removes it.
  void set_callback(std::function<void(std::exception_ptr)> callback);
  /// Asks a running inference to stop before its next layer. No effect if none runs.
  void cancel();

  /// What each layer of the last inference cost. Throws Exception (invalid_argument) unless the model was compiled with
  /// enable_profiling(true).
  std::vector<ProfilingInfo> get_profiling_info() const;
  CompiledModel get_compiled_model() const;

  /// The variables of a model with state, in the order in which its layers use them; none otherwise.
  std::vector<VariableState> query_state();
  /// Every variable begins the next inference with its initial value.
  void reset_state();

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator!() const noexcept { return state_ == nullptr; }
  bool operator==(const InferRequest& other) const noexcept { return state_ == other.state_; }
  bool operator!=(const InferRequest& other) const noexcept { return state_ != other.state_; }

 private:
  friend struct detail::RuntimeAccess;
  explicit InferRequest(std::shared_ptr<detail::RequestState> state) : state_(std::move(state)) {}
  detail::RequestState& state() const;

  std::shared_ptr<detail::RequestState> state_;
};

}  // namespace terroir
