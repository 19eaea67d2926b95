#include "tests/kernels/conv_harness.hpp"

#include <cmath>

#include "plugins/cpu/kernels/post_ops/post_ops.hpp"

namespace terroir::cpu::conv_test {

std::string describe(const ConvProblem& p) {
  auto one = [](const char* name, const ConvAxis& a) {
    return std::string(" ") + name + "(in " + std::to_string(a.in) + " out " + std::to_string(a.out) + " k " +
           std::to_string(a.kernel) + " s " + std::to_string(a.stride) + " dil " + std::to_string(a.dilation) +
           " pad " + std::to_string(a.pad) + ")";
  };
  return std::string(p.transposed ? "transposed" : "conv") + " n " + std::to_string(p.batch) + " g " +
         std::to_string(p.groups) + " ic " + std::to_string(p.ic) + " oc " + std::to_string(p.oc) + one("d", p.d) +
         one("h", p.h) + one("w", p.w);
}

int64_t offset(const ConvStrides& s, ConvFormat format, int64_t block, int64_t n, int64_t c, int64_t d, int64_t h,
               int64_t w) {
  const int64_t channel = format == ConvFormat::plain ? c * s.c : c / block * s.c + c % block;
  return n * s.n + channel + d * s.d + h * s.h + w * s.w;
}

void lay_out_source(const ConvProblem& p, const ConvStrides& strides, ConvFormat format, int64_t block,
                    const std::vector<float>& plain, float* src) {
  size_t at = 0;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = 0; c < p.ic; ++c)
      for (int64_t d = 0; d < p.d.in; ++d)
        for (int64_t h = 0; h < p.h.in; ++h)
          for (int64_t w = 0; w < p.w.in; ++w) src[offset(strides, format, block, n, c, d, h, w)] = plain[at++];
}

Reference reference(const ConvProblem& p) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  auto fill = [&](std::vector<float>& v, int64_t n) {
    v.resize(static_cast<size_t>(n));
    for (float& x : v) x = uniform(random);
  };
  Reference r;
  const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
  const int64_t taps = p.d.kernel * p.h.kernel * p.w.kernel;
  const int64_t icg = p.ic / p.groups, ocg = p.oc / p.groups;
  fill(r.src, p.batch * p.ic * in);
  fill(r.wei, p.ic * ocg * taps);
  fill(r.bias, p.oc);
  r.dst.assign(static_cast<size_t>(p.batch * p.oc * out), 0.0);
  r.magnitude = r.dst;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < p.oc; ++o)
      for (int64_t i = 0; i < out; ++i) {
        const size_t at = static_cast<size_t>((n * p.oc + o) * out + i);
        r.dst[at] = r.bias[static_cast<size_t>(o)];
        r.magnitude[at] = std::abs(r.dst[at]);
      }
  // Scatter over (position of the longer loop, tap): for a convolution q is the output, for a transposed one the input.
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t g = 0; g < p.groups; ++g)
      for (int64_t o = 0; o < ocg; ++o)
        for (int64_t i = 0; i < icg; ++i) {
          const float* s = r.src.data() + (n * p.ic + g * icg + i) * in;
          const size_t d0 = static_cast<size_t>((n * p.oc + g * ocg + o) * out);
          const float* w = r.wei.data() + (p.transposed ? (g * icg + i) * ocg + o : (g * ocg + o) * icg + i) * taps;
          auto near = [&](const ConvAxis& a) { return p.transposed ? a.in : a.out; };
          auto far = [&](const ConvAxis& a) { return p.transposed ? a.out : a.in; };
          for (int64_t kd = 0; kd < p.d.kernel; ++kd)
            for (int64_t kh = 0; kh < p.h.kernel; ++kh)
              for (int64_t kw = 0; kw < p.w.kernel; ++kw) {
                const float weight = w[(kd * p.h.kernel + kh) * p.w.kernel + kw];
                for (int64_t qd = 0; qd < near(p.d); ++qd) {
                  const int64_t xd = qd * p.d.stride + kd * p.d.dilation - p.d.pad;
                  if (xd < 0 || xd >= far(p.d)) continue;
                  for (int64_t qh = 0; qh < near(p.h); ++qh) {
                    const int64_t xh = qh * p.h.stride + kh * p.h.dilation - p.h.pad;
                    if (xh < 0 || xh >= far(p.h)) continue;
                    for (int64_t qw = 0; qw < near(p.w); ++qw) {
                      const int64_t xw = qw * p.w.stride + kw * p.w.dilation - p.w.pad;
                      if (xw < 0 || xw >= far(p.w)) continue;
                      const int64_t q = (qd * near(p.h) + qh) * near(p.w) + qw,
                                    x = (xd * far(p.h) + xh) * far(p.w) + xw;
                      const double product = static_cast<double>(s[p.transposed ? q : x]) * weight;
                      const size_t at = d0 + static_cast<size_t>(p.transposed ? x : q);
                      r.dst[at] += product;
                      r.magnitude[at] += std::abs(product);
                    }
                  }
                }
              }
        }
  return r;
}

