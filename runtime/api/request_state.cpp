#include <algorithm>
#include <utility>

#include "ir/base/error.hpp"
#include "ir/base/short_memory.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/api/graph_state.hpp"

namespace terroir::detail {

namespace {

constexpr const char* kOfTheParent =
    "the inference was started before fork(), and runs in the process that started it; make another request here";
constexpr const char* kBusy = "the infer request is running; wait() for it first";

bool same(const Shape& shape, const ir::Dims& dims) {
  return shape.size() == dims.size() && std::equal(shape.begin(), shape.end(), dims.begin(),
                                                   [](size_t a, int64_t b) { return a == static_cast<size_t>(b); });
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && first < second + b_bytes && second < first + a_bytes;
}

// Gives `tensor` this type and shape; keeps its memory if it can.
void fit(Tensor& tensor, element::Type type, const ir::Dims& dims) {
  if (!tensor || tensor.get_element_type() != type) {
    tensor = Tensor(type, ir::to_shape(dims));
  } else if (!same(tensor.get_shape(), dims)) {
    tensor.set_shape(ir::to_shape(dims));
  }
}

}  // namespace

// Hands out the memory of the outputs during one run.
class RequestState::Binder final : public plugin::OutputBinder {
 public:
  explicit Binder(RequestState& request) : request_(request) { request_.bound_.clear(); }

  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    Tensor& tensor = request_.outputs_.at(index);
    const auto where = [&] { return request_.describe({false, index}); };
    with_context(where, [&] {
      if (tensor && tensor.get_element_type() != type) {
        throw_error(ErrorCode::type_mismatch, "the tensor that was set is of type ", tensor.get_element_type(),
                    ", the result of type ", type);
      }
      // One that is in use gets its shape after the run: until then what is read must stay where it is.
      if (!is_in_use(tensor)) fit(tensor, type, dims);
    });
    const TensorState& state = TensorAccess::state(tensor);
    if (state.dense && !is_in_use(tensor)) {
      request_.bound_.push_back({state.data, tensor.get_byte_size()});
      return state.data;
    }
    fit(request_.staged_outputs_[index], type, dims);
    request_.staged_[index] = true;
    return request_.staged_outputs_[index].data();
  }

 private:
  // An input, or an output that has been bound: what is computed from that reads it where it is.
  bool is_in_use(const Tensor& tensor) const {
    if (!tensor) return false;
    const void* data = TensorAccess::state(tensor).data;
    const size_t bytes = tensor.get_byte_size();
    for (size_t i = 0; i < request_.views_.size(); ++i) {
      if (overlap(data, bytes, request_.views_[i].data, request_.view_bytes_[i])) return true;
    }
    return std::any_of(request_.bound_.begin(), request_.bound_.end(),
                       [&](const Memory& other) { return overlap(data, bytes, other.data, other.bytes); });
  }

  RequestState& request_;
};

RequestState::RequestState(std::shared_ptr<CompiledState> compiled)
    : compiled_(std::move(compiled)),
      device_(compiled_->compiled().create_request()),
      inputs_(compiled_->count(true)),
      outputs_(compiled_->count(false)),
      batches_(inputs_.size()),
      staged_inputs_(inputs_.size()),
      staged_outputs_(outputs_.size()),
      staged_(outputs_.size()),
      views_(inputs_.size()),
      view_bytes_(inputs_.size()) {
  for (size_t i = 0; i < views_.size(); ++i) {
    views_[i].type = compiled_->port({true, i}).type;
    views_[i].dims = {-1};  // no tensor is like that: the first one is checked, scalars too
  }
  bound_.reserve(outputs_.size());
  sync();  // an inference allocates nothing
}

RequestState::~RequestState() = default;

