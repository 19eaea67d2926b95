#include "runtime/plugin/threading.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "terroir/executor.hpp"

namespace terroir::plugin {

namespace {

using parallel::Cpu;
using parallel::Machine;

std::vector<int> ids_of(const std::vector<Cpu>& cpus) {
  std::vector<int> ids;
  for (const Cpu& cpu : cpus) ids.push_back(cpu.id);
  return ids;
}

// Cores of pinned models are nobody else's.
bool is_pinned(const Config& config) { return config.cpu_pinning || config.cpu_reservation; }

bool any_core(const Config& config) { return config.core_type == hint::SchedulingCoreType::ANY_CORE; }

/// The CPUs of the wanted kind of core; all of them if there is none of that kind.
std::vector<Cpu> of_wanted_kind(const Config& config, const std::vector<Cpu>& cpus) {
  if (any_core(config)) return cpus;
  const bool efficient = config.core_type == hint::SchedulingCoreType::ECORE_ONLY;
  std::vector<Cpu> wanted;
  for (const Cpu& cpu : cpus)
    if (cpu.efficient == efficient) wanted.push_back(cpu);
  return wanted.empty() ? cpus : wanted;
}

std::vector<Cpu> one_per_core(const std::vector<Cpu>& cpus) {
  std::vector<Cpu> firsts;
  for (const Cpu& cpu : cpus) {
    const bool known = std::any_of(firsts.begin(), firsts.end(), [&](const Cpu& c) { return c.core == cpu.core; });
    if (!known) firsts.push_back(cpu);
  }
  return firsts;
}

/// The CPUs that the settings leave of those there are.
struct Selection {
  std::vector<Cpu> wanted;    // of the kind of core that was asked for
  std::vector<Cpu> eligible;  // of these, one per core or all
};
Selection select_cpus(const Config& config, const Machine& machine) {
  Selection selection{of_wanted_kind(config, machine.described_cpus()), {}};
  selection.eligible = config.hyper_threading ? selection.wanted : one_per_core(selection.wanted);
  return selection;
}

std::string count(size_t n, const char* what) { return concat(n, " ", what, n == 1 ? "" : "s"); }

std::string why_so_many(const Config& config, const Machine& machine, const Selection& selection, int budget) {
  std::string text =
      concat(count(machine.cpus.size(), "CPU"), " in the affinity mask (", parallel::cpu_list(machine.cpus), ")");
  if (!any_core(config)) {
    const size_t wanted = selection.wanted.size();
    text +=
        concat(", SCHEDULING_CORE_TYPE ", config.core_type,
               wanted == machine.cpus.size() ? " changes nothing: all cores are alike" : concat(" leaves ", wanted));
  }
  if (!config.hyper_threading) {
    text += selection.eligible.size() == selection.wanted.size()
                ? ", ENABLE_HYPER_THREADING NO changes nothing: no core has two CPUs here"
                : concat(", ENABLE_HYPER_THREADING NO leaves ", selection.eligible.size());
  }
  if (machine.quota) text += concat(", a quota of ", machine.quota->cpus, " CPUs in ", machine.quota->file.string());
  return concat(text, ": at most ", count(static_cast<size_t>(budget), "thread"));
}

std::string why_so_split(const Config& config, const Config::Threading& threading, int budget) {
  std::string text;
  if (config.threads > 0) text += concat("INFERENCE_NUM_THREADS ", config.threads, ", ");
  if (config.streams && *config.streams > 0) {
    text += concat("NUM_STREAMS ", *config.streams);
  } else {
    text += concat("PERFORMANCE_HINT ", config.performance_mode);
    if (config.num_requests > 0) text += concat(" for ", count(config.num_requests, "request"));
  }
  return concat(text, ": ", count(static_cast<size_t>(threading.streams), "stream"), " of ",
                count(static_cast<size_t>(threading.threads_per_stream), "thread"),
                threading.streams > budget ? ": they take turns" : "");
}

}  // namespace

int thread_budget(const Config& config, const Machine& machine) {
  if (config.executor) return std::max(1, config.executor->concurrency());
  if (any_core(config) && config.hyper_threading) return machine.within_quota(machine.cpus.size());
  return machine.within_quota(select_cpus(config, machine).eligible.size());
}

Placement::Placement(const Config& config, const Config::Threading& threading, const Machine& machine)
    : threads_per_stream_(threading.threads_per_stream),
      cpus_(static_cast<size_t>(threading.streams) * static_cast<size_t>(threading.threads_per_stream)) {
  const int budget = thread_budget(config, machine);
  const std::string split = why_so_split(config, threading, budget);
  if (config.executor) {
    reasons_ = concat("the executor runs ", count(static_cast<size_t>(budget), "task"), " at once; ", split,
                      is_pinned(config) ? "; not pinned: the threads are the executor's" : "");
    return;
  }
  // What the cores are like is in many files: nobody reads them for models that do not ask.
  Selection selection;
  if (!any_core(config) || !config.hyper_threading || is_pinned(config)) selection = select_cpus(config, machine);
  reasons_ = concat(why_so_many(config, machine, selection, budget), "; ", split);
  if (!any_core(config) && selection.wanted.size() < machine.cpus.size())
    std::fill(cpus_.begin(), cpus_.end(), ids_of(selection.wanted));
  if (is_pinned(config)) pin(selection.eligible, machine.root);
}

void Placement::pin(const std::vector<Cpu>& cpus, const std::filesystem::path& root) {
  // Fast cores first, then those made for efficiency.
  std::vector<Cpu> cores = one_per_core(cpus);
  std::stable_partition(cores.begin(), cores.end(), [](const Cpu& cpu) { return !cpu.efficient; });
  std::vector<Cpu> firsts, seconds;
  for (const Cpu& core : cores) {
    if (firsts.size() == cpus_.size()) break;
    auto lock = parallel::CoreLock::take(core.core, root);
    if (!lock) continue;
    locks_.push_back(std::move(*lock));
    firsts.push_back(core);
    for (const Cpu& cpu : cpus)
      if (cpu.core == core.core && cpu.id != core.id) seconds.push_back(cpu);
  }
  // A second thread on a core only when each core has one.
  firsts.insert(firsts.end(), seconds.begin(), seconds.end());
  const size_t pinned = std::min(firsts.size(), cpus_.size());
  std::vector<int> used;
  for (size_t i = 0; i < pinned; ++i) {
    cpus_[i] = {firsts[i].id};
    used.push_back(firsts[i].id);
  }
  std::sort(used.begin(), used.end());
  if (pinned > 0) reasons_ += concat("; pinned to CPU ", parallel::cpu_list(used));
  if (pinned < cpus_.size())
    reasons_ +=
        concat("; ", count(cpus_.size() - pinned, "thread"), " not pinned: no core is left that no one else has");
}

std::vector<std::vector<int>> Placement::cpus_of_stream(int stream) const {
  const auto first = cpus_.begin() + std::ptrdiff_t{stream} * threads_per_stream_;
  std::vector<std::vector<int>> cpus(first, first + threads_per_stream_);
  const bool anywhere = std::all_of(cpus.begin(), cpus.end(), [](const auto& of_one) { return of_one.empty(); });
  if (anywhere) cpus.clear();
  return cpus;
}

}  // namespace terroir::plugin
