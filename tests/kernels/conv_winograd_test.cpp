// Winograd convolutions: against a double-precision direct sum within the bound that selection relies on, at sizes
// around tiles and blocks, in memory that ends at a guard page, with NaN in the channel padding.
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "tests/kernels/conv_harness.hpp"
#include "tests/kernels/post_op_chains.hpp"
#include "tests/kernels/strided_axis.hpp"

namespace terroir::cpu::conv_test {
namespace {

// A kernel with its tensors for one problem.
class WinogradBench {
 public:
  WinogradBench(const WinoKernel& kernel, const ConvProblem& problem, const Reference& values,
                std::optional<WinoWeights> weights = std::nullopt)
      : kernel_(kernel),
        p_(problem),
        plan(wino_plan(problem, kernel, weights)),
        src_(static_cast<size_t>(p_.batch * plan.src.n), std::nanf("")),
        packed_(plan.packed_floats, std::nanf("")),
        scratch_(plan.scratch_floats, std::nanf("")) {
    lay_out_source(p_, plan.src, ConvFormat::blocked, plan.block, values.src, src_.data());
    // In pieces, last first: they are independent. Of each only the weights of its own outputs are there, where these
    // lie together.
    const int64_t row = static_cast<int64_t>(values.wei.size()) / p_.oc;
    for (int64_t u = wino_units(plan); p_.transposed && u-- > 0;)
      kernel.pack(plan, {values.wei.data(), values.bias.data()}, packed_.data(), u, u + 1);
    if (p_.transposed) return;
    EXPECT_EQ(wino_first_output(plan, wino_units(plan)), p_.oc);
    for (int64_t u = wino_units(plan); u-- > 0;) {
      const int64_t first = wino_first_output(plan, u), end = wino_first_output(plan, u + 1);
      GuardedFloats own(static_cast<size_t>((end - first) * row), 0);
      std::copy(values.wei.begin() + first * row, values.wei.begin() + end * row, own.data());
      kernel.pack(plan, {own.data(), values.bias.data(), first}, packed_.data(), u, u + 1);
    }
  }

  int64_t dst_offset(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return offset(plan.dst, ConvFormat::blocked, plan.block, n, c, d, h, w);
  }
  size_t dst_floats() const { return static_cast<size_t>(p_.batch * plan.dst.n); }
  const GuardedFloats& packed() const { return packed_; }

  void run(float* dst, const WinoBox& box, const std::vector<PostOp>& ops = {}, const RemoteSources& remote = {}) {
    std::fill_n(scratch_.data(), scratch_.size(), std::nanf(""));
    ConvArgs args{src_.data(), packed_.data(), dst, ops.data(), static_cast<int64_t>(ops.size()), scratch_.data()};
    args.remote = remote;
    kernel_.run(plan, args, box);
  }
  void run_sliced(float* dst, int64_t threads, const std::vector<PostOp>& ops = {}) {
    WinoSplit split = wino_split(plan, threads);
    // Work as small as this is not cut further on its own account.
    if (threads > 1 && split.slices == 1 && split.count() > 0) {
      const WinoBox part = wino_part(plan, split, 0);
      split.slices = std::clamp<int64_t>(part.s1 - part.s0, 1, 3);
    }
    for (int64_t i = split.count(); i-- > 0;)
      run(dst, wino_slice(plan, split, i), ops, wino_remote_sources(plan, split, i));
  }
  // Units one at a time, every `stride`-th one, by a thread that keeps what it has from run to run; behind the first
  // run over a block of tiles, the sources are gone.
  void run_units(float* dst, int64_t stride) {
    const bool in_registers = plan.weights == WinoWeights::in_registers;
    const int64_t tiles = wino_span_parts(plan), units = plan.units;
    const int64_t slices = std::min(plan.block_slices, p_.d.out), some = in_registers ? 1 : plan.block_tiles;
    std::vector<float> src(src_.data(), src_.data() + src_.size());
    std::fill_n(scratch_.data(), scratch_.size(), std::nanf(""));
    WinoKept kept;
    ConvArgs args{src.data(), packed_.data(), dst, nullptr, 0, scratch_.data()};
    args.kept = &kept;
    args.remote.everywhere = true;
    for (int64_t group = 0; group < p_.groups; ++group)
      for (int64_t s = 0; s < tiles; s += some)
        for (int64_t d = 0; d < p_.d.out; d += slices) {
          std::copy_n(src_.data(), src_.size(), src.data());
          for (int64_t first = 0; first < std::min(stride, units); ++first)
            for (int64_t u = first; u < units; u += stride) {
              const int64_t unit = group * units + u;
              args.oc_ahead = (group + 1) * units;
              kernel_.run(plan, args,
                          {unit, unit + 1, s, std::min(s + some, tiles), d, std::min(d + slices, p_.d.out)});
              std::fill(src.begin(), src.end(), std::nanf(""));
            }
        }
  }
  void run_misaligned(float* dst) {
    std::vector<float> src(src_.size() + 1), packed(packed_.size() + 1), scratch(scratch_.size() + 1);
    std::memcpy(src.data() + 1, src_.data(), src_.size() * sizeof(float));
    std::memcpy(packed.data() + 1, packed_.data(), packed_.size() * sizeof(float));
    const ConvArgs args{src.data() + 1, packed.data() + 1, dst, nullptr, 0, scratch.data() + 1};
    kernel_.run(plan, args, wino_slice(plan, wino_split(plan, 1), 0));
  }

 private:
  const WinoKernel& kernel_;
  const ConvProblem p_;

 public:
  const WinoPlan plan;

