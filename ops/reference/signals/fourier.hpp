#pragma once
// What: the references of the Fourier transforms. Types: any floating-point type, computed in f64.
// Cost: O(n * sum of the prime factors of n) per line.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// Which end of a transform is real: its pairs (real, imaginary) on the last axis are missing there.
enum class RealSide { none, input, output };

struct FourierParams {
  std::vector<int64_t> axes;   // from the front, without repetition
  std::vector<int64_t> sizes;  // signal sizes of these axes
  bool inverse = false;
  RealSide real = RealSide::none;
};
/// Data is cut or filled with zeros to the signal sizes first. A real side has size / 2 + 1 values on the last of
/// `axes` on its other side.
void fourier(const ir::EvalContext& ctx, const FourierParams& params);

struct FrameParams {
  int64_t frame_size, frame_step;
};
/// Inputs: signal [N, L] or [L], window. Output: [N, frames, bins, 2], or with frames and bins exchanged.
void stft(const ir::EvalContext& ctx, const FrameParams& frames, bool transpose_frames);
/// Inputs: data [N, bins, frames, 2] or without N, window. Output: [N, length] or [length].
void istft(const ir::EvalContext& ctx, const FrameParams& frames, bool center, bool normalized);

}  // namespace terroir::ops::reference
