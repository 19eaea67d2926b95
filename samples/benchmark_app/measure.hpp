// Running requests and taking their time.
#pragma once

#include <cstdint>
#include <vector>

#include <terroir/terroir.hpp>

#include "benchmark_app/feeds.hpp"

namespace benchmark_app {

/// A run ends when it has reached each limit that is set (not 0), and every request has run equally often.
struct Limits {
  uint64_t iterations = 0;
  double milliseconds = 0;
};

struct RunPlan {
  Limits limits;
  bool is_async = true;           // all requests at once, each started again as soon as it has ended; else one by one
  bool sets_inputs = false;       // before each inference: the feeds in turn; else each request keeps its own
  double samples_per_second = 0;  // no inference starts earlier than this rate allows; 0: as fast as it goes
};

struct Inference {
  double latency;    // milliseconds
  size_t shape_set;  // of the feed
};

struct Measurement {
  std::vector<Inference> inferences;  // in the order of their ends
  uint64_t samples = 0;
  double duration = 0;  // milliseconds of the whole run
};

/// The request reads what the feed holds from now on.
void set_inputs(terroir::InferRequest& request, const Feed& feed);

/// Throws what an inference throws. If the plan does not set inputs, request r has been given feed r % feeds.size().
Measurement measure(std::vector<terroir::InferRequest>& requests, const std::vector<Feed>& feeds, const RunPlan& plan);

}  // namespace benchmark_app
