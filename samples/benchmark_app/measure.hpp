// Running requests and taking their time.
#pragma once

#include <cstdint>
#include <vector>

#include <terroir/terroir.hpp>

/// A run ends when it has reached each limit that is set (not 0), and every request has run equally often.
struct Limits {
  uint64_t iterations = 0;
  double milliseconds = 0;
};

struct Measurement {
  std::vector<double> latencies;  // milliseconds per inference, in order of completion
  double duration = 0;            // milliseconds of the whole run
};

/// One request after the other, in this thread. Throws what an inference throws.
Measurement measure_sync(terroir::InferRequest& request, const Limits& limits);
/// All requests at once; each is started again as soon as it has ended. Throws what an inference throws.
Measurement measure_async(std::vector<terroir::InferRequest>& requests, const Limits& limits);
