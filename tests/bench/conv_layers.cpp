// What: every distinct convolution of the zoo on every kernel that accepts it, one thread, and on oneDNN where CMake
// finds it. Counters: gflops; of_peak, the share of the FMA rate measured at start-up.
//   bench_conv --benchmark_filter='resnet50.*(avx512|onednn)'
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "tests/bench/peak.hpp"

#if TERROIR_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace terroir::bench {
namespace {

using namespace terroir::cpu;

struct Layer {
  const char* model;
  int64_t count;
  ConvProblem problem;
};

struct Dhw {
  int64_t d, h, w;
};

Layer layer(const char* model, int64_t count, bool transposed, int64_t groups, int64_t ic, int64_t oc, Dhw in, Dhw out,
            Dhw kernel, Dhw stride, Dhw pad) {
  ConvProblem p;
  p.groups = groups;
  p.ic = ic;
  p.oc = oc;
  p.transposed = transposed;
  p.d = {in.d, out.d, kernel.d, stride.d, 1, pad.d};
  p.h = {in.h, out.h, kernel.h, stride.h, 1, pad.h};
  p.w = {in.w, out.w, kernel.w, stride.w, 1, pad.w};
  return {model, count, p};
}

const Layer kLayers[] = {
#define TERROIR_UNWRAP(...) __VA_ARGS__
#define LAYER(model, count, transposed, groups, ic, oc, in, out, kernel, stride, pad)              \
  layer(model, count, transposed, groups, ic, oc, Dhw{TERROIR_UNWRAP in}, Dhw{TERROIR_UNWRAP out}, \
        Dhw{TERROIR_UNWRAP kernel}, Dhw{TERROIR_UNWRAP stride}, Dhw{TERROIR_UNWRAP pad}),
#include "tests/bench/zoo_layers.inc"
};

std::string layer_name(const Layer& l) {
  const ConvProblem& p = l.problem;
  auto axes = [&](auto get) {
    std::string s;
    if (p.d.in > 1) s += std::to_string(get(p.d)) + "x";
    return s + std::to_string(get(p.h)) + "x" + std::to_string(get(p.w));
  };
  return std::string(l.model) + "x" + std::to_string(l.count) + (p.transposed ? "/deconv_" : "/") +
         (p.groups > 1 ? "g" + std::to_string(p.groups) + "_" : "") + std::to_string(p.ic) + "to" +
         std::to_string(p.oc) + "_" + axes([](const ConvAxis& a) { return a.in; }) + "_k" +
         axes([](const ConvAxis& a) { return a.kernel; }) + "_s" + std::to_string(p.w.stride);
}

struct AlignedFloats {
  explicit AlignedFloats(size_t n)
      : data(static_cast<float*>(std::aligned_alloc(4096, (n * sizeof(float) + 4095) / 4096 * 4096 + 4096))) {
    for (size_t i = 0; i < n; ++i) data[i] = static_cast<float>(i % 17) * 0.0625f - 0.5f;
  }
  ~AlignedFloats() { std::free(data); }
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;
  float* data;
};

double peak(Isa isa) {
  static std::map<Isa, double> cache;
  auto [it, fresh] = cache.try_emplace(isa, 0.0);
  if (fresh) it->second = peak_gflops(isa);
  return it->second;
}

void report(benchmark::State& state, const ConvProblem& problem, Isa isa) {
  const double flops = static_cast<double>(conv_flops(problem));
  state.counters["gflops"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
  state.counters["of_peak"] =
      benchmark::Counter(flops * 1e-9 / peak(isa), benchmark::Counter::kIsIterationInvariantRate);
}

void run_kernel(benchmark::State& state, const ConvKernel& kernel, const ConvProblem& problem) {
  ConvPlan plan;
  kernel.plan(problem, kernel, plan);
  AlignedFloats src(static_cast<size_t>(plan.src.n * problem.batch)),
      dst(static_cast<size_t>(plan.dst.n * problem.batch));
  AlignedFloats weights(static_cast<size_t>(problem.ic * (problem.oc / problem.groups) * problem.d.kernel *
                                            problem.h.kernel * problem.w.kernel));
  AlignedFloats bias(static_cast<size_t>(problem.oc)), packed(plan.packed_floats), scratch(plan.scratch_floats);
  kernel.pack(plan, weights.data, bias.data, packed.data);
  const ConvArgs args{src.data, packed.data, dst.data, nullptr, 0, scratch.data};
  for (auto _ : state) {
    kernel.run(plan, args, conv_slice(plan, 1, 0));
    benchmark::ClobberMemory();
  }
  report(state, problem, kernel.isa);
}

#if TERROIR_HAVE_ONEDNN
void run_onednn(benchmark::State& state, const ConvProblem& p) {
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  const bool deep = p.d.in > 1 || p.d.kernel > 1;
  auto dims = [&](std::initializer_list<int64_t> head, auto get) {
    memory::dims v(head);
    if (deep) v.push_back(get(p.d));
    v.push_back(get(p.h));
    v.push_back(get(p.w));
    return v;
  };
  auto any = [](const memory::dims& d) { return memory::desc(d, memory::data_type::f32, memory::format_tag::any); };
  const auto src = dims({p.batch, p.ic}, [](const ConvAxis& a) { return a.in; });
  const auto dst = dims({p.batch, p.oc}, [](const ConvAxis& a) { return a.out; });
  auto kernel = [](const ConvAxis& a) { return a.kernel; };
  const auto wei =
      p.groups > 1 ? dims({p.groups, p.oc / p.groups, p.ic / p.groups}, kernel) : dims({p.oc, p.ic}, kernel);
  const auto strides = dims({}, [](const ConvAxis& a) { return a.stride; });
  const auto left = dims({}, [](const ConvAxis& a) { return a.pad; });
  const auto right = dims({}, [&](const ConvAxis& a) {
    return p.transposed ? (a.in - 1) * a.stride + a.kernel - a.pad - a.out
                        : (a.out - 1) * a.stride + a.kernel - a.in - a.pad;
  });
  const memory::desc bias({p.oc}, memory::data_type::f32, memory::format_tag::a);
  auto execute = [&](const auto& pd, const auto& primitive) {
    memory s(pd.src_desc(), engine), w(pd.weights_desc(), engine), b(pd.bias_desc(), engine), d(pd.dst_desc(), engine);
    for (const memory* m : {&s, &w, &b, &d}) {
      float* data = static_cast<float*>(m->get_data_handle());
      for (size_t i = 0; i < m->get_desc().get_size() / sizeof(float); ++i)
        data[i] = static_cast<float>(i % 17) * 0.0625f - 0.5f;
    }
    for (auto _ : state) {
      primitive.execute(stream, {{DNNL_ARG_SRC, s}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, d}});
      stream.wait();
    }
    state.SetLabel(pd.impl_info_str());
  };
  constexpr auto inference = dnnl::prop_kind::forward_inference;
  if (p.transposed) {
    dnnl::deconvolution_forward::desc desc(inference, dnnl::algorithm::deconvolution_direct, any(src), any(wei), bias,
                                           any(dst), strides, left, right);
    dnnl::deconvolution_forward::primitive_desc pd(desc, engine);
    execute(pd, dnnl::deconvolution_forward(pd));
  } else {
    dnnl::convolution_forward::desc desc(inference, dnnl::algorithm::convolution_direct, any(src), any(wei), bias,
                                         any(dst), strides, left, right);
    dnnl::convolution_forward::primitive_desc pd(desc, engine);
    execute(pd, dnnl::convolution_forward(pd));
  }
  report(state, p, best_isa());
}
#endif

void register_all() {
  for (const Layer& l : kLayers) {
    for (const Isa isa : available_isas()) {
      for (const ConvKernel& k : conv_kernels(isa)) {
        if (k.reject(l.problem, k)) continue;
        benchmark::RegisterBenchmark((layer_name(l) + "/" + k.name).c_str(),
                                     [&k, &l](benchmark::State& state) { run_kernel(state, k, l.problem); });
      }
    }
#if TERROIR_HAVE_ONEDNN
    benchmark::RegisterBenchmark((layer_name(l) + "/onednn").c_str(),
                                 [&l](benchmark::State& state) { run_onednn(state, l.problem); });
#endif
  }
}

}  // namespace
}  // namespace terroir::bench

int main(int argc, char** argv) {
  // oneDNN takes its thread count from OpenMP; the kernels are measured on one thread.
  setenv("OMP_NUM_THREADS", "1", 1);
  benchmark::Initialize(&argc, argv);
  terroir::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