 private:
  GuardedFloats src_, packed_, scratch_;
};

void expect_same_bits(const GuardedFloats& a, const GuardedFloats& b, const char* what) {
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
}

// The largest output that sources in [-1, 1] can give, without the bias, by output channel.
std::vector<double> weight_sums(const ConvProblem& p, const Reference& r) {
  const auto taps = static_cast<size_t>(p.d.kernel * p.h.kernel * p.w.kernel);
  const size_t kernel = static_cast<size_t>(p.ic / p.groups) * taps;
  std::vector<double> sums(static_cast<size_t>(p.oc));
  for (size_t i = 0; i < r.wei.size(); ++i)
    sums[p.transposed ? i / taps % sums.size() : i / kernel] += std::abs(static_cast<double>(r.wei[i]));
  return sums;
}

void check_winograd(const WinoKernel& kernel, const ConvProblem& p, const Reference& r,
                    std::optional<WinoWeights> weights = std::nullopt) {
  SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p));
  ASSERT_EQ(wino_reject(p, kernel), nullptr);
  WinogradBench bench(kernel, p, r, weights);
  for (size_t i = 0; i < bench.packed().size(); ++i)
    ASSERT_FALSE(std::isnan(bench.packed().data()[i])) << "packing left out " << i;
  const float nan = std::nanf("");
  GuardedFloats dst(bench.dst_floats(), nan);
  bench.run_sliced(dst.data(), 1);

  const double bound = wino_error_bound(p, kernel.tile, r.wei.data());
  const std::vector<double> sums = weight_sums(p, r);
  int64_t wrong = 0;
  size_t at = 0;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = 0; c < p.oc; ++c)
      for (int64_t d = 0; d < p.d.out; ++d)
        for (int64_t h = 0; h < p.h.out; ++h)
          for (int64_t w = 0; w < p.w.out; ++w, ++at) {
            const double got = dst.data()[bench.dst_offset(n, c, d, h, w)];
            const double tolerance = bound * sums[static_cast<size_t>(c)] + 1e-7;
            if (!(std::abs(got - r.dst[at]) <= tolerance) && ++wrong <= 5)
              ADD_FAILURE() << "n " << n << " c " << c << " d " << d << " h " << h << " w " << w << ": got " << got
                            << ", expected " << r.dst[at] << " +- " << tolerance;
          }
  ASSERT_EQ(wrong, 0);
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = p.oc; c % bench.plan.block != 0; ++c)
      for (int64_t d = 0; d < p.d.out; ++d)
        for (int64_t h = 0; h < p.h.out; ++h)
          for (int64_t w = 0; w < p.w.out; ++w)
            ASSERT_EQ(dst.data()[bench.dst_offset(n, c, d, h, w)], 0.0f) << "tail channel " << c;

  for (const int64_t threads : {2, 3, 4, 8}) {
    GuardedFloats other(dst.size(), nan);
    bench.run_sliced(other.data(), threads);
    expect_same_bits(dst, other, "slices");
  }
  GuardedFloats single(dst.size(), nan), misaligned(dst.size() + 1, nan);
  const int64_t tiles = wino_span_parts(bench.plan);
  for (int64_t u = wino_units(bench.plan); u-- > 0;)
    for (int64_t s = tiles; s-- > 0;)
      for (int64_t d = p.d.out; d-- > 0;) bench.run(single.data(), {u, u + 1, s, s + 1, d, d + 1});
  expect_same_bits(dst, single, "single tiles");
  for (const int64_t stride : {1, 2}) {
    GuardedFloats units(dst.size(), nan);
    bench.run_units(units.data(), stride);
    expect_same_bits(dst, units, "units with inputs that were kept");
  }
  bench.run_misaligned(misaligned.data());
  EXPECT_EQ(std::memcmp(dst.data(), misaligned.data(), dst.size() * sizeof(float)), 0) << "misaligned bases";
  EXPECT_TRUE(std::isnan(misaligned.data()[dst.size()])) << "wrote past the end";

  if (kernel.tile != 4 || weights) return;
  for (const WinoWeights other : {WinoWeights::packed, WinoWeights::staged}) {
    if (other == bench.plan.weights) continue;
    if (kernel.stride == 2) {
      check_winograd(kernel, p, r, other);
      continue;
    }
    if (bench.plan.weights == WinoWeights::in_registers) continue;
    // The same products of the same weights in the same order.
    WinogradBench again(kernel, p, r, other);
    for (size_t i = 0; i < again.packed().size(); ++i)
      ASSERT_FALSE(std::isnan(again.packed().data()[i])) << "packing left out " << i;
    GuardedFloats result(dst.size(), nan);
    again.run_sliced(result.data(), 2);
    expect_same_bits(dst, result, "staged and packed");
  }
}

// Those of one stride. Stride 1 is in every bucket but scalar, where that is not the only one; stride 2 from AVX2 on.
std::vector<WinoKernel> kernels_of(Isa isa, int64_t stride) {
  std::vector<WinoKernel> kernels;
  for (const WinoKernel& kernel : wino_kernels(isa))
    if (kernel.stride == stride) kernels.push_back(kernel);
  return kernels;
}

void check_winograd(const ConvProblem& p) {
  const Reference r = reference(p);
  for (const Isa isa : available_isas()) {
    const bool wide = isa != Isa::scalar && isa != Isa::sse42, only_scalar = available_isas().size() == 1;
    const int64_t stride = p.transposed ? 1 : p.h.stride;
    const std::vector<WinoKernel> kernels = kernels_of(isa, stride);
    ASSERT_EQ(kernels.size(), stride == 2 ? (wide ? 2u : 0u) : isa != Isa::scalar || only_scalar ? 2u : 0u);
    const bool dilated = p.h.dilation != 1 || p.w.dilation != 1, segments = p.h.kernel != 3 || p.w.kernel != 3;
    for (const WinoKernel& kernel : kernels)
      if ((!dilated && !segments && !p.transposed) || kernel.tile == 4) check_winograd(kernel, p, r);
  }
}

