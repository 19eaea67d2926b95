// The streams of a compiled model, and the threads that run what was started asynchronously.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/parallel/arena.hpp"
#include "runtime/plugin/threading.hpp"

namespace terroir::detail {

/// A fixed number of streams; whoever runs an inference holds one of them.
class StreamPool {
 public:
  StreamPool(const plugin::Config& config, const plugin::Config::Threading& threading);

  /// Holds a stream while it lives, and keeps the calling thread where the stream's threads belong.
  class Lease {
   public:
    explicit Lease(StreamPool& pool)
        : pool_(pool), index_(pool.take()), binding_(pool.streams_[index_].cpus_of_caller) {}
    ~Lease() { pool_.give_back(index_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    const parallel::Arena& arena() const { return pool_.streams_[index_].arena; }

   private:
    StreamPool& pool_;
    size_t index_;
    parallel::ThreadBinding binding_;
  };

  /// What was decided about streams, threads and CPUs, and why.
  const std::string& reasons() const { return placement_.reasons(); }

 private:
  struct Stream {
    parallel::Arena arena;
    std::vector<int> cpus_of_caller;
  };

  size_t take();
  void give_back(size_t index);

  plugin::Placement placement_;
  std::vector<Stream> streams_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<size_t> free_;  // last in, first out: its caches are the warmest
};

/// Something to be run once.
class Job {
 public:
  virtual ~Job() = default;
  /// Nothing if it has begun.
  virtual void run_queued() = 0;
};

/// Runs jobs in order of arrival on a few threads, which start with the first job; or on an executor of the user's.
class JobQueue {
 public:
  JobQueue(int threads, std::shared_ptr<TaskExecutor> executor)
      : threads_wanted_(threads), executor_(std::move(executor)), shared_(std::make_shared<Shared>()) {}
  /// Jobs that have not begun are dropped, but for those an executor of the user's has. May be called by one of its own
  /// threads, since the last owner of the compiled model may be a job.
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// Throws Exception (general) if there is no thread and none can be started: the job is not taken then.
  void submit(std::shared_ptr<Job> job);
  /// For whoever is about to wait for a job: where that is a job of this queue itself, or any job of an executor of the
  /// user's, whose thread this one may need, it runs the job unless that has begun.
  void run_before_waiting(Job& job);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::shared_ptr<Job>> jobs;
    bool stop = false;
  };
  static void work(const std::shared_ptr<Shared>& shared);
  void start_threads();  // as many as wanted, or as there can be

  int threads_wanted_;
  std::shared_ptr<TaskExecutor> executor_;
  std::shared_ptr<Shared> shared_;  // with the threads, of which one may outlive the queue
  std::vector<std::thread> threads_;
};

}  // namespace terroir::detail
