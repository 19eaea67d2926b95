// What: the yardstick: the same layer through oneDNN, where CMake finds it, ready to run any number of times.
// ONEDNN_MAX_CPU_ISA=AVX2 in the environment limits it to what our avx2 bucket may use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::bench {

class PeerLayer {
 public:
  virtual ~PeerLayer() = default;
  /// Seconds of one execution.
  virtual double run() = 0;
  virtual std::string implementation() const = 0;
};

/// A bias is added; the peer chooses its layouts, weights packed beforehand. It runs between the layers that OneLayer
/// has around it. Null without the peer.
std::unique_ptr<PeerLayer> onednn_convolution(const cpu::ConvProblem& problem, int threads);

/// [batch, m, k] x [batch, k, n]; `constant_b`: packed beforehand, in the layout the peer chooses.
std::unique_ptr<PeerLayer> onednn_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool constant_b, int threads);

}  // namespace terroir::bench