TEST(ConvWinograd, ExtentsAroundTiles) {
  for (const int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 13})
    check_winograd(problem_of(1, 1, 16, 16, padded(size), padded(6)));
  for (const int64_t size : {1, 3, 5, 11, 16}) check_winograd(problem_of(1, 1, 16, 16, padded(5), padded(size)));
}

TEST(ConvWinograd, ChannelsAroundBlocks) {
  for (const int64_t ic : {1, 3, 5, 15, 17, 30}) check_winograd(problem_of(1, 1, ic, 16, padded(7), padded(7)));
  for (const int64_t oc : {1, 3, 7, 17, 40, 50, 67}) check_winograd(problem_of(1, 1, 20, oc, padded(6), padded(9)));
}

TEST(ConvWinograd, Pads) {
  for (const int64_t before : {0, 1, 2, 3})
    for (const int64_t after : {0, 1, 2})
      check_winograd(problem_of(1, 1, 17, 16, axis(6, 3, 1, 1, before, after), axis(5, 3, 1, 1, after, before)));
  // Cropped at the beginning, and padded beyond a whole tile.
  check_winograd(problem_of(1, 1, 16, 16, axis(12, 3, 1, 1, -2, -1), axis(9, 3, 1, 1, -1, 0)));
  check_winograd(problem_of(1, 1, 16, 16, axis(3, 3, 1, 1, 7, 9), axis(4, 3, 1, 1, 6, 8)));
}

// Padded so that the extent stays.
ConvAxis dilated_axis(int64_t in, int64_t dilation) { return axis(in, 3, 1, dilation, dilation, dilation); }

TEST(ConvWinograd, Dilations) {
  // Phases of 0 to 6 outputs, of two lengths and of one; a dilation of one axis alone; more phases than outputs.
  for (const int64_t dilation : {2, 3, 4, 7})
    for (const int64_t size : {1, 2, 5, 9, 12, 13, 17})
      check_winograd(problem_of(1, 1, 17, 16, dilated_axis(size, dilation), dilated_axis(11, 2)));
  for (const int64_t size : {3, 8, 15, 22}) check_winograd(problem_of(1, 1, 16, 20, padded(7), dilated_axis(size, 3)));
  check_winograd(problem_of(1, 1, 16, 16, dilated_axis(9, 12), padded(6)));
  // Pads that are no dilation, and crops.
  for (const int64_t before : {0, 1, 2, 5})
    for (const int64_t after : {0, 1, 4})
      check_winograd(problem_of(1, 1, 16, 16, axis(12, 3, 1, 2, before, after), axis(14, 3, 1, 3, after, before)));
  check_winograd(problem_of(1, 1, 16, 16, axis(12, 3, 1, 2, -2, -1), axis(9, 3, 1, 2, -1, 0)));
  check_winograd(problem_of(1, 1, 16, 16, axis(3, 3, 1, 2, 9, 11), axis(4, 3, 1, 3, 8, 10)));
  check_winograd(problem_of(2, 2, 64, 96, dilated_axis(9, 2), dilated_axis(10, 2)));
  check_winograd(problem_of(3, 1, 33, 40, dilated_axis(33, 6), dilated_axis(33, 6)));
  check_winograd(problem_of(1, 1, 16, 16, dilated_axis(9, 2), dilated_axis(6, 2), axis(4, 3, 1, 1, 1, 1)));
}

// Cut into segments of 3x3.
TEST(ConvWinograd, KernelsOfOtherSizes) {
  const auto same = [](int64_t in, int64_t kernel, int64_t dilation = 1) {
    const int64_t all = (kernel - 1) * dilation;
    return axis(in, kernel, 1, dilation, all - all / 2, all / 2);
  };
  for (int64_t h = 2; h <= 9; ++h)
    for (int64_t w = 2; w <= 9; ++w)
      if (h != 3 || w != 3) check_winograd(problem_of(1, 1, 16, 20, same(11, h), same(9, w)));
  for (const int64_t size : {1, 2, 4, 5, 8, 13}) {
    check_winograd(problem_of(1, 1, 16, 16, same(size, 5), same(7, 5)));
    check_winograd(problem_of(1, 1, 16, 16, same(7, 7), same(size, 7)));
  }
  check_winograd(problem_of(1, 1, 16, 16, axis(12, 5, 1, 1, 0, 3), axis(9, 4, 1, 1, 7, 0)));
  check_winograd(problem_of(1, 1, 16, 16, axis(12, 5, 1, 1, -2, -1), axis(14, 7, 1, 1, -3, 9)));
  check_winograd(problem_of(1, 1, 16, 16, same(19, 5, 3), same(17, 4, 2)));
  check_winograd(problem_of(3, 1, 48, 70, same(17, 5), same(13, 5)));
  // Images of four tiles; weights in several stages; kernel slices.
  check_winograd(problem_of(1, 1, 64, 40, same(7, 5), same(8, 5)));
  check_winograd(problem_of(1, 1, 288, 40, same(13, 5), same(9, 5)));
  check_winograd(problem_of(1, 1, 16, 20, same(6, 5), same(7, 5), axis(5, 5, 1, 1, 2, 2)));
  // Channels that are no whole blocks, which all segments but the last have.
  for (const int64_t ic : {1, 7, 15, 17, 37}) check_winograd(problem_of(1, 1, ic, 20, same(7, 5), same(9, 7)));
  check_winograd(problem_of(1, 1, 21, 20, same(6, 5), same(7, 4), axis(4, 3, 1, 1, 1, 1)));
  check_winograd(problem_of(1, 1, 21, 20, same(19, 5, 3), same(17, 4, 2)));
  check_winograd(problem_of(1, 1, 185, 40, same(10, 7), same(9, 7)));
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      const auto refuses = [&](const ConvProblem& p) { return wino_reject(p, kernel) != nullptr; };
      EXPECT_EQ(refuses(problem_of(1, 1, 16, 16, same(11, 5), same(9, 5))), kernel.tile == 2 || kernel.stride == 2);
      EXPECT_TRUE(refuses(problem_of(1, 2, 32, 32, same(11, 5), same(9, 5))));
      EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, same(11, 1), same(9, 5))));
      EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, same(21, 10), same(9, 5))));
    }
}

