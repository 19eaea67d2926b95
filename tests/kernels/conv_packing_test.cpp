// Packed weights of every convolution kernel, byte for byte against the formats that plan_dense.cpp and plan_lanes.cpp
// describe: pieces one by one, last first, into memory full of NaNs that ends at a guard page, from weights that do.
#include <cmath>

#include "plugins/cpu/kernels/conv/dense.hpp"
#include "tests/kernels/conv_harness.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::cpu::conv_test {
namespace {

int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

struct Packer {
  const ConvPlan& plan;
  const std::vector<float>& weights;
  const std::vector<float>& bias;  // empty: none
  const ConvProblem& e = plan.exec;
  int64_t icg = e.ic / e.groups, ocg = e.oc / e.groups;
  int64_t taps = e.d.kernel * e.h.kernel * e.w.kernel;

  float weight(int64_t g, int64_t o, int64_t i, int64_t t) const {
    const int64_t row = e.transposed ? (g * icg + i) * ocg + o : (g * ocg + o) * icg + i;
    return weights[static_cast<size_t>(row * taps + t)];
  }
  float bias_of(int64_t o) const { return bias.empty() ? 0.0f : bias[static_cast<size_t>(o)]; }

  std::vector<float> dense() const {
    const bool few = plan.src_format == ConvFormat::nhwc && icg < 4 * plan.block && icg % plan.block != 0;
    const int64_t inner = plan.src_format == ConvFormat::plain ? 1 : few ? icg : plan.block;
    const int64_t padded_oc = round_up(ocg, plan.block), padded_ic = round_up(icg, inner);
    std::vector<float> packed;
    for (int64_t g = 0; g < e.groups; ++g)
      for (int64_t o = 0; o < padded_oc; ++o) packed.push_back(o < ocg ? bias_of(g * ocg + o) : 0.0f);
    while (packed.size() % 16 != 0) packed.push_back(0);
    const int64_t most = plan.oc_blocks * plan.block;
    for (int64_t g = 0; g < e.groups; ++g)
      for (int64_t o0 = 0; o0 < padded_oc; o0 += most)
        for (int64_t i0 = 0; i0 < padded_ic; i0 += inner)
          for (int64_t t = 0; t < taps; ++t)
            for (int64_t i = i0; i < i0 + inner; ++i)
              for (int64_t o = o0; o < std::min(o0 + most, padded_oc); ++o)
                packed.push_back(o < ocg && i < icg ? weight(g, o, i, t) : 0.0f);
    return packed;
  }

  std::vector<float> lanes() const {
    const int64_t padded = round_up(e.oc, plan.block), rows = e.d.kernel * e.h.kernel;
    std::vector<float> packed;
    for (int64_t o = 0; o < padded; ++o) packed.push_back(o < e.oc ? bias_of(o) : 0.0f);
    while (packed.size() % 16 != 0) packed.push_back(0);
    for (int64_t o0 = 0; o0 < padded; o0 += plan.block)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < icg; ++i)
          for (int64_t w = 0; w < e.w.kernel; ++w)
            for (int64_t o = o0; o < o0 + plan.block; ++o)
              packed.push_back(o < e.oc ? weight(o / ocg, o % ocg, i, r * e.w.kernel + w) : 0.0f);
    return packed;
  }
};

/// Of a piece only the weights of its own outputs are there.
void check_pieces_alone(const ConvKernel& kernel, const ConvPlan& plan, const std::vector<float>& weights,
                        const float* bias, const std::vector<float>& expected) {
  const int64_t row = static_cast<int64_t>(weights.size()) / plan.exec.oc;
  const bool dense = kernel.packing == std::string("pack_dense");
  const auto first_output = [&](int64_t piece) {
    return dense ? conv::dense_first_output(plan, piece) : std::min(piece * plan.block, plan.exec.oc);
  };
  const int64_t pieces = kernel.pack_pieces(plan);
  ASSERT_EQ(first_output(0), 0);
  ASSERT_EQ(first_output(pieces), plan.exec.oc);
  GuardedFloats packed(plan.packed_floats, std::nanf(""));
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = first_output(i) * row, end = first_output(i + 1) * row;
    GuardedFloats own(static_cast<size_t>(end - begin), 0);
    std::copy(weights.begin() + begin, weights.begin() + end, own.data());
    kernel.pack(plan, kernel, {own.data(), bias, first_output(i)}, packed.data(), i, i + 1);
  }
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(packed.data()[i], expected[i]) << "float " << i;
}

void check_packing(const ConvKernel& kernel, const ConvProblem& p, bool with_bias) {
  SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p) + (with_bias ? " with bias" : ""));
  ConvPlan plan;
  kernel.plan(p, kernel, plan);
  const auto count = static_cast<size_t>(p.ic / p.groups * p.oc * p.d.kernel * p.h.kernel * p.w.kernel);
  std::vector<float> values(count), bias(with_bias ? static_cast<size_t>(p.oc) : 0);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = -static_cast<float>(i + 1);
  GuardedFloats weights(count, 0);
  std::copy(values.begin(), values.end(), weights.data());

  const std::string packing = kernel.packing;
  ASSERT_TRUE(packing == "pack_dense" || packing == "pack_lanes") << packing;
  const Packer naive{plan, values, bias};
  const std::vector<float> expected = packing == "pack_dense" ? naive.dense() : naive.lanes();
  ASSERT_EQ(expected.size(), plan.packed_floats);
  GuardedFloats packed(plan.packed_floats, std::nanf(""));
  const ConvConstants constants{weights.data(), with_bias ? bias.data() : nullptr};
  for (int64_t i = kernel.pack_pieces(plan); i-- > 0;) kernel.pack(plan, kernel, constants, packed.data(), i, i + 1);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(packed.data()[i], expected[i]) << "float " << i;

  if (!p.transposed) check_pieces_alone(kernel, plan, values, constants.bias, expected);

  GuardedFloats at_once(plan.packed_floats, std::nanf(""));
  kernel.pack(plan, kernel, constants, at_once.data(), 0, kernel.pack_pieces(plan));
  EXPECT_EQ(std::memcmp(at_once.data(), packed.data(), plan.packed_floats * sizeof(float)), 0);
}

