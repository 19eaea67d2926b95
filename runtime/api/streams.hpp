// The streams of a compiled model, and the threads that run what was started asynchronously.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/parallel/arena.hpp"

namespace terroir::detail {

/// A fixed number of arenas; whoever runs an inference holds one of them.
class StreamPool {
 public:
  StreamPool(int streams, int threads_per_stream);

  /// Holds a stream while it lives.
  class Lease {
   public:
    explicit Lease(StreamPool& pool) : pool_(pool), index_(pool.take()) {}
    ~Lease() { pool_.give_back(index_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    const parallel::Arena& arena() const { return pool_.arenas_[index_]; }

   private:
    StreamPool& pool_;
    size_t index_;
  };

 private:
  size_t take();
  void give_back(size_t index);

  std::vector<parallel::Arena> arenas_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<size_t> free_;  // last in, first out: its caches are the warmest
};

/// Something to be run once.
class Job {
 public:
  virtual ~Job() = default;
  virtual void run_queued() = 0;
};

/// Runs jobs in order of arrival on a few threads, which start with the first job.
class Executor {
 public:
  explicit Executor(int threads) : threads_wanted_(threads), shared_(std::make_shared<Shared>()) {}
  /// Jobs that have not begun are dropped. May be called by one of its own threads, since the last owner of the
  /// compiled model may be a job.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void submit(std::shared_ptr<Job> job);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::shared_ptr<Job>> jobs;
    bool stop = false;
  };
  static void work(const std::shared_ptr<Shared>& shared);

  int threads_wanted_;
  std::shared_ptr<Shared> shared_;  // with the threads, of which one may outlive the executor
  std::vector<std::thread> threads_;
};

}  // namespace terroir::detail