// Of a kernel whose outputs are `stride` times as many as inputs, but for what is cut off or added at the end.
ConvAxis upsampling_axis(int64_t in, int64_t kernel, int64_t stride, int64_t more = 0) {
  ConvAxis a = transposed_axis(in, kernel, stride, 1, std::max<int64_t>(kernel - stride, 0) / 2);
  a.out = in * stride + more;
  return a;
}

// Phases of an output, each of which is a kernel of up to 3x3.
TEST(ConvWinograd, Transposed) {
  const auto square = [](int64_t ic, int64_t oc, int64_t size, int64_t kernel, int64_t stride) {
    return transposed(
        problem_of(1, 1, ic, oc, upsampling_axis(size, kernel, stride), upsampling_axis(size + 2, kernel, stride)));
  };
  for (const int64_t size : {1, 2, 3, 4, 5, 8, 9, 13}) check_winograd(square(16, 16, size, 4, 2));
  for (int64_t kernel = 2; kernel <= 6; ++kernel) check_winograd(square(17, 20, 6, kernel, 2));
  for (const int64_t kernel : {3, 5, 6, 7, 8, 9}) check_winograd(square(16, 16, 5, kernel, 3));
  check_winograd(square(5, 16, 5, 8, 4));
  for (const int64_t ic : {1, 15, 33}) check_winograd(square(ic, 17, 7, 4, 2));
  for (const int64_t oc : {1, 7, 40, 67}) check_winograd(square(20, oc, 7, 4, 2));
  // Kernels and strides of one axis; stride 1.
  check_winograd(transposed(problem_of(2, 1, 16, 20, upsampling_axis(6, 3, 1), upsampling_axis(7, 4, 2))));
  check_winograd(transposed(problem_of(3, 1, 16, 40, upsampling_axis(6, 3, 1), upsampling_axis(7, 3, 1))));
  check_winograd(transposed(problem_of(1, 1, 16, 16, upsampling_axis(4, 2, 2), upsampling_axis(5, 6, 3))));
  // Weights in several stages, and units of several blocks.
  check_winograd(square(288, 80, 6, 4, 2));
  check_winograd(square(70, 140, 9, 5, 2));
}

TEST(ConvWinograd, TransposedPads) {
  // Few outputs: fewer than phases; those of the last phases, one less; and pads that leave inputs without an output.
  for (int64_t pad = 0; pad <= 3; ++pad)
    for (int64_t out = 1; out <= 13; out += out < 5 ? 1 : 3) {
      ConvAxis h = transposed_axis(5, 4, 2), w = transposed_axis(6, 4, 2, 1, 1, 0);
      h.pad = pad;
      h.out = out;
      const ConvProblem p = transposed(problem_of(1, 1, 16, 16, h, w));
      for (const WinoKernel& kernel : kernels_of(available_isas().back(), 1))
        EXPECT_EQ(wino_reject(p, kernel) == nullptr, kernel.tile == 4) << describe(p);
      check_winograd(p);
    }
  for (const int64_t more : {-3, -1, 1, 2})
    check_winograd(
        transposed(problem_of(1, 1, 16, 16, upsampling_axis(6, 4, 2, more), upsampling_axis(5, 6, 3, -more))));
}

