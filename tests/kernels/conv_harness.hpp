// What: the harness of the convolution tests: a naive reference, tensors in any kernel's format in memory that ends at
// a guard page, and one function that checks a kernel on a problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/simd/post_op.hpp"
#include "tests/kernels/guarded_pages.hpp"

namespace terroir::cpu::conv_test {

// Floats whose last one is followed by an unmapped page: any read or write past the end is a fault.
class GuardedFloats {
 public:
  GuardedFloats(size_t count, float fill)
      : count_(count), pages_(count * sizeof(float)), data_(reinterpret_cast<float*>(pages_.end()) - count) {
    std::fill_n(data_, count, fill);
  }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;
  float* data() { return data_; }
  const float* data() const { return data_; }
  size_t size() const { return count_; }

 private:
  size_t count_;
  testing::GuardedPages pages_;
  float* data_;
};

// The axis of a convolution with the given geometry; the output extent follows (transposed: full size minus pads).
inline ConvAxis axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t dilation = 1, int64_t pad_begin = 0,
                     int64_t pad_end = 0) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  return {in, (in + pad_begin + pad_end - reach) / stride + 1, kernel, stride, dilation, pad_begin};
}
inline ConvAxis transposed_axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t dilation = 1,
                                int64_t pad_begin = 0, int64_t pad_end = 0) {
  return {in,       (in - 1) * stride + (kernel - 1) * dilation + 1 - pad_begin - pad_end, kernel, stride, dilation,
          pad_begin};
}

inline ConvProblem problem_of(int64_t batch, int64_t groups, int64_t ic, int64_t oc, ConvAxis h, ConvAxis w,
                              ConvAxis d = {}) {
  return {batch, groups, ic, oc, d, h, w};
}

inline ConvProblem transposed(ConvProblem p) {
  p.transposed = true;
  return p;
}

// Of a 3x3 kernel that keeps the extents.
inline ConvAxis padded(int64_t in) { return axis(in, 3, 1, 1, 1, 1); }

std::string describe(const ConvProblem& problem);

// Offset of an element in a tensor of a kernel's format.
int64_t offset(const ConvStrides& s, ConvFormat format, int64_t block, int64_t n, int64_t c, int64_t d, int64_t h,
               int64_t w);

// The source of a problem, `plain`, as its kernel wants it; padding of channels is left as it is.
void lay_out_source(const ConvProblem& p, const ConvStrides& strides, ConvFormat format, int64_t block,
                    const std::vector<float>& plain, float* src);

// Plain random tensors with values in [-1, 1], and what the convolution makes of them.
struct Reference {
  std::vector<float> src, wei, bias;
  std::vector<double> dst, magnitude;  // result and sum of absolute products
};
Reference reference(const ConvProblem& problem);

// Runs the kernel on the sources and weights of the problem's reference: compares with its result within the rounding
// error of a sum of that length, checks channel tails, and that slicings give identical bits. The kernel must accept
// the problem.
void check_kernel(const ConvKernel& kernel, const ConvProblem& problem, const Reference& expected);

// The kernel with post-ops gives what it gives without them, followed by the same post-ops on their own, up to
// rounding; bit for bit where the operand of a leading addition is dst itself. Covers every accepting kernel of every
// bucket.
void check_post_ops(const ConvProblem& problem);

// check_kernel for each kernel of every available bucket whose name holds `family` and that accepts the problem;
// fails if no kernel of a bucket accepts.
void check_family(const std::string& family, const ConvProblem& problem);

}  // namespace terroir::cpu::conv_test