struct RequestState::Handles {
  explicit Handles(std::shared_ptr<RequestState> of) : request(std::move(of)) {}
  ~Handles() { request->abandon(); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  const std::shared_ptr<RequestState> request;
};

std::shared_ptr<RequestState> RequestState::owned_by_handles(std::shared_ptr<RequestState> request) {
  RequestState* const pointer = request.get();
  return {std::make_shared<Handles>(std::move(request)), pointer};
}

// A thread that waits for the end of a run. Callbacks of different requests may wait for each other, or drop each
// other's last handles: whoever would wait for a callback that waits for the one it is in need not wait, for that
// inference has ended.
class RequestState::Waiter {
 public:
  explicit Waiter(const Run& run) : run_(run) {
    const std::lock_guard lock(all_.mutex);
    waits_for_itself_ = ends_after_this_callback();
    next_ = all_.first;
    all_.first = this;
  }
  ~Waiter() {
    const std::lock_guard lock(all_.mutex);
    Waiter** at = &all_.first;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  bool waits_for_itself() const { return waits_for_itself_; }

 private:
  bool ends_after_this_callback() const {
    const Run* run = &run_;
    // A circle of others, whose last one is about to leave it.
    for (int longest_chain = 100; run != nullptr && longest_chain > 0; --longest_chain) {
      const std::thread::id in = run->callback_thread;
      if (in == thread_) return true;
      const Waiter* waiter = all_.first;  // the newest of its thread is what it waits for
      while (waiter != nullptr && waiter->thread_ != in) waiter = waiter->next_;
      run = waiter != nullptr ? &waiter->run_ : nullptr;
    }
    return false;
  }

  struct Waiters {
    std::mutex mutex;
    Waiter* first = nullptr;
  };
  /// They are on stacks of their threads: a child of fork() has neither. Never destroyed: what ends last may wait.
  static Waiters& of_this_process() {
    static auto& waiters = *new parallel::OfProcess<Waiters>;
    return waiters.get([] { return std::make_unique<Waiters>(); });
  }

  Waiters& all_ = of_this_process();
  const Run& run_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Waiter* next_ = nullptr;
  bool waits_for_itself_ = false;
};

void RequestState::abandon() noexcept {
  // Destroyed after the lock is released, and here: the job, which may be in its last moves, has the request as well.
  std::shared_ptr<const Callback> callback;
  std::vector<Tensor> inputs, outputs;
  std::vector<Batch> batches;
  std::unique_lock lock(sync().mutex);
  callback.swap(callback_);
  lock.unlock();
  callback.reset();
  lock.lock();
  if (const std::shared_ptr<Run> awaited = last_run_) {
    lock.unlock();
    if (awaited->queued.exchange(nullptr) != nullptr) run_queued();  // what would may wait for the job that we are in
    lock.lock();
    const Waiter waiter(*awaited);
    if (!awaited->is_of_the_parent())
      sync().ended.wait(lock, [&] { return awaited->done || waiter.waits_for_itself(); });
  }
  abandoned_ = true;
  inputs.swap(inputs_);
  outputs.swap(outputs_);
  batches.swap(batches_);
}

void RequestState::check_idle() const {
  if (running_) throw Busy(kBusy);
}

void RequestState::prepare_input(size_t index) {
  const plugin::PortInfo& port = compiled_->port({true, index});
  Tensor& tensor = inputs_[index];
  if (!tensor) {
    if (port.shape.is_dynamic() || port.type.is_dynamic()) {
      throw_error(ErrorCode::invalid_argument, describe({true, index}), " of shape ", port.shape,
                  " has no tensor; set one before running");
    }
    tensor = Tensor(port.type, port.shape.to_shape());
  }
  const Batch& batch = batches_[index];
  for (size_t i = 0; i < batch.images.size(); ++i) {
    if (batch.images[i].get_shape() != batch.parts[i].get_shape()) {
      throw_error(ErrorCode::shape_mismatch, describe({true, index}), ": tensor ", i, " of the batch was of shape ",
                  batch.parts[i].get_shape(), " when it was set, and is of shape ", batch.images[i].get_shape());
    }
    batch.images[i].copy_to(batch.parts[i]);
  }
  const TensorState& state = TensorAccess::state(tensor);
  ir::TensorView& view = views_[index];
  // The user may have changed the shape through another handle.
  if (view.dims.size() != state.shape.size() || !same(state.shape, view.dims) || view.type != state.type) {
    if (!allows(port.shape, state.shape)) {
      throw_error(ErrorCode::shape_mismatch, describe({true, index}), ": expected a tensor of shape ", port.shape,
                  ", got ", state.shape);
    }
    view.type = state.type;
    view.dims = ir::to_dims(state.shape);
  }
  view.data = state.data;
  if (!state.dense) {
    fit(staged_inputs_[index], state.type, view.dims);
    view.data = staged_inputs_[index].data();
    copy_to_dense(state, staged_inputs_[index].data());
  }
  view_bytes_[index] = ir::byte_size(view.type, ir::element_count(view.dims));
}

void RequestState::run() try {
  with_memory([] { return "to run the model"; }, [&] { run_on_stream(); });
} catch (Exception& error) {
  if (error.code() == ErrorCode::out_of_memory)
    error.add_context(concat("running '", compiled_->compiled().name(), "' on ", compiled_->compiled().device(),
                             " (smaller inputs and fewer requests at a time need less)"));
  throw;
}

void RequestState::run_on_stream() {
  for (size_t i = 0; i < inputs_.size(); ++i) prepare_input(i);
  std::fill(staged_.begin(), staged_.end(), false);
  const StreamPool::Lease stream(compiled_->streams());
  if (!cancelled_.load(std::memory_order_relaxed)) {
    Binder binder(*this);
    const parallel::FloatControlScope control(compiled_->float_control());
    device_->infer(views_, binder, {stream.arena(), cancelled_});
  }
  if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled("the inference was cancelled");
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (staged_[i])
      with_context([&] { return describe({false, i}); }, [&] { staged_outputs_[i].copy_to(outputs_[i]); });
  }
  device_->commit();
}

void RequestState::begin(std::shared_ptr<Run> started) {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  running_ = true;
  if (started != nullptr) self_ = shared_from_this();
  // wait() speaks of the last inference; infer() in a callback is a part of what the callback was called for.
  if (started != nullptr || (last_run_ != nullptr && last_run_->done)) last_run_ = std::move(started);
  cancelled_.store(false, std::memory_order_relaxed);
}

void RequestState::infer() {
  begin(nullptr);
  struct Guard {
    RequestState& request;
    ~Guard() {
      const std::lock_guard lock(request.sync().mutex);
      request.running_ = false;
    }
  } const guard{*this};
  run();
}

void RequestState::start_async() {
  const auto run = std::make_shared<Run>(*this);
  begin(run);
  const auto self = shared_from_this();  // the queue must not go while it submits, whatever a callback does there
  try {
    compiled_->jobs().submit({run, &run->queued});
  } catch (...) {  // no thread could be started
    // Or an executor failed when it had begun the job, which goes on: wait() tells how it ends.
    if (run->queued.exchange(nullptr) == nullptr) return;
    const std::lock_guard lock(sync().mutex);
    running_ = false;
    last_run_.reset();
    self_.reset();
    throw;
  }
}

void RequestState::run_queued() {
  std::exception_ptr error;
  try {
    run();
  } catch (...) {
    error = std::current_exception();
  }
  std::shared_ptr<RequestState> self;
  std::shared_ptr<Run> this_run;
  std::shared_ptr<const Callback> callback;
  {
    const std::lock_guard lock(sync().mutex);
    running_ = false;  // the callback may start the next run
    self = std::move(self_);
    this_run = last_run_;
    callback = callback_;
    this_run->callback_thread = std::this_thread::get_id();
  }
  if (callback != nullptr) {
    try {
      (*callback)(error);
    } catch (...) {
      error = std::current_exception();
    }
    callback.reset();  // what it captured is gone when the run has ended
  }
  const std::lock_guard lock(sync().mutex);
  // The handles do not go before this run is done, and then they may take the request, and more, with them.
  if (!abandoned_) self.reset();
  this_run->error = error;
  this_run->callback_thread = std::thread::id();
  this_run->done = true;
  sync().ended.notify_all();
}

void RequestState::wait() {
  const auto self = shared_from_this();  // what runs here may drop the last handle
  std::unique_lock lock(sync().mutex);
  const std::shared_ptr<Run> awaited = last_run_;
  if (awaited == nullptr || awaited->callback_thread == std::this_thread::get_id()) return;
  if (!awaited->done) {
    lock.unlock();
    compiled_->jobs().run_before_waiting({awaited, &awaited->queued});
    lock.lock();
  }
  if (awaited->is_of_the_parent()) throw_error(ErrorCode::general, kOfTheParent);
  const Waiter waiter(*awaited);
  sync().ended.wait(lock, [&] { return awaited->done || waiter.waits_for_itself(); });
  if (awaited->error != nullptr) std::rethrow_exception(awaited->error);
}

bool RequestState::wait_for(std::chrono::milliseconds timeout) {
  const auto self = shared_from_this();  // what runs here may drop the last handle
  // A clock ends after 292 years.
  timeout = std::clamp<std::chrono::milliseconds>(timeout, std::chrono::hours(0), std::chrono::hours(24 * 365 * 100));
  std::unique_lock lock(sync().mutex);
  const std::shared_ptr<Run> awaited = last_run_;
  if (awaited == nullptr || awaited->callback_thread == std::this_thread::get_id()) return true;
  if (!awaited->done) {
    lock.unlock();
    compiled_->jobs().run_before_waiting({awaited, &awaited->queued});
    lock.lock();
  }
  if (awaited->is_of_the_parent()) throw_error(ErrorCode::general, kOfTheParent);
  const Waiter waiter(*awaited);
  if (!sync().ended.wait_for(lock, timeout, [&] { return awaited->done || waiter.waits_for_itself(); })) return false;
  if (awaited->error != nullptr) std::rethrow_exception(awaited->error);
  return true;
}

void RequestState::set_callback(Callback callback) {
  // Destroyed after the lock is released: a callback may hold the last handle of something that waits.
  std::shared_ptr<const Callback> former = callback ? std::make_shared<const Callback>(std::move(callback)) : nullptr;
  const std::lock_guard lock(sync().mutex);
  check_idle();
  callback_.swap(former);
}

void RequestState::cancel() {
  const std::lock_guard lock(sync().mutex);
  if (running_) cancelled_.store(true, std::memory_order_relaxed);
}

std::unique_lock<std::mutex> RequestState::hold_idle() {
  std::unique_lock lock(sync().mutex);
  if (running_) lock.unlock();
  return lock;
}

void RequestState::release_memory() {
  device_->release_memory();
  for (Tensor& tensor : staged_inputs_) tensor = {};
  for (Tensor& tensor : staged_outputs_) tensor = {};
}

}  // namespace terroir::detail