TEST(ConvWinograd, RejectsTransposedOnesThatReachFurther) {
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : kernels_of(isa, 1)) {
      const auto reason = [&](const ConvAxis& h, int64_t groups = 1, ConvAxis d = {}) {
        const char* why =
            wino_reject(transposed(problem_of(1, groups, 16, 16, h, upsampling_axis(5, 4, 2), d)), kernel);
        return std::string(why ? why : "");
      };
      if (kernel.tile == 2) {
        EXPECT_EQ(reason(upsampling_axis(5, 4, 2)), "transposed");
        continue;
      }
      const std::string far = "an output and its neighbours read more than three inputs a side";
      EXPECT_EQ(reason(upsampling_axis(5, 4, 2)), "");
      EXPECT_EQ(reason(upsampling_axis(5, 7, 2)), far);
      EXPECT_EQ(reason(transposed_axis(1, 1, 1'000'000'000)), "outputs without a tap");
      EXPECT_EQ(reason(transposed_axis(5, 3, 2, 2)), far);
      EXPECT_EQ(reason(upsampling_axis(5, 24, 8)), "more than 81 taps");
      EXPECT_EQ(reason(upsampling_axis(5, 4, 2), 2), "transposed in groups");
      EXPECT_EQ(reason(upsampling_axis(5, 4, 2), 1, upsampling_axis(3, 2, 2)), "transposed in a volume");
    }
}

TEST(ConvWinograd, GroupsOfWholeBlocks) {
  check_winograd(problem_of(2, 2, 32, 64, padded(7), padded(6)));
  check_winograd(problem_of(1, 3, 96, 48, padded(6), padded(7)));
}

TEST(ConvWinograd, Depth) {
  for (const int64_t depth : {1, 2, 5, 9, 19})
    check_winograd(problem_of(1, 1, 17, 16, padded(5), padded(6), axis(depth, 3, 1, 1, 1, 1)));
  check_winograd(problem_of(2, 1, 16, 20, padded(5), padded(6), axis(6, 2, 1, 1, 0, 0)));
  check_winograd(problem_of(1, 2, 32, 32, padded(4), padded(4), axis(4, 5, 1, 1, 1, 3)));
  check_winograd(problem_of(1, 1, 16, 16, padded(4), padded(4), axis(7, 1, 1, 1, 0, 0)));
}

// Slices of which no two read the same: as many at once as one block has all tiles of.
TEST(ConvWinograd, SlicesOfTheirOwn) {
  for (const int64_t depth : {2, 5, 19}) {
    check_winograd(problem_of(1, 1, 17, 16, padded(5), padded(6), axis(depth, 1)));
    check_winograd(problem_of(2, 1, 16, 20, padded(13), padded(9), axis(depth, 1)));
  }
  check_winograd(problem_of(1, 1, 16, 16, padded(29), padded(33), axis(3, 1)));
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : kernels_of(isa, 1)) {
      const auto plan_of = [&](int64_t size, const ConvAxis& depth) {
        return wino_plan(problem_of(1, 1, 64, 64, padded(size), padded(size), depth), kernel);
      };
      const WinoPlan large = plan_of(56, axis(16, 1)), small = plan_of(5, axis(16, 1));
      EXPECT_EQ(large.block_slices, 1) << isa_name(isa);
      EXPECT_GT(large.block_tiles, 40) << isa_name(isa);
      EXPECT_GT(small.block_slices, 4) << isa_name(isa);
      EXPECT_EQ(small.block_tiles, small.rows.tiles * small.cols.tiles) << isa_name(isa);
      EXPECT_GT(plan_of(56, axis(16, 3, 1, 1, 1, 1)).block_slices, 4) << isa_name(isa);
    }
}

TEST(ConvWinograd, TilesWithFewerOutputsThanTheFirst) {
  for (const int64_t size : {6, 10, 11, 13, 14, 15})
    check_winograd(problem_of(1, 1, 17, 16, padded(size), padded(size)));
}

// Images whose weights are transformed by every run.
TEST(ConvWinograd, ImagesOfFourTiles) {
  for (const int64_t h : {5, 6, 7, 8})
    for (const int64_t w : {5, 6, 7, 8}) check_winograd(problem_of(1, 1, 16, 16, padded(h), padded(w)));
  for (const int64_t channels : {1, 15, 17, 33, 70})
    check_winograd(problem_of(1, 1, channels, channels, padded(7), padded(7)));
  check_winograd(problem_of(3, 2, 64, 32, padded(7), padded(8)));
  for (const WinoKernel& kernel : kernels_of(Isa::avx512, 1)) {
    const bool four = kernel.tile == 4;
    EXPECT_EQ(wino_plan(problem_of(2, 1, 32, 32, padded(7), padded(7)), kernel).weights,
              four ? WinoWeights::in_registers : WinoWeights::packed);
    EXPECT_EQ(wino_plan(problem_of(2, 1, 32, 32, padded(7), padded(9)), kernel).weights, WinoWeights::packed);
  }
}

// So many channels that not all weights of a unit are transformed at once.
TEST(ConvWinograd, WeightsInSeveralStages) {
  const ConvProblem deep = problem_of(1, 1, 1100, 70, padded(9), padded(6));
  check_winograd(deep);
  check_winograd(problem_of(1, 1, 1030, 40, padded(5), padded(9), axis(3, 2, 1, 1, 0, 1)));
  for (const Isa isa : available_isas()) {
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      if (kernel.tile != 4) continue;
      const WinoPlan plan = wino_plan(deep, kernel, WinoWeights::staged);
      EXPECT_LT(plan.stage_blocks, plan.ic_blocks) << kernel.name;
      EXPECT_EQ(wino_plan(problem_of(1, 1, 512, 512, padded(32), padded(32)), kernel).weights, WinoWeights::staged);
    }
  }
}

TEST(ConvWinograd, ManyTilesAndChannels) {
  check_winograd(problem_of(1, 1, 80, 112, padded(33), padded(31)));
  check_winograd(problem_of(3, 1, 32, 48, padded(13), padded(17)));
}

TEST(ConvWinograd, AnImageHasTheSameBitsAloneAndAtAnyPlaceInABatch) {
  for (const Isa isa : available_isas()) {
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      const ConvProblem one = kernel.stride == 2
                                  ? problem_of(1, 1, 18, 34, strided(13), strided(18))
                                  : problem_of(1, 1, 18, 34, padded(7), padded(10), axis(3, 3, 1, 1, 1, 1));
      ConvProblem three = one;
      three.batch = 3;
      const Reference alone = reference(one);
      Reference batch = reference(three);
      const size_t image = alone.src.size();
      batch.wei = alone.wei;
      batch.bias = alone.bias;
      WinogradBench single(kernel, one, alone);
      std::vector<float> expected(single.dst_floats());
      single.run_sliced(expected.data(), 1);
      for (size_t place = 0; place < 3; ++place) {
        SCOPED_TRACE(std::string(kernel.name) + " place " + std::to_string(place));
        Reference filled = batch;
        // Neighbours that would spoil whatever they touched.
        std::fill(filled.src.begin(), filled.src.end(), std::numeric_limits<float>::infinity());
        std::copy(alone.src.begin(), alone.src.end(), filled.src.begin() + static_cast<std::ptrdiff_t>(place * image));
        WinogradBench whole(kernel, three, filled);
        std::vector<float> got(whole.dst_floats());
        whole.run_sliced(got.data(), 2);
        EXPECT_EQ(std::memcmp(got.data() + place * expected.size(), expected.data(), expected.size() * sizeof(float)),
                  0);
      }
    }
  }
}

