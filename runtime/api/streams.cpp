#include "runtime/api/streams.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "terroir/executor.hpp"

namespace terroir::detail {

StreamPool::StreamPool(const plugin::Config& config, const plugin::Config::Threading& threading)
    : placement_(config, threading), threading_(threading), executor_(config.executor) {
  streams_.get([&] { return make(); });  // not in the first inference
}

std::unique_ptr<StreamPool::Streams> StreamPool::make() const {
  auto streams = std::make_unique<Streams>();
  for (int i = 0; i < threading_.streams; ++i) {
    auto cpus = placement_.cpus_of_stream(i);
    std::vector<int> of_caller = cpus.empty() ? std::vector<int>() : cpus.front();
    streams->all.push_back({executor_ ? parallel::Arena(threading_.threads_per_stream, executor_)
                                      : parallel::Arena(threading_.threads_per_stream, std::move(cpus)),
                            std::move(of_caller)});
    streams->free.push_back(static_cast<size_t>(threading_.streams - 1 - i));
  }
  return streams;
}

size_t StreamPool::Streams::take() {
  std::unique_lock lock(mutex);
  freed.wait(lock, [&] { return !free.empty(); });
  const size_t index = free.back();
  free.pop_back();
  return index;
}

void StreamPool::Streams::give_back(size_t index) {
  {
    const std::lock_guard lock(mutex);
    free.push_back(index);
  }
  freed.notify_one();
}

JobQueue::~JobQueue() {
  leave_what_is_of_the_parent();
  // One by one, each after the lock is released: a container for them would have to be allocated.
  while (true) {
    Ticket dropped;
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
    if (shared_->jobs.empty()) break;
    dropped = std::move(shared_->jobs.front());
    shared_->jobs.pop_front();
  }
  shared_->arrived.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

namespace {

thread_local const void* works_for = nullptr;  // what a queue shares with its threads
thread_local int jobs_of_executors = 0;        // that this thread is in

void take_and_run(const Ticket& ticket) {
  if (Job* const job = ticket->exchange(nullptr)) job->run_queued();
}

void run_for_executor(const Ticket& ticket) {
  ++jobs_of_executors;
  take_and_run(ticket);
  --jobs_of_executors;
}

}  // namespace

void JobQueue::submit(Ticket ticket) {
  if (executor_) return executor_->start([ticket = std::move(ticket)] { run_for_executor(ticket); });
  leave_what_is_of_the_parent();
  {
    const std::lock_guard lock(shared_->mutex);
    start_threads();  // before the job is there: without a thread it would stay
    shared_->jobs.push_back(std::move(ticket));
  }
  shared_->arrived.notify_one();
}

void JobQueue::start_threads() {
  while (threads_.size() < static_cast<size_t>(threads_wanted_)) {
    try {
      threads_.emplace_back([shared = shared_] { work(shared); });
    } catch (const std::exception& error) {
      if (!threads_.empty()) return;  // the next job tries again
      throw_error(ErrorCode::general, "start_async(): no thread could be started (", error.what(),
                  "); infer() needs none, and the limits of memory and threads of the process may be too low");
    }
  }
}

// In a child of fork(). Nothing of that can be ended there: threads that do not exist are waited for as long as they
// may have locked what they share.
void JobQueue::leave_what_is_of_the_parent() {
  constexpr int kChanging = -1;
  const int here = parallel::this_process();
  int owner = process_.load(std::memory_order_acquire);
  if (owner == here) return;
  if (owner != kChanging && process_.compare_exchange_strong(owner, kChanging)) {
    static_cast<void>(new std::shared_ptr<Shared>(std::move(shared_)));
    static_cast<void>(new std::vector<std::thread>(std::move(threads_)));
    threads_.clear();
    shared_ = std::make_shared<Shared>();
    process_.store(here, std::memory_order_release);
  }
  while (process_.load(std::memory_order_acquire) != here) std::this_thread::yield();
}

void JobQueue::run_before_waiting(const Ticket& ticket) {
  if (executor_ != nullptr) {
    if (jobs_of_executors != 0) run_for_executor(ticket);
  } else if (works_for == shared_.get()) {
    take_and_run(ticket);
  }
}

void JobQueue::work(const std::shared_ptr<Shared>& shared) {
  works_for = shared.get();
  while (true) {
    Ticket ticket;
    {
      std::unique_lock lock(shared->mutex);
      shared->arrived.wait(lock, [&] { return shared->stop || !shared->jobs.empty(); });
      if (shared->stop) return;
      ticket = std::move(shared->jobs.front());
      shared->jobs.pop_front();
    }
    take_and_run(ticket);
  }
}

}  // namespace terroir::detail
