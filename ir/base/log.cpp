#include "ir/base/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

namespace terroir {

namespace {

constexpr unsigned bit(LogCategory category) { return static_cast<unsigned>(category); }

unsigned initial_mask() {
  const char* text = std::getenv("TERROIR_VERBOSE");
  return parse_log_categories(text == nullptr ? "" : text);
}

const char* name_of(LogCategory category) {
  switch (category) {
    case LogCategory::warning:
      return "warning";
    case LogCategory::dispatch:
      return "dispatch";
    case LogCategory::pass:
      return "pass";
    case LogCategory::exec:
      return "exec";
    case LogCategory::threads:
      return "threads";
  }
  return "log";
}

using Sink = std::function<void(std::string_view)>;

// Never destroyed: threads may log while the process ends.
struct Output {
  std::recursive_mutex calls;  // held while the sink is called, which may replace itself
  bool calling = false;        // by the thread that holds it
  std::shared_ptr<const Sink> sink;
};
Output& output() {
  static Output* const instance = new Output;
  return *instance;
}

}  // namespace

std::atomic<unsigned> detail::log_mask{initial_mask()};

unsigned parse_log_categories(std::string_view text) noexcept {
  unsigned mask = bit(LogCategory::warning);
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    for (LogCategory category : {LogCategory::dispatch, LogCategory::pass, LogCategory::exec, LogCategory::threads}) {
      if (word == name_of(category) || word == "all") mask |= bit(category);
    }
    if (word == "quiet") mask &= ~bit(LogCategory::warning);
  }
  return mask;
}

unsigned set_log_categories(unsigned mask) noexcept {
  return detail::log_mask.exchange(mask, std::memory_order_relaxed);
}

void set_log_sink(Sink sink) {
  std::shared_ptr<const Sink> next = sink ? std::make_shared<const Sink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(output().calls);
  output().sink.swap(next);
}

void log_line(LogCategory category, std::string_view text) {
  std::string line = "terroir: ";
  line += name_of(category);
  line += ": ";
  line += text;
  Output& to = output();
  const std::lock_guard lock(to.calls);
  if (const std::shared_ptr<const Sink> sink = to.sink) {
    if (std::exchange(to.calling, true)) return;  // a line that the sink causes
    try {
      (*sink)(line);
    } catch (...) {  // whoever logs is not to fail for that
    }
    to.calling = false;
    return;
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace terroir
