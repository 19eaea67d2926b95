// A bar on a terminal; nothing when the output goes elsewhere.
#pragma once

namespace benchmark_app {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` from 0 to 1; draws only when a percent is added.
  void show(double done);

 private:
  bool on_terminal_;
  int percent_ = -1;
};

}  // namespace benchmark_app
