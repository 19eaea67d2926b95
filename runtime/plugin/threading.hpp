// How many streams and threads a compiled model has, on which CPUs, and why.
//
// What: settings + machine -> a number of threads, their CPUs, and a sentence about both (TERROIR_VERBOSE=threads).
// Pinning: each thread of a pinned model stays on a CPU of its own while it computes, on a core that no other pinned
//          model has, in this process or another; the cores are free again when the Placement goes. Threads for which
//          no core is left are not pinned.
#pragma once

#include <string>
#include <vector>

#include "runtime/parallel/available_threads.hpp"
#include "runtime/plugin/config.hpp"

namespace terroir::plugin {

/// How many threads the streams of a compiled model share: the CPUs of the kind that was asked for, within the quota;
/// or what an executor of the user's can run at once.
int thread_budget(const Config& config, const parallel::Machine& machine = parallel::machine());

class Placement {
 public:
  Placement(const Config& config, const Config::Threading& threading,
            const parallel::Machine& machine = parallel::machine());

  /// By thread of the stream, the caller of infer() first: the CPUs on which it stays; empty for a thread that may be
  /// anywhere. Empty if all may.
  std::vector<std::vector<int>> cpus_of_stream(int stream) const;

  /// What was decided, and why: one line.
  const std::string& reasons() const { return reasons_; }

 private:
  void pin(const std::vector<parallel::Cpu>& cpus, const std::filesystem::path& root);

  int threads_per_stream_;
  std::vector<std::vector<int>> cpus_;  // by stream and thread
  std::vector<parallel::CoreLock> locks_;
  std::string reasons_;
};

}  // namespace terroir::plugin