// At stride 2 the order of sums depends on how many input channels are staged at once, and so on the units. Of small
// images, where they would most easily follow from the batch, models take the direct kernel: this guards the plans.
TEST(ConvWinograd, UnitsDoNotDependOnTheBatch) {
  for (const Isa isa : available_isas()) {
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      for (const int64_t oc : {64, 96, 128, 160, 256, 512}) {
        for (const int64_t size : {2, 3, 4, 5, 7, 9, 11, 13, 14, 19, 28, 33, 57}) {
          const auto axis_of = [&](int64_t in) { return kernel.stride == 2 ? strided(in) : padded(in); };
          ConvProblem p = problem_of(1, 1, 256, oc, axis_of(size), axis_of(size));
          const WinoPlan one = wino_plan(p, kernel);
          for (p.batch = 2; p.batch <= 9; ++p.batch) {
            SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p));
            const WinoPlan more = wino_plan(p, kernel);
            EXPECT_EQ(more.unit_blocks, one.unit_blocks);
            EXPECT_EQ(more.stage_blocks, one.stage_blocks);
            EXPECT_EQ(more.weights, one.weights);
          }
        }
      }
    }
  }
}

TEST(ConvWinograd, PostOps) {
  // 11 tiles of 4 columns, or of 2: more than are buffered at once; and rows of 4 + 3 tiles.
  for (const ConvProblem& p :
       {problem_of(1, 1, 16, 37, padded(6), padded(43)), problem_of(1, 1, 16, 37, strided(9), strided(43)),
        problem_of(1, 1, 16, 37, strided(9), strided(56)),
        problem_of(1, 1, 16, 37, dilated_axis(9, 2), dilated_axis(11, 3)),
        transposed(problem_of(1, 1, 16, 37, upsampling_axis(5, 4, 2), upsampling_axis(21, 4, 2)))}) {
    const Reference r = reference(p);
    for (const Isa isa : available_isas()) {
      for (const WinoKernel& kernel : kernels_of(isa, p.transposed ? 1 : p.h.stride)) {
        if (wino_reject(p, kernel)) continue;
        WinogradBench bench(kernel, p, r);
        check_post_op_chains(bench, p, kernel.name,
                             [&](int64_t c, int64_t h, int64_t w) { return bench.dst_offset(0, c, 0, h, w); });
      }
    }
  }
}

TEST(ConvWinograd, RejectsWhatItCannotCompute) {
  const ConvProblem good = problem_of(1, 1, 16, 16, padded(8), padded(8));
  for (const Isa isa : available_isas()) {
    if (wino_kernels(isa).empty()) continue;
    const WinoKernel& kernel = wino_kernels(isa)[0];
    EXPECT_EQ(wino_reject(good, kernel), nullptr);
    const auto reason = [&](auto change) {
      ConvProblem p = good;
      change(p);
      const char* why = wino_reject(p, kernel);
      return std::string(why ? why : "");
    };
    EXPECT_EQ(reason([](ConvProblem& p) { p.h = axis(12, 10); }), "kernel has not 2 to 9 taps a side");
    EXPECT_EQ(reason([](ConvProblem& p) { p.w = axis(8, 1); }), "kernel has not 2 to 9 taps a side");
    EXPECT_EQ(reason([](ConvProblem& p) { p.w = axis(8, 3, 2); }), "stride does not fit");
    EXPECT_EQ(reason([](ConvProblem& p) { p.h = p.w = axis(8, 3, 2); }), "stride does not fit");
    EXPECT_EQ(reason([](ConvProblem& p) { p.h = axis(8, 3, 1, 2); }), kernel.tile == 4 ? "" : "dilation is not 1");
    EXPECT_EQ(reason([](ConvProblem& p) { p.d = axis(8, 3, 1, 2); }), "dilation is not 1");
    EXPECT_EQ(reason([](ConvProblem& p) { p.d = axis(8, 3, 2); }), "stride does not fit");
    EXPECT_EQ(reason([](ConvProblem& p) { p.groups = 4; }), "channels per group are not whole blocks");
    EXPECT_EQ(reason([](ConvProblem& p) { p.ic = 0; }), "extents must be positive");
  }
}

TEST(ConvWinogradStrided, RejectsWhatItCannotCompute) {
  for (const Isa isa : available_isas()) {
    for (const WinoKernel& kernel : kernels_of(isa, 2)) {
      const auto reason = [&](ConvAxis h, ConvAxis w, ConvAxis d = {}) {
        const char* why = wino_reject(problem_of(1, 1, 16, 16, h, w, d), kernel);
        return std::string(why ? why : "");
      };
      EXPECT_EQ(reason(strided(8), strided(9)), "");
      EXPECT_EQ(reason(strided(8), strided(8), axis(4, 1)), "") << "slices of their own";
      EXPECT_EQ(reason(padded(8), padded(8)), "stride does not fit");
      EXPECT_EQ(reason(padded(8), strided(8)), "stride does not fit");
      EXPECT_EQ(reason(strided(8), axis(9, 3, 3)), "stride does not fit");
      EXPECT_EQ(reason(axis(9, 2, 2), axis(9, 2, 2)), "kernel is not 3x3");
      EXPECT_EQ(reason(axis(9, 3, 2, 2), strided(9)), "dilation is not 1");
      EXPECT_EQ(reason(strided(8), strided(8), axis(4, 1, 2)), "stride does not fit");
      EXPECT_EQ(reason(strided(8), strided(8), axis(4, 3)), "stride in a volume");
    }
  }
}

