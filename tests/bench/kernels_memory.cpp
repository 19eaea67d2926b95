// Kernels bound by memory, on one thread, over arrays that fit no private cache: bytes moved per second, and the share
// of the copy bandwidth measured in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/convert/convert.hpp"
#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/kernels/pool/pool.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/kernels/reduce/reduce.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/kernels/softmax/softmax.hpp"
#include "tests/bench/machine_peak.hpp"

namespace {

using terroir::cpu::ImageFormat;
using terroir::cpu::Isa;
using terroir::cpu::PostOp;
using terroir::cpu::PostOpKind;

constexpr int64_t kChannels = 256, kPositions = 112 * 112, kTotal = kChannels * kPositions;

struct Arrays {
  std::vector<float> src = std::vector<float>(kTotal, 0.5f), dst = std::vector<float>(kTotal, 0.0f);
  /// Numbers whose exponentials, or those of their negatives, are no normal numbers.
  void make_extreme() {
    for (size_t i = 0; i < src.size(); ++i) src[i] = i % 4 == 0 ? 100.0f : i % 4 == 1 ? -100.0f : -1000.0f;
  }
};

template <typename F>
void measure(benchmark::State& state, double bytes, bool extreme, F run) {
  Arrays arrays;
  if (extreme) arrays.make_extreme();
  double best = 0;
  for (auto _ : state) {
    const double start = terroir::bench::seconds_now();
    run(arrays.src.data(), arrays.dst.data());
    best = std::max(best, bytes / (terroir::bench::seconds_now() - start));
    benchmark::ClobberMemory();
  }
  state.counters["GBs_best"] = best * 1e-9;
  state.counters["of_copy"] = best / terroir::bench::copy_bandwidth();
}

constexpr double kOnce = 4.0 * kTotal, kBoth = 2 * kOnce;

template <typename F>
void add(Isa isa, const std::string& name, double bytes, F run, bool extreme = false) {
  benchmark::RegisterBenchmark((name + "/" + isa_name(isa)).c_str(), [=](benchmark::State& state) {
    measure(state, bytes, extreme, [=](const float* src, float* dst) { run(isa, src, dst); });
  });
}

void chain(Isa isa, const float* src, float* dst, std::initializer_list<PostOpKind> kinds) {
  std::vector<PostOp> ops;
  for (const PostOpKind kind : kinds) {
    PostOp op;
    op.kind = kind;
    op.alpha = 1.0f;
    ops.push_back(op);
  }
  terroir::cpu::post_op_kernels(isa).run(
      {src, dst, 1, kTotal, kTotal, kTotal, 0, kTotal, 0, terroir::cpu::ChannelAxis::lanes}, ops.data(),
      static_cast<int64_t>(ops.size()));
}

void reorder(Isa isa, const float* src, float* dst, ImageFormat from, ImageFormat to) {
  terroir::cpu::ReorderArgs args;
  args.src = src;
  args.dst = dst;
  args.n = 1;
  args.c = kChannels;
  args.s = kPositions;
  args.src_format = from;
  args.dst_format = to;
  args.src_block = args.dst_block = channel_block(isa);
  const auto& kernels = terroir::cpu::reorder_kernels(isa);
  kernels.reorder(args, 0, kernels.items(args));
}

void pool_3x3_stride_2(Isa isa, const float* src, float* dst) {
  terroir::cpu::PoolArgs args;
  args.width = channel_block(isa);
  args.in[1] = args.in[2] = 112;
  args.out[1] = args.out[2] = 56;
  args.kernel[1] = args.kernel[2] = 3;
  args.stride[1] = args.stride[2] = 2;

  for (int64_t block = 0; block < kChannels / args.width; ++block) {
    args.src = src + block * kPositions * args.width;
    args.dst = dst + block * 56 * 56 * args.width;
    terroir::cpu::pool_kernels(isa).max(args, 0, 56);
  }
}

const int memory_registered = [] {
  for (const Isa isa : terroir::cpu::available_isas()) {
    add(isa, "relu", kBoth, [](Isa i, auto s, auto d) { chain(i, s, d, {PostOpKind::relu}); });
    add(isa, "sigmoid", kBoth, [](Isa i, auto s, auto d) { chain(i, s, d, {PostOpKind::sigmoid}); });
    add(
        isa, "sigmoid_extreme", kBoth, [](Isa i, auto s, auto d) { chain(i, s, d, {PostOpKind::sigmoid}); }, true);
    add(isa, "gelu_erf", kBoth, [](Isa i, auto s, auto d) { chain(i, s, d, {PostOpKind::gelu_erf}); });
    add(isa, "chain_of_four", kBoth, [](Isa i, auto s, auto d) {
      chain(i, s, d, {PostOpKind::mul, PostOpKind::add, PostOpKind::hswish, PostOpKind::clamp});
    });
    add(isa, "plain_to_blocked", kBoth,
        [](Isa i, auto s, auto d) { reorder(i, s, d, ImageFormat::plain, ImageFormat::blocked); });
    add(isa, "blocked_to_plain", kBoth,
        [](Isa i, auto s, auto d) { reorder(i, s, d, ImageFormat::blocked, ImageFormat::plain); });
    add(isa, "plain_to_nhwc", kBoth,
        [](Isa i, auto s, auto d) { reorder(i, s, d, ImageFormat::plain, ImageFormat::nhwc); });
    add(isa, "max_pool_3x3_s2_blocked", kOnce * 1.25, pool_3x3_stride_2);
    add(isa, "global_mean_blocked", kOnce, [](Isa i, auto s, auto d) {
      const int64_t b = channel_block(i);
      terroir::cpu::reduce_kernels(i).middle(terroir::cpu::ReduceKind::mean, s, d, kChannels / b, kPositions, b, 0, b);
    });
    add(isa, "reduce_rows_768", kOnce, [](Isa i, auto s, auto d) {
      terroir::cpu::reduce_kernels(i).rows(terroir::cpu::ReduceKind::sum, s, d, kTotal / 768, 768);
    });
    add(isa, "softmax_rows_197", kBoth,
        [](Isa i, auto s, auto d) { terroir::cpu::softmax_kernels(i).rows(s, d, kTotal / 197, 197, false); });
    add(
        isa, "softmax_rows_197_extreme", kBoth,
        [](Isa i, auto s, auto d) { terroir::cpu::softmax_kernels(i).rows(s, d, kTotal / 197, 197, false); }, true);
    add(isa, "layer_norm_768", kBoth, [](Isa i, auto s, auto d) {
      terroir::cpu::MvnArgs args;
      args.src = s;
      args.dst = d;
      terroir::cpu::mvn_kernels(i).rows(args, kTotal / 768, 768);
    });
    add(isa, "f16_to_f32", kOnce * 1.5, [](Isa i, auto s, auto d) {
      const void* in[] = {s};
      terroir::cpu::conversion_loop(terroir::cpu::NumberType::f16, terroir::cpu::NumberType::f32, i)(in, d, kTotal);
    });
    add(isa, "f32_to_f16", kOnce * 1.5, [](Isa i, auto s, auto d) {
      const void* in[] = {s};
      terroir::cpu::conversion_loop(terroir::cpu::NumberType::f32, terroir::cpu::NumberType::f16, i)(in, d, kTotal);
    });
  }
  return 0;
}();

}  // namespace
