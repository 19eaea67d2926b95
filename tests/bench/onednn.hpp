// What: the yardstick: the same layer through oneDNN, where CMake finds it. Seconds of one execution, best of several.
// ONEDNN_MAX_CPU_ISA=AVX2 in the environment limits it to what our avx2 bucket may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::bench {

struct PeerTime {
  double seconds;
  std::string implementation;
};

/// A bias is added; the peer chooses its layouts, weights packed beforehand. Empty without the peer.
std::optional<PeerTime> onednn_convolution(const cpu::ConvProblem& problem, int threads);

/// [batch, m, k] x [batch, k, n]; `constant_b`: packed beforehand, in the layout the peer chooses.
std::optional<PeerTime> onednn_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool constant_b, int threads);

}  // namespace terroir::bench
