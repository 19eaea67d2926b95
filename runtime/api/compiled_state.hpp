// What CompiledModel and InferRequest handles point to.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/schema/registry.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/api/streams.hpp"
#include "runtime/api/tensor_state.hpp"
#include "runtime/plugin/plugin.hpp"
#include "terroir/compiled_model.hpp"
#include "terroir/infer_request.hpp"

namespace terroir {
class Core;
}

namespace terroir::detail {

/// One input or output of a compiled model.
struct End {
  bool input;
  size_t index;
};

class CompiledState {
 public:
  explicit CompiledState(std::shared_ptr<const plugin::CompiledGraph> compiled);

  const plugin::CompiledGraph& compiled() const { return *compiled_; }
  /// A graph of nothing but Parameters and Results: what the ports of the compiled model point into.
  const std::shared_ptr<GraphState>& skeleton() const { return skeleton_; }
  const plugin::PortInfo& port(End end) const {
    return end.input ? compiled_->inputs()[end.index] : compiled_->outputs()[end.index];
  }
  size_t count(bool inputs) const { return inputs ? compiled_->inputs().size() : compiled_->outputs().size(); }

  /// By tensor or layer name, inputs first. Throws Exception (not_found) that lists the known names.
  End find(const std::string& name) const;
  /// By a port of the compiled model or of the model it was made from. Throws Exception (not_found).
  End find(const Output<const Node>& port) const;

  StreamPool& streams() { return streams_; }
  Executor& executor() { return executor_; }

 private:
  std::shared_ptr<const plugin::CompiledGraph> compiled_;
  std::shared_ptr<GraphState> skeleton_;
  StreamPool streams_;
  Executor executor_;
};

/// One request. Public functions throw Busy while it runs, but for wait, wait_for and cancel.
class RequestState final : public Job, public std::enable_shared_from_this<RequestState> {
 public:
  explicit RequestState(std::shared_ptr<CompiledState> compiled);
  ~RequestState() override;

  const std::shared_ptr<CompiledState>& compiled() const { return compiled_; }
  void set_tensor(End end, const Tensor& tensor);
  Tensor get_tensor(End end);
  void infer();
  void start_async();
  void wait();
  bool wait_for(std::chrono::milliseconds timeout);
  void set_callback(std::function<void(std::exception_ptr)> callback);
  void cancel();
  std::vector<ProfilingInfo> profiling() const;
  const std::vector<plugin::VariableInfo>& variables() const { return device_->variables(); }
  Tensor get_variable(size_t index);
  void set_variable(size_t index, const Tensor& value);
  void reset_variable(size_t index);
  void run_queued() override;

 private:
  class Binder;
  // One start_async().
  struct Run {
    bool done = false;
    std::exception_ptr error;
    std::thread::id callback_thread;  // in which the callback is running
  };
  using Callback = std::function<void(std::exception_ptr)>;

  void begin(std::shared_ptr<Run> started);  // idle -> running, or Busy
  void check_idle() const;                   // with mutex_ held
  void run();
  void prepare_input(size_t index);
  std::string describe(End end) const;

  std::shared_ptr<CompiledState> compiled_;
  std::unique_ptr<plugin::RequestState> device_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  // Of inputs and outputs that cannot be used in place: dense copies. Empty handles elsewhere.
  std::vector<Tensor> staged_inputs_;
  std::vector<Tensor> staged_outputs_;
  std::vector<bool> staged_;           // outputs of this run that are to be copied back
  std::vector<ir::TensorView> views_;  // of the inputs of this run
  std::vector<size_t> view_bytes_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable ended_;
  bool running_ = false;
  std::shared_ptr<Run> last_run_;
  std::shared_ptr<const Callback> callback_;
  std::atomic<bool> cancelled_{false};  // written under mutex_, read by the device
};

struct RuntimeAccess {
  static CompiledModel make(std::shared_ptr<CompiledState> state) { return CompiledModel(std::move(state)); }
  static InferRequest make(std::shared_ptr<RequestState> state) { return InferRequest(std::move(state)); }
  /// What models of this Core may have, extensions included.
  static std::shared_ptr<const ir::OpRegistry> operations(const Core& core);
};

}  // namespace terroir::detail