namespace {

int64_t tensor_floats(const ConvProblem& p, const ConvStrides& s) { return p.batch * s.n; }

}  // namespace

void check_kernel(const ConvKernel& kernel, const ConvProblem& p, const Reference& r) {
  SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p));
  ASSERT_EQ(kernel.reject(p, kernel), nullptr) << kernel.reject(p, kernel);
  ConvPlan plan;
  kernel.plan(p, kernel, plan);
  const float nan = std::nanf("");
  // The plan may have merged axes, so its strides of h and d are not those of the tensors.
  auto strides = [&](ConvFormat format, bool output) {
    const int64_t c = output ? p.oc : p.ic, d = output ? p.d.out : p.d.in, h = output ? p.h.out : p.h.in;
    const int64_t w = output ? p.w.out : p.w.in, block = plan.block;
    if (format == ConvFormat::plain) return ConvStrides{c * d * h * w, d * h * w, h * w, w, 1};
    if (format == ConvFormat::nhwc) return ConvStrides{c * d * h * w, block, h * w * c, w * c, c};
    return ConvStrides{(c + block - 1) / block * d * h * w * block, d * h * w * block, h * w * block, w * block, block};
  };
  const ConvStrides source_strides = strides(plan.src_format, false);
  const ConvStrides destination_strides = strides(plan.dst_format, true);
  GuardedFloats src(static_cast<size_t>(tensor_floats(p, source_strides)), nan);
  GuardedFloats packed(plan.packed_floats, nan);
  GuardedFloats scratch(plan.scratch_floats, nan);
  lay_out_source(p, source_strides, plan.src_format, plan.block, r.src, src.data());
  kernel.pack(plan, kernel, {r.wei.data(), r.bias.data()}, packed.data(), 0, kernel.pack_pieces(plan));

  const size_t dst_floats = static_cast<size_t>(tensor_floats(p, destination_strides));
  GuardedFloats dst(dst_floats, nan);
  ConvArgs args{src.data(), packed.data(), dst.data(), nullptr, 0, scratch.data()};
  const ConvGrid& g = plan.grid;
  kernel.run(plan, args, {0, g.n, 0, g.oc, 0, g.sp});

  // A sum of k terms has an error of at most about k units in the last place of its magnitude.
  const double terms = static_cast<double>(p.ic / p.groups * p.d.kernel * p.h.kernel * p.w.kernel + 2);
  const double epsilon = std::ldexp(1.0, -24);
  int64_t wrong = 0;
  size_t at = 0;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = 0; c < p.oc; ++c)
      for (int64_t d = 0; d < p.d.out; ++d)
        for (int64_t h = 0; h < p.h.out; ++h)
          for (int64_t w = 0; w < p.w.out; ++w, ++at) {
            const double got = dst.data()[offset(destination_strides, plan.dst_format, plan.block, n, c, d, h, w)];
            const double tolerance = terms * epsilon * r.magnitude[at] + 1e-30;
            if (!(std::abs(got - r.dst[at]) <= tolerance) && ++wrong <= 5) {
              ADD_FAILURE() << "n " << n << " c " << c << " d " << d << " h " << h << " w " << w << ": got " << got
                            << ", expected " << r.dst[at] << " +- " << tolerance;
            }
          }
  ASSERT_EQ(wrong, 0);
  if (plan.dst_format == ConvFormat::blocked) {
    for (int64_t n = 0; n < p.batch; ++n)
      for (int64_t c = p.oc; c % plan.block != 0; ++c)
        for (int64_t d = 0; d < p.d.out; ++d)
          for (int64_t h = 0; h < p.h.out; ++h)
            for (int64_t w = 0; w < p.w.out; ++w) {
              ASSERT_EQ(dst.data()[offset(destination_strides, plan.dst_format, plan.block, n, c, d, h, w)], 0.0f)
                  << "tail channel " << c;
            }
  }

  auto identical = [&](const char* what, auto&& run) {
    GuardedFloats other(dst_floats, nan);
    args.dst = other.data();
    run();
    EXPECT_EQ(std::memcmp(dst.data(), other.data(), dst_floats * sizeof(float)), 0) << what;
  };
  identical("single units, backwards", [&] {
    for (int64_t n = g.n; n-- > 0;)
      for (int64_t oc = g.oc; oc-- > 0;)
        for (int64_t sp = g.sp; sp-- > 0;) {
          std::fill_n(scratch.data(), plan.scratch_floats, nan);  // nothing of another unit
          kernel.run(plan, args, {n, n + 1, oc, oc + 1, sp, sp + 1});
        }
  });
  identical("lines fetched ahead", [&] {
    ConvLines lines[] = {{packed.data(), 3}, {packed.data(), 0}, {packed.data() + 16, 1000}};
    const float* const end = lines[2].begin + lines[2].count * 16;
    ConvAhead ahead{lines, 3, 2};
    ConvArgs fetching = args;
    fetching.ahead = &ahead;
    for (int run = 0; run < 2; ++run) kernel.run(plan, fetching, {0, g.n, 0, g.oc, 0, g.sp});
    for (const ConvLines& left : lines) EXPECT_GE(left.count, 0);
    EXPECT_EQ(lines[2].begin + lines[2].count * 16, end);
  });
  {
    // Bases that are multiples of the size of a float and of nothing larger; the destination again ends at its page.
    std::vector<float> shifted_src(src.size() + 1), shifted_packed(packed.size() + 1);
    std::memcpy(shifted_src.data() + 1, src.data(), src.size() * sizeof(float));
    std::memcpy(shifted_packed.data() + 1, packed.data(), packed.size() * sizeof(float));
    GuardedFloats other(dst_floats + 1, nan);
    const ConvArgs shifted{shifted_src.data() + 1, shifted_packed.data() + 1, other.data(), nullptr, 0, scratch.data()};
    kernel.run(plan, shifted, {0, g.n, 0, g.oc, 0, g.sp});
    EXPECT_EQ(std::memcmp(dst.data(), other.data(), dst_floats * sizeof(float)), 0) << "misaligned bases";
    EXPECT_TRUE(std::isnan(other.data()[dst_floats])) << "wrote past the end";
  }
  for (const int64_t threads : {2, 3, 7}) {
    identical("threads", [&] {
      const ConvSplit split = conv_split(plan, threads);
      for (int64_t i = split.count(); i-- > 0;) kernel.run(plan, args, conv_slice(plan, split, i));
    });
  }
}

