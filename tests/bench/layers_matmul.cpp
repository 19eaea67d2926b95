#include <string>

#include "tests/bench/layers.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::bench {
namespace {

struct MatMulLayer {
  const char* model;
  MatMulProblem problem;
};

// The zoo's, then awkward ones: one row, a ragged size, a product of two activations that is no multiple of anything.
constexpr MatMulLayer kLayers[] = {
    {"bert_base", {1, 128, 768, 768, true, true}},    {"bert_base", {1, 128, 3072, 768, true, true}},
    {"bert_base", {1, 128, 768, 3072, true, true}},   {"bert_base", {12, 128, 128, 64, false, true}},
    {"bert_base", {12, 128, 64, 128, false, false}},  {"resnet50", {1, 1, 1000, 2048, true, true}},
    {"densenet121", {1, 1, 1000, 1024, true, true}},  {"mobilenet_v2", {1, 1, 1000, 1280, true, true}},
    {"awkward", {1, 1, 4096, 4096, true, false}},     {"awkward", {1, 37, 501, 333, true, false}},
    {"awkward", {3, 65, 67, 129, false, false}},      {"awkward", {12, 128, 128, 64, false, false}},
    {"awkward", {2, 512, 129, 128, false, false}},    {"awkward", {1, 512, 512, 512, true, false}},
    {"awkward", {1, 1024, 1024, 1024, false, false}}, {"awkward", {1, 512, 192, 512, true, false}},
};

std::string name_of(const MatMulLayer& layer) {
  const MatMulProblem& p = layer.problem;
  return std::string(layer.model) + "/matmul_" + std::to_string(p.batch) + "x" + std::to_string(p.m) + "x" +
         std::to_string(p.n) + "x" + std::to_string(p.k) + (p.constant_b ? "_constant" : "") +
         (p.transposed_b ? "_transposed" : "");
}

OneLayer make_layer(const MatMulProblem& p, cpu::Isa isa, int threads) {
  const ir::Dims b = p.transposed_b ? ir::Dims{p.batch, p.n, p.k} : ir::Dims{p.batch, p.k, p.n};
  return OneLayer("MatMul", {{"transpose_b", p.transposed_b ? "true" : "false"}},
                  {{{p.batch, p.m, p.k}, false}, {b, p.constant_b}}, isa, threads);
}

}  // namespace

void register_matmuls(int threads) {
  for (const MatMulLayer& layer : kLayers)
    for (const std::string& name : float_isa_names())
      benchmark::RegisterBenchmark((name_of(layer) + "/" + name).c_str(),
                                   [&layer, name, threads](benchmark::State& state) {
                                     const test::ForcedIsa forced(name.c_str());
                                     const cpu::Isa isa = cpu::active_isa();
                                     const MatMulProblem& p = layer.problem;
                                     OneLayer one = make_layer(p, isa, threads);
                                     const double flops = 2.0 * static_cast<double>(p.batch * p.m * p.n * p.k);
                                     measure(state, one, flops, isa, threads, onednn_matmul(p, threads).get());
                                   })
          ->UseManualTime()
          ->MinTime(0.03);
}

}  // namespace terroir::bench