/// With every kernel that accepts the problem and packs in one of the two formats.
void check_packings(const ConvProblem& p) {
  int checked = 0;
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      if (kernel.reject(p, kernel)) continue;
      const std::string packing = kernel.packing;
      if (packing != "pack_dense" && packing != "pack_lanes") continue;
      check_packing(kernel, p, checked++ % 2 == 0);
    }
  EXPECT_GT(checked, 0) << describe(p);
}

ConvProblem square(int64_t ic, int64_t oc, int64_t kernel, int64_t groups = 1) {
  ConvProblem p;
  p.groups = groups;
  p.ic = ic;
  p.oc = oc;
  p.h = p.w = axis(9, kernel);
  return p;
}

TEST(ConvPacking, Pointwise) {
  for (const int64_t ic : {1, 5, 15, 16, 17, 33})
    for (const int64_t oc : {1, 7, 8, 9, 31, 64, 67}) check_packings(square(ic, oc, 1));
}

TEST(ConvPacking, WindowsOfOneToThreeAxes) {
  for (const int64_t ic : {1, 3, 4, 16, 23})
    for (const int64_t oc : {1, 8, 17, 47}) {
      check_packings(square(ic, oc, 3));
      ConvProblem line = square(ic, oc, 1);
      line.h = ConvAxis{};
      line.w = axis(40, 17);
      check_packings(line);
      ConvProblem cube = square(ic, oc, 2);
      cube.d = axis(5, 3);
      check_packings(cube);
    }
  check_packings(square(3, 64, 7));
}

TEST(ConvPacking, Groups) {
  check_packings(square(64, 32, 3, 2));
  check_packings(square(48, 96, 1, 3));
  for (const int64_t groups : {1, 2, 5, 8, 19}) {
    check_packings(square(groups * 4, groups * 4, 3, groups));
    check_packings(square(groups * 3, groups * 2, 3, groups));
    check_packings(square(groups * 2, groups * 6, 1, groups));
  }
}

TEST(ConvPacking, Depthwise) {
  for (const int64_t channels : {2, 7, 8, 16, 17, 35})
    for (const int64_t kernel : {1, 3, 5}) check_packings(square(channels, channels, kernel, channels));
  ConvProblem cube = square(19, 19, 3, 19);
  cube.d = axis(4, 2);
  check_packings(cube);
}

TEST(ConvPacking, Transposed) {
  for (const int64_t ic : {1, 6, 16, 35})
    for (const int64_t oc : {1, 8, 21, 40}) {
      ConvProblem p;
      p.transposed = true;
      p.ic = ic;
      p.oc = oc;
      p.h = transposed_axis(5, 4, 2, 1, 1, 1);
      p.w = transposed_axis(6, 3, 2, 1, 1, 1);
      check_packings(p);
    }
  ConvProblem grouped;
  grouped.transposed = true;
  grouped.groups = 2;
  grouped.ic = 32;
  grouped.oc = 64;
  grouped.h = grouped.w = transposed_axis(5, 2, 2);
  check_packings(grouped);
  for (const int64_t inputs : {1, 3})
    for (const int64_t outputs : {1, 5, 20}) {
      ConvProblem any = square(5 * inputs, 5 * outputs, 3, 5);
      any.transposed = true;
      check_packings(any);
    }
}

TEST(ConvPacking, EqualPackingsOfDifferentShapesAreEqual) {
  // What the cache of packed weights relies on: packing_of() holds all that the bytes depend on.
  int pairs = 0;
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      ConvProblem small = square(32, 48, 3), large = small;
      large.h = axis(30, 3, 1, 2, 1, 1);
      large.w = axis(57, 3, 2, 1, 1, 1);
      large.batch = 3;
      if (kernel.reject(small, kernel) || kernel.reject(large, kernel)) continue;
      ConvPlan a, b;
      kernel.plan(small, kernel, a);
      kernel.plan(large, kernel, b);
      const ConvPacking pa = packing_of(a), pb = packing_of(b);
      if (std::memcmp(&pa, &pb, offsetof(ConvPacking, transposed)) != 0) continue;
      ++pairs;
      std::vector<float> weights(32 * 48 * 9);
      for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
      ASSERT_EQ(a.packed_floats, b.packed_floats);
      std::vector<float> packed_a(a.packed_floats), packed_b(b.packed_floats);
      kernel.pack(a, kernel, {weights.data(), nullptr}, packed_a.data(), 0, kernel.pack_pieces(a));
      kernel.pack(b, kernel, {weights.data(), nullptr}, packed_b.data(), 0, kernel.pack_pieces(b));
      EXPECT_EQ(packed_a, packed_b) << kernel.name;
    }
  EXPECT_GT(pairs, 0);
}

}  // namespace
}  // namespace terroir::cpu::conv_test