void check_family(const std::string& family, const ConvProblem& problem) {
  const Reference expected = reference(problem);
  for (const Isa isa : available_isas()) {
    bool any = false;
    for (const ConvKernel& k : conv_kernels(isa)) {
      if (std::string(k.name).find(family) == std::string::npos || k.reject(problem, k)) continue;
      any = true;
      check_kernel(k, problem, expected);
    }
    EXPECT_TRUE(any) << isa_name(isa) << ": no " << family << " kernel accepts " << describe(problem);
  }
}

namespace {

// A kernel's tensors for one problem, with random sources and weights.
struct Setup {
  Setup(const ConvKernel& k, const ConvProblem& p) : kernel(k) {
    kernel.plan(p, kernel, plan);
    const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
    const int64_t icp =
        plan.src_format == ConvFormat::blocked ? (p.ic + plan.block - 1) / plan.block * plan.block : p.ic;
    const int64_t ocp =
        plan.dst_format == ConvFormat::blocked ? (p.oc + plan.block - 1) / plan.block * plan.block : p.oc;
    fill(src, p.batch * icp * in, 1);
    std::vector<float> weights, bias;
    fill(weights, p.ic * (p.oc / p.groups) * p.d.kernel * p.h.kernel * p.w.kernel, 2);
    fill(bias, p.oc, 3);
    packed.resize(plan.packed_floats);
    kernel.pack(plan, kernel, {weights.data(), bias.data()}, packed.data(), 0, kernel.pack_pieces(plan));
    scratch.resize(plan.scratch_floats);
    dst_floats = p.batch * ocp * out;
    fill(operand, dst_floats, 4);
    fill(per_channel, ocp, 5);
    // Padding of channels is zero in every tensor.
    for (int64_t i = 0; plan.dst_format == ConvFormat::blocked && i < dst_floats; ++i) {
      const int64_t channel = i / (out * plan.block) % (ocp / plan.block) * plan.block + i % plan.block;
      if (channel >= p.oc) operand[static_cast<size_t>(i)] = 0.0f;
      if (channel >= p.oc) per_channel[static_cast<size_t>(channel)] = 0.0f;
    }
  }

