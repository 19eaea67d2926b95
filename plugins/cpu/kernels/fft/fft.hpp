// What: discrete Fourier transforms of many lines of one length, in f32.
// Formula: Y[k] = scale * sum over j of X[j] exp(-2 pi i j k / n); inverse: the other sign.
// How: several lines at once lie side by side, real and imaginary parts apart, and pass through stages that each take
//   one factor of n (Stockham's form: every stage puts its results in order). A length with a large prime factor is
//   done as a convolution with a chirp, of a length without (Bluestein). A real line of even length is half as many
//   complex numbers: its even and its odd numbers, whose spectra are told apart by symmetry.
// Layouts: any that puts the numbers of a line at equal distances; positions behind `valid` are 0.
// Threads: lines are independent, and which lines share a call changes no bit of them.
// Edge cases: the imaginary parts that the spectrum of a real signal cannot have are taken for 0. A NaN or an infinity
//   spoils its own line and no other.
// Source: P. N. Swarztrauber, "FFT algorithms for vector computers" (1984); L. I. Bluestein, "A linear filtering
//   approach to the computation of discrete Fourier transform" (1970).
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

/// Cuts transforms of `length` into `radix` of length / radix each. `side` results of the stages before lie together.
struct FftStage {
  int64_t radix = 2, length = 1, side = 1;
  const float* twiddles = nullptr;  // [length / radix][radix - 1] pairs: exp(-2 pi i p k / length), k from 1
  const float* roots = nullptr;     // odd radix: [radix] pairs: cos and sin of 2 pi j / radix
};

struct FftPlan {
  int64_t numbers = 1;  // of a line
  int64_t signal = 1;   // complex numbers of a line as it is transformed: numbers, or half as many
  int64_t length = 1;   // what the stages transform: signal, or longer for a convolution
  const FftStage* stages = nullptr;
  int64_t n_stages = 0;
  const float* chirp = nullptr;      // convolution: [signal] pairs: exp(-pi i j j / signal)
  const float* spectrum = nullptr;   // of the inverse chirp: [length] pairs, divided by length
  const float* rotations = nullptr;  // signal half of numbers: [signal + 1] pairs: exp(-2 pi i k / numbers)
};

enum class FftSide : int32_t {
  complex,  // pairs
  real,
  half,  // pairs: the first numbers / 2 + 1 of the spectrum of a real signal
};

/// Where lines are, in floats: line l at l / inner * outer_stride + l % inner * inner_stride, its numbers `step` apart.
struct FftLines {
  int64_t inner = 1, outer_stride = 0, inner_stride = 0, step = 0;
};

struct FftArgs {
  const FftPlan* plan = nullptr;
  const float* src = nullptr;
  float* dst = nullptr;
  FftLines from, to;
  FftSide src_side = FftSide::complex, dst_side = FftSide::complex;  // complex twice, real to half, or half to real
  int64_t valid = 0;                                                 // numbers of a line that exist
  const float* window = nullptr;  // real source: multiplied with the numbers; or null
  // Multiplied with the results, of an inverse conjugated: the real parts of [numbers][from.inner], then the imaginary
  // ones; or null. Complex lines of one call must lie side by side then, in one run of from.inner, and scale be 1.
  const float* turns = nullptr;
  bool inverse = false;
  float scale = 1.0f;  // not for a half of a spectrum
};

/// Frames that begin `step` apart, put together again: at each position the sum of the numbers of the frames that reach
/// it, times the window, over the sum of the window's squares; the sum alone where that is nothing.
struct FrameSum {
  const float* frames = nullptr;  // [count][size]
  const float* window = nullptr;  // [size]
  int64_t count = 0, size = 0, step = 0;
};

struct FftKernels {
  int64_t lanes;  // the most lines of one call
  int64_t (*work_floats)(int64_t length);
  // Lines [first, first + count). `work` is 64-byte aligned.
  void (*lines)(const FftArgs& args, int64_t first, int64_t count, float* work);
  // Positions [begin, end) of the signal to dst[0] and on; frames are added in their order.
  void (*add_frames)(const FrameSum& sum, int64_t begin, int64_t end, float* dst);
};

const FftKernels& fft_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