TEST(ConvWinogradStrided, ExtentsAndPads) {
  for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17})
    check_winograd(problem_of(1, 1, 16, 16, strided(size), strided(11)));
  for (const int64_t size : {1, 2, 3, 4, 5, 8, 31}) check_winograd(problem_of(1, 1, 16, 16, strided(9), strided(size)));
  for (const int64_t size : {5, 6, 7, 8})
    for (const int64_t before : {0, 1, 2})
      for (const int64_t after : {0, 1, 2})
        check_winograd(problem_of(1, 1, 17, 16, strided(size, before, after), strided(size + 1, after, before)));
  // Cropped at the beginning, and padded beyond a whole tile.
  check_winograd(problem_of(1, 1, 16, 16, strided(12, -2, -1), strided(9, -1, 0)));
  check_winograd(problem_of(1, 1, 16, 16, strided(3, 7, 9), strided(4, 6, 8)));
}

TEST(ConvWinogradStrided, ChannelsGroupsBatchesAndSlices) {
  for (const int64_t ic : {1, 3, 15, 17, 33, 50}) check_winograd(problem_of(1, 1, ic, 16, strided(12), strided(13)));
  for (const int64_t oc : {1, 7, 17, 40, 50, 67}) check_winograd(problem_of(1, 1, 20, oc, strided(11), strided(18)));
  check_winograd(problem_of(2, 2, 32, 64, strided(13), strided(10)));
  check_winograd(problem_of(3, 1, 32, 48, strided(13), strided(17)));
  check_winograd(problem_of(1, 1, 80, 112, strided(65), strided(61)));
  // Packed weights beyond L2, which are fetched ahead.
  check_winograd(problem_of(1, 1, 250, 100, strided(13), strided(10)));
  check_winograd(problem_of(1, 1, 16, 20, strided(9), strided(10), axis(5, 1)));
  check_winograd(problem_of(2, 1, 16, 16, strided(5), strided(6), axis(3, 1, 1, 1, 1, 2)));
}

TEST(ConvWinogradStrided, StagesLargeWeights) {
  const ConvProblem p = problem_of(2, 1, 1050, 140, strided(9), strided(6));
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : kernels_of(isa, 2)) {
      const WinoPlan plan = wino_plan(p, kernel);
      EXPECT_EQ(plan.weights, WinoWeights::staged) << kernel.name;
      EXPECT_LT(plan.stage_blocks, plan.ic_blocks) << kernel.name;
      const int64_t channels = kernel.tile == 4 ? 128 : 256;
      EXPECT_EQ(wino_plan(problem_of(1, 1, channels, channels, strided(9), strided(12)), kernel).weights,
                WinoWeights::packed);
    }
  check_winograd(p);
}

TEST(ConvWinogradStrided, WeightsInRegistersForPartsOfRowsOfTiles) {
  struct Case {
    int64_t h, w;  // of the output
    bool in_registers;
  };
  // Rows of tiles in parts of three and four, all of which have a last sum, or the first two of four.
  const Case cases[] = {{7, 7, true},  {7, 8, true},    {8, 7, true},   {5, 7, true},    {6, 5, false}, {9, 14, true},
                        {3, 16, true}, {14, 13, false}, {4, 12, true},  {10, 11, false}, {7, 24, true}, {8, 26, true},
                        {5, 28, true}, {2, 56, true},   {17, 6, false}, {9, 3, false}};
  for (const auto& [h, w, in_registers] : cases) {
    const ConvProblem p = problem_of(2, 1, 21, 20, strided(2 * h), strided(2 * w - 1));
    ASSERT_EQ(p.h.out, h);
    ASSERT_EQ(p.w.out, w);
    check_winograd(p);
    for (const WinoKernel& kernel : kernels_of(Isa::avx512, 2))
      EXPECT_EQ(wino_plan(p, kernel).weights == WinoWeights::in_registers, in_registers && kernel.tile == 4) << w;
  }
  check_winograd(problem_of(1, 2, 64, 32, strided(14), strided(14)));
  check_winograd(problem_of(2, 1, 70, 40, strided(13), strided(56)));
}

TEST(ConvWinograd, AnEmptyBatchHasNoSlices) {
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      const ConvAxis side = kernel.stride == 2 ? strided(8) : padded(8);
      EXPECT_EQ(wino_split(wino_plan(problem_of(0, 1, 16, 16, side, side), kernel), 4).count(), 0);
    }
}

TEST(ConvWinograd, TwoThreadsGetEquallyManyChannels) {
  // 32 blocks of 16, whose 16 tiles are one block: in units of three, one thread had 17.
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      const ConvAxis side = kernel.stride == 2 ? strided(16) : padded(16);
      const WinoPlan plan = wino_plan(problem_of(1, 1, 512, 512, side, side), kernel);
      const WinoSplit split = wino_split(plan, 2);
      ASSERT_EQ(split.part_count(), 2) << kernel.name;
      if (split.oc == 1) continue;
      const int64_t first = std::min(wino_part(plan, split, 0).oc1 * plan.unit_blocks, plan.oc_blocks);
      EXPECT_EQ(2 * first, plan.oc_blocks) << kernel.name;
    }
}

