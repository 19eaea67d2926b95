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
#include "runtime/parallel/float_control.hpp"
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

class RequestState;

class CompiledState {
 public:
  explicit CompiledState(std::shared_ptr<const plugin::CompiledGraph> compiled, bool from_cache = false);
  ~CompiledState() { skeleton_->objects.release(); }
  CompiledState(const CompiledState&) = delete;
  CompiledState& operator=(const CompiledState&) = delete;

  const plugin::CompiledGraph& compiled() const { return *compiled_; }
  /// Whether it came out of the folder of cache_dir.
  bool from_cache() const { return from_cache_; }
  /// How inferences compute.
  parallel::FloatControl float_control() const {
    using parallel::Denormals;
    return parallel::FloatControl(compiled_->config().flush_denormals ? Denormals::zero : Denormals::kept);
  }
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

  /// Where N is in the layout of an input. Throws Exception: invalid_argument without one, shape_mismatch.
  size_t batch_axis(size_t input, size_t rank) const;

  /// Requests that may still be there.
  void add_request(const std::shared_ptr<RequestState>& request);
  void release_memory();

  StreamPool& streams() { return streams_; }
  JobQueue& jobs() { return jobs_; }

 private:
  std::shared_ptr<const plugin::CompiledGraph> compiled_;
  bool from_cache_;
  std::shared_ptr<GraphState> skeleton_;
  StreamPool streams_;
  JobQueue jobs_;
  std::mutex mutex_;  // of requests_
  std::vector<std::weak_ptr<RequestState>> requests_;
};

/// One request. Public functions throw Busy while it runs, but for wait, wait_for and cancel.
class RequestState final : public Job, public std::enable_shared_from_this<RequestState> {
 public:
  explicit RequestState(std::shared_ptr<CompiledState> compiled);
  ~RequestState() override;
  /// For InferRequest, whose copies share it; abandon() when the last of them goes. Jobs and variables, which may stay
  /// longer, have the request itself.
  static std::shared_ptr<RequestState> owned_by_handles(std::shared_ptr<RequestState> request);

  const std::shared_ptr<CompiledState>& compiled() const { return compiled_; }
  void set_tensor(End end, const Tensor& tensor);
  void set_tensors(End end, const std::vector<Tensor>& tensors);
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
  /// Keeps the request from running while it is held; nothing is held if it runs.
  std::unique_lock<std::mutex> hold_idle();
  /// To be called while it is held.
  void release_memory();

 private:
  class Binder;
  struct Handles;
  struct Sync {
    std::mutex mutex;
    std::condition_variable ended;
  };
  Sync& sync() const {
    return sync_.get([] { return std::make_unique<Sync>(); });
  }
  // One start_async().
  struct Run {
    explicit Run(Job& job) : queued(&job) {}
    /// In a child of fork(): a thread of the parent runs it, or will, and none here.
    bool is_of_the_parent() const { return !done && forks != parallel::forks(); }
    std::atomic<Job*> queued;  // nobody has begun it
    const uint32_t forks = parallel::forks();
    bool done = false;
    std::exception_ptr error;
    std::atomic<std::thread::id> callback_thread{};  // in which the callback is running
  };
  class Waiter;
  using Callback = std::function<void(std::exception_ptr)>;

  struct Memory {
    const void* data;
    size_t bytes;
  };

  // An input that was given image by image.
  struct Batch {
    std::vector<Tensor> images;
    Tensor gathered;
    std::vector<Tensor> parts;  // of `gathered`, one per image
  };

  void begin(std::shared_ptr<Run> started);  // idle -> running, or Busy
  void abandon() noexcept;                   // nobody will look at results: no callback, no memory of the user's
  /// Whether a tensor of this shape is one of the declared ones.
  static bool allows(const PartialShape& declared, const Shape& shape);
  void check_fits(End end, const Tensor& tensor) const;
  void check_idle() const;  // with the mutex held
  void run();
  void run_on_stream();
  void prepare_input(size_t index);
  std::string describe(End end) const;

  std::shared_ptr<CompiledState> compiled_;
  std::unique_ptr<plugin::RequestState> device_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<Batch> batches_;  // by input; without images: inputs_ counts
  // Of inputs and outputs that cannot be used in place: dense copies. Empty handles elsewhere.
  std::vector<Tensor> staged_inputs_;
  std::vector<Tensor> staged_outputs_;
  std::vector<bool> staged_;           // outputs of this run that are to be copied back
  std::vector<Memory> bound_;          // of the other ones, so far
  std::vector<ir::TensorView> views_;  // of the inputs of this run
  std::vector<size_t> view_bytes_;

  mutable parallel::OfProcess<Sync> sync_;  // its mutex is of all below
  std::vector<Tensor> told_variables_;      // get_state().data() is what programs write, and then the tensor is gone
  bool running_ = false;
  bool abandoned_ = false;  // no handle is there
  std::shared_ptr<Run> last_run_;
  std::shared_ptr<RequestState> self_;  // while it is to run as a job
  std::shared_ptr<const Callback> callback_;
  std::atomic<bool> cancelled_{false};  // written under the mutex, read by the device
};

struct RuntimeAccess {
  static CompiledModel make(std::shared_ptr<CompiledState> state) { return CompiledModel(std::move(state)); }
  static InferRequest make(std::shared_ptr<RequestState> state) { return InferRequest(std::move(state)); }
  /// What models of this Core may have, extensions included.
  static std::shared_ptr<const ir::OpRegistry> operations(const Core& core);
};

}  // namespace terroir::detail