  static void fill(std::vector<float>& v, int64_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    v.resize(static_cast<size_t>(n));
    for (float& x : v) x = uniform(random);
  }

  void run(std::vector<float>& dst, const std::vector<PostOp>& ops) {
    const ConvArgs args{src.data(),    packed.data(), dst.data(), ops.data(), static_cast<int64_t>(ops.size()),
                        scratch.data()};
    const ConvSplit split = conv_split(plan, 3);
    for (int64_t i = 0; i < split.count(); ++i) kernel.run(plan, args, conv_slice(plan, split, i));
  }

  const ConvKernel& kernel;
  ConvPlan plan;
  std::vector<float> src, packed, scratch, operand, per_channel;
  int64_t dst_floats;
};

PostOp step(PostOpKind kind, OperandMode mode = OperandMode::scalar, float alpha = 0, float beta = 0,
            const float* operand = nullptr, const float* operand2 = nullptr) {
  PostOp op;
  op.kind = kind;
  op.mode = mode;
  op.alpha = alpha;
  op.beta = beta;
  op.operand = operand;
  op.operand2 = operand2;
  return op;
}

// The steps one element at a time, through the elementwise kernel, with zero in the padding of channels.
std::vector<float> apply_alone(const Setup& s, const ConvProblem& p, std::vector<float> values,
                               const std::vector<PostOp>& ops) {
  const int64_t out = p.d.out * p.h.out * p.w.out, block = s.plan.block;
  const bool blocked = s.plan.dst_format == ConvFormat::blocked;
  const int64_t blocks = (p.oc + block - 1) / block;
  for (int64_t i = 0; i < s.dst_floats; ++i) {
    const bool plain = s.plan.dst_format == ConvFormat::plain;
    const int64_t channel = blocked ? i / (out * block) % blocks * block + i % block
                            : plain ? i / out % p.oc
                                    : i % p.oc;
    float* at = values.data() + i;
    if (channel >= p.oc) {
      *at = 0.0f;
      continue;
    }
    post_op_kernels(Isa::scalar)
        .run({at, at, 1, 1, 1, 1, i, 1, channel, ChannelAxis::lanes}, ops.data(), static_cast<int64_t>(ops.size()));
  }
  return values;
}

}  // namespace

