// What: the yardstick: the same layer through oneDNN, where CMake finds it, ready to run any number of times.
// ONEDNN_MAX_CPU_ISA=AVX2 in the environment limits it to what our avx2 bucket may use, AVX512_CORE_VNNI to
// avx512_vnni.
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

/// [batch, m, k] x [batch, k, n].
struct MatMulProblem {
  int64_t batch, m, n, k;
  bool constant_b;    // packed beforehand, by the peer in the layout it chooses
  bool transposed_b;  // lies in memory as [batch, n, k]
};
std::unique_ptr<PeerLayer> onednn_matmul(const MatMulProblem& problem, int threads);

/// What narrow layers multiply: data u8 by weights i8, with a scale of each output, or numbers of bf16.
enum class NarrowType { bytes, bf16 };

/// With a bias; the result is u8 or bf16 where it `stores_narrow`, else f32. The peer chooses all layouts, also those
/// of matrices, and packs weights beforehand. So that sources and results lie where a network has them, run around it:
/// layers of numbers of bf16 in front of one and behind it, except at a model's ends; else reorders from and to plain
/// f32.
std::unique_ptr<PeerLayer> onednn_narrow_convolution(const cpu::ConvProblem& problem, NarrowType type,
                                                     bool stores_narrow, int threads);
std::unique_ptr<PeerLayer> onednn_narrow_matmul(const MatMulProblem& problem, NarrowType type, bool stores_narrow,
                                                int threads);

}  // namespace terroir::bench
