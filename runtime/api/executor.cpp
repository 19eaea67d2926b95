#include "terroir/executor.hpp"

#include <deque>
#include <istream>
#include <ostream>
#include <string>

#include "ir/base/error.hpp"

namespace terroir {

namespace {

class CallerExecutor final : public TaskExecutor {
 public:
  int concurrency() const noexcept override { return 1; }
  void run(int64_t count, const Task& task) override {
    for (int64_t i = 0; i < count; ++i) task(i);
  }
};

}  // namespace

TaskExecutor::~TaskExecutor() = default;

void TaskExecutor::start(std::function<void()> job) {
  // Jobs that callbacks of jobs start would nest ever deeper if they ran at once.
  thread_local std::deque<std::function<void()>>* waiting = nullptr;
  if (waiting != nullptr) return waiting->push_back(std::move(job));
  std::deque<std::function<void()>> jobs;
  waiting = &jobs;
  jobs.push_back(std::move(job));
  while (!jobs.empty()) {
    const std::function<void()> next = std::move(jobs.front());
    jobs.pop_front();
    next();
  }
  waiting = nullptr;
}

std::shared_ptr<TaskExecutor> run_on_caller() { return std::make_shared<CallerExecutor>(); }

std::ostream& operator<<(std::ostream& out, const std::shared_ptr<TaskExecutor>& executor) {
  if (executor == nullptr) return out << "DEFAULT";
  return out << (dynamic_cast<const CallerExecutor*>(executor.get()) != nullptr ? "CALLER" : "CUSTOM");
}

std::istream& operator>>(std::istream& in, std::shared_ptr<TaskExecutor>& executor) {
  std::string word;
  in >> word;
  if (word != "CALLER" && word != "DEFAULT") {
    throw_error(ErrorCode::parse_error, "'", word, "' is not one of DEFAULT, CALLER");
  }
  executor = word == "CALLER" ? run_on_caller() : nullptr;
  return in;
}

}  // namespace terroir