void check_post_ops(const ConvProblem& p) {
  // A leading addition is the start of the sum, so all partial sums round differently.
  const int64_t terms = p.ic / p.groups * p.d.kernel * p.h.kernel * p.w.kernel;
  const float tolerance = std::max(1e-5f, static_cast<float>(terms) * 0x1p-24f);
  for (const Isa isa : available_isas()) {
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      if (kernel.reject(p, kernel)) continue;
      Setup s(kernel, p);
      const float* tensor = s.operand.data();
      const float* channels = s.per_channel.data();
      const std::pair<const char*, std::vector<PostOp>> chains[] = {
          {"relu", {step(PostOpKind::relu)}},
          {"clamp", {step(PostOpKind::clamp, OperandMode::scalar, -0.5f, 0.75f)}},
          {"clamp away from zero", {step(PostOpKind::clamp, OperandMode::scalar, 0.25f, 0.75f)}},
          {"sigmoid", {step(PostOpKind::sigmoid)}},
          {"hswish", {step(PostOpKind::hswish)}},
          {"hsigmoid", {step(PostOpKind::hsigmoid)}},
          {"swish", {step(PostOpKind::swish, OperandMode::scalar, 1.5f)}},
          {"swish of 1", {step(PostOpKind::swish, OperandMode::scalar, 1.0f)}},
          {"add tensor, hsigmoid",
           {step(PostOpKind::add, OperandMode::tensor, 0, 0, tensor), step(PostOpKind::hsigmoid)}},
          {"add tensor", {step(PostOpKind::add, OperandMode::tensor, 0, 0, tensor)}},
          {"add tensor, relu", {step(PostOpKind::add, OperandMode::tensor, 0, 0, tensor), step(PostOpKind::relu)}},
          {"hswish, add tensor", {step(PostOpKind::hswish), step(PostOpKind::add, OperandMode::tensor, 0, 0, tensor)}},
          {"add tensor, swish, multiply tensor",
           {step(PostOpKind::add, OperandMode::tensor, 0, 0, tensor),
            step(PostOpKind::swish, OperandMode::scalar, 1.0f),
            step(PostOpKind::mul, OperandMode::tensor, 0, 0, tensor)}},
          {"scale and shift per channel, relu",
           {step(PostOpKind::scale_shift, OperandMode::per_channel, 0, 0, channels, channels), step(PostOpKind::relu)}},
          {"prelu per channel", {step(PostOpKind::prelu, OperandMode::per_channel, 0, 0, channels)}},
      };
      const float nan = std::nanf("");
      std::vector<float> bare(static_cast<size_t>(s.dst_floats), nan);
      s.run(bare, {});
      for (const auto& [name, ops] : chains) {
        SCOPED_TRACE(std::string(kernel.name) + ": " + name + ": " + describe(p));
        std::vector<float> got(bare.size(), nan);
        s.run(got, ops);
        const std::vector<float> expected = apply_alone(s, p, bare, ops);
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got[i], expected[i], tolerance * (1.0f + std::abs(expected[i]))) << "element " << i;
        }
        if (ops[0].kind != PostOpKind::add) continue;
        // In place: the operand of the addition is where the result goes.
        std::vector<float> in_place = s.operand;
        std::vector<PostOp> same = ops;
        same.resize(ops.size() > 1 && ops[1].kind == PostOpKind::swish ? 2 : ops.size());
        std::vector<float> apart(bare.size(), nan);
        s.run(apart, same);
        same[0].operand = in_place.data();
        s.run(in_place, same);
        ASSERT_EQ(std::memcmp(apart.data(), in_place.data(), apart.size() * sizeof(float)), 0);
      }
    }
  }
}

}  // namespace terroir::cpu::conv_test