TEST(ConvWinograd, PartsOfTilesFetchWhatTheirNeighboursWrote) {
  const auto kernels = wino_kernels(available_isas().back());
  if (kernels.empty()) GTEST_SKIP() << "no Winograd kernels";
  const WinoPlan plan = wino_plan(problem_of(1, 1, 16, 16, padded(48), padded(48)), kernels.front());
  const int64_t row = plan.cols.tiles, all = plan.rows.tiles * row;
  const WinoSplit three{1, 3, 1, 2, 1};
  const auto of_part = [&](int64_t part) { return wino_remote_sources(plan, three, 2 * part); };
  EXPECT_EQ(of_part(0).begin, 0);
  EXPECT_EQ(of_part(0).end, all / 3 - row);
  EXPECT_EQ(of_part(1).begin, all / 3 + row);
  EXPECT_EQ(of_part(1).end, 2 * all / 3 - row);
  EXPECT_EQ(wino_remote_sources(plan, three, 3).begin, of_part(1).begin);  // of the part, not of its slices
  EXPECT_EQ(of_part(2).begin, 2 * all / 3 + row);
  EXPECT_GE(of_part(2).end, all);
  for (int64_t part = 0; part < 3; ++part) EXPECT_FALSE(of_part(part).everywhere);
  EXPECT_TRUE(wino_remote_sources(plan, {2, 1, 1, 1, 1}, 1).everywhere);
}

TEST(ConvWinogradErrorBound, GrowsWithTheTileAndTheChannels) {
  const ConvProblem narrow = problem_of(1, 1, 16, 4, padded(8), padded(8)),
                    wide = problem_of(1, 1, 256, 4, padded(8), padded(8));
  const std::vector<float> weights(256 * 4 * 9, 0.5f);
  EXPECT_GT(wino_error_bound(narrow, 2, weights.data()), 0);
  EXPECT_GT(wino_error_bound(narrow, 4, weights.data()), wino_error_bound(narrow, 2, weights.data()));
  EXPECT_GT(wino_error_bound(wide, 4, weights.data()), wino_error_bound(narrow, 4, weights.data()));
  EXPECT_LT(wino_error_bound(wide, 4, weights.data()), kWinoTolerance);
  const ConvProblem huge = problem_of(1, 1, 65536, 1, padded(8), padded(8));
  EXPECT_GT(wino_error_bound(huge, 4, std::vector<float>(65536 * 9, 0.5f).data()), kWinoTolerance);
}

TEST(ConvWinogradErrorBound, KnowsWhereTheWeightsLie) {
  // One tap: the middle one is the worst for F(4,3), a corner the best.
  const ConvProblem p = problem_of(1, 1, 1, 1, padded(8), padded(8));
  double by_tap[9];
  for (size_t tap = 0; tap < 9; ++tap) {
    std::vector<float> weights(9);
    weights[tap] = 2.0f;
    by_tap[tap] = wino_error_bound(p, 4, weights.data());
    weights[tap] = -0.125f;
    EXPECT_EQ(wino_error_bound(p, 4, weights.data()), by_tap[tap]) << "scale and sign do not matter";
  }
  EXPECT_NE(by_tap[0], by_tap[4]);
  EXPECT_EQ(by_tap[1], by_tap[3]) << "rows and columns are alike";
}

TEST(ConvWinogradErrorBound, IsSmallestWithStride) {
  const ConvProblem one = problem_of(1, 1, 64, 4, padded(8), padded(8)),
                    two = problem_of(1, 1, 64, 4, strided(16), strided(16));
  const std::vector<float> even(64 * 4 * 9, 0.5f);
  EXPECT_GT(wino_error_bound(two, 2, even.data()), 0);
  for (const int64_t tile : {2, 4})
    EXPECT_LT(wino_error_bound(two, tile, even.data()), wino_error_bound(one, tile, even.data()));
  EXPECT_GT(wino_error_bound(two, 4, even.data()), wino_error_bound(two, 2, even.data()));
  // One tap: of a corner the source is a difference along both axes, twice as large and with another one in the sum.
  const ConvProblem p = problem_of(1, 1, 1, 1, strided(8), strided(8));
  std::vector<float> corner(9), middle(9);
  corner[8] = middle[4] = 2;
  EXPECT_DOUBLE_EQ(wino_error_bound(p, 2, corner.data()), 9 * wino_error_bound(p, 2, middle.data()));
  double worst = 0;
  for (size_t tap = 0; tap < 9; ++tap) {
    std::vector<float> weights(9);
    weights[tap] = 2;
    worst = std::max(worst, wino_amplification(p, 4, weights.data(), 1));
  }
  EXPECT_NEAR(worst, 94.178, 1e-3) << "by a computation of its own, with matrices";
}

TEST(ConvWinogradErrorBound, RefusesWeightsOutsideTheRange) {
  const ConvProblem p = problem_of(1, 1, 2, 2, padded(8), padded(8));
  const std::vector<float> zeros(36);
  EXPECT_EQ(wino_error_bound(p, 4, zeros.data()), 0);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), 3e38f, 1e-35f}) {
    std::vector<float> weights(36);
    weights[30] = bad;
    EXPECT_TRUE(std::isinf(wino_error_bound(p, 4, weights.data()))) << bad;
    EXPECT_TRUE(std::isinf(wino_error_bound(p, 2, weights.data()))) << bad;
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
