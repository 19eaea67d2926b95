#pragma once
// What: an executor of the tests' own, with as many threads as they want: the runtime's take no more than the machine
// has, and what three threads share must be tested on two processors as well.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <terroir/executor.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/plugin/config.hpp"

namespace terroir::test {

/// Some threads, a queue of jobs, a list of loops that want help.
class Pool final : public TaskExecutor {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  int concurrency() const noexcept override { return static_cast<int>(threads_.size()) + 1; }
  void run(int64_t count, const Task& task) override {
    ++loops;
    std::unique_lock lock(mutex_);
    const auto loop = wanting_.insert(wanting_.end(), Loop{task, 1, count, 0});
    changed_.notify_all();
    lock.unlock();
    task(0);
    lock.lock();
    loop->next = count;  // what nobody has begun until now is done
    changed_.wait(lock, [&] { return loop->running == 0; });
    wanting_.erase(loop);
  }
  void start(std::function<void()> job) override {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }
  std::atomic<int> loops{0};

 private:
  struct Loop {
    Task task;
    int64_t next, count;
    int running;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto loop =
          std::find_if(wanting_.begin(), wanting_.end(), [](const Loop& each) { return each.next < each.count; });
      if (loop != wanting_.end()) {
        const int64_t index = loop->next++;
        ++loop->running;
        lock.unlock();
        loop->task(index);
        lock.lock();
        --loop->running;
        changed_.notify_all();
      } else if (!jobs_.empty()) {
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
      } else if (stop_) {
        return;
      } else {
        changed_.wait(lock);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Loop> wanting_;
  std::deque<std::function<void()>> jobs_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// One stream of so many threads: the runtime's if it takes as many, else those of a Pool.
void use_threads(plugin::Config& config, int threads);

}  // namespace terroir::test
