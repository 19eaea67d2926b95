// The streams of a compiled model, and the threads that run what was started asynchronously.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/parallel/arena.hpp"
#include "runtime/parallel/process.hpp"
#include "runtime/plugin/threading.hpp"

namespace terroir::detail {

/// A fixed number of streams; whoever runs an inference holds one of them. In a child of fork() there are as many new
/// ones: nobody would give back those that threads of the parent held.
class StreamPool {
 private:
  struct Stream {
    parallel::Arena arena;
    std::vector<int> cpus_of_caller;
  };
  struct Streams {
    size_t take();
    void give_back(size_t index);

    std::vector<Stream> all;
    std::mutex mutex;
    std::condition_variable freed;
    std::vector<size_t> free;  // last in, first out: its caches are the warmest
  };

 public:
  StreamPool(const plugin::Config& config, const plugin::Config::Threading& threading);

  /// Holds a stream while it lives, and keeps the calling thread where the stream's threads belong.
  class Lease {
   public:
    explicit Lease(StreamPool& pool)
        : streams_(pool.streams_.get([&] { return pool.make(); })),
          index_(streams_.take()),
          binding_(streams_.all[index_].cpus_of_caller) {}
    ~Lease() { streams_.give_back(index_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    const parallel::Arena& arena() const { return streams_.all[index_].arena; }

   private:
    Streams& streams_;
    size_t index_;
    parallel::ThreadBinding binding_;
  };

  /// What was decided about streams, threads and CPUs, and why.
  const std::string& reasons() const { return placement_.reasons(); }

 private:
  std::unique_ptr<Streams> make() const;

  plugin::Placement placement_;
  plugin::Config::Threading threading_;
  std::shared_ptr<TaskExecutor> executor_;
  parallel::OfProcess<Streams> streams_;
};

/// Something to be run.
class Job {
 public:
  virtual ~Job() = default;
  virtual void run_queued() = 0;  // does not throw
};
/// A job for whoever takes it out first, which runs it; then there is none. The job is there until it has been run, and
/// owns itself: the thread that took it must not, for it may be one of an executor that ends with the job.
using Ticket = std::shared_ptr<std::atomic<Job*>>;

/// Runs jobs in order of arrival on a few threads, which start with the first job; or on an executor of the user's. In
/// a child of fork(), which has none of these threads, others start; jobs of the parent that have not ended are not
/// run.
class JobQueue {
 public:
  JobQueue(int threads, std::shared_ptr<TaskExecutor> executor)
      : threads_wanted_(threads),
        executor_(std::move(executor)),
        shared_(std::make_shared<Shared>()),
        process_(parallel::this_process()) {}
  /// Jobs that have not begun are dropped, but for those an executor of the user's has. May be called by one of its own
  /// threads, since the last owner of the compiled model may be a job.
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// Throws Exception (general) if there is no thread and none can be started: the job is not taken then.
  void submit(Ticket ticket);
  /// For whoever is about to wait for a job: where that is a job of this queue itself, or any job of an executor of the
  /// user's, whose thread this one may need, it runs the job unless that has begun.
  void run_before_waiting(const Ticket& ticket);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Ticket> jobs;
    bool stop = false;
  };
  static void work(const std::shared_ptr<Shared>& shared);
  void start_threads();  // as many as wanted, or as there can be
  void leave_what_is_of_the_parent();

  int threads_wanted_;
  std::shared_ptr<TaskExecutor> executor_;
  std::shared_ptr<Shared> shared_;  // with the threads, of which one may outlive the queue
  std::vector<std::thread> threads_;
  std::atomic<int> process_;  // whose the threads are
};

}  // namespace terroir::detail
