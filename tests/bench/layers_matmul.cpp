#include <string>

#include "tests/bench/layers.hpp"

namespace terroir::bench {
namespace {

struct MatMulLayer {
  const char* model;
  int64_t batch, m, n, k;
  bool constant_b;
};

// The zoo's, then awkward ones: one row, a ragged size, a product of two activations that is no multiple of anything.
constexpr MatMulLayer kLayers[] = {
    {"bert_base", 1, 128, 768, 768, true},    {"bert_base", 1, 128, 3072, 768, true},
    {"bert_base", 1, 128, 768, 3072, true},   {"bert_base", 12, 128, 128, 64, false},
    {"bert_base", 12, 128, 64, 128, false},   {"resnet50", 1, 1, 1000, 2048, true},
    {"mobilenet_v2", 1, 1, 1000, 1280, true}, {"awkward", 1, 1, 4096, 4096, true},
    {"awkward", 1, 37, 501, 333, true},       {"awkward", 3, 65, 67, 129, false},
    {"awkward", 2, 512, 129, 128, false},     {"awkward", 1, 512, 512, 512, true},
    {"awkward", 1, 1024, 1024, 1024, false},  {"awkward", 1, 512, 192, 512, true},
};

std::string name_of(const MatMulLayer& layer) {
  return std::string(layer.model) + "/matmul_" + std::to_string(layer.batch) + "x" + std::to_string(layer.m) + "x" +
         std::to_string(layer.n) + "x" + std::to_string(layer.k) + (layer.constant_b ? "_constant" : "");
}

}  // namespace

void register_matmuls(int threads) {
  for (const MatMulLayer& layer : kLayers)
    for (const cpu::Isa isa : cpu::available_isas())
      benchmark::RegisterBenchmark(
          (name_of(layer) + "/" + cpu::isa_name(isa)).c_str(),
          [&layer, isa, threads](benchmark::State& state) {
            OneLayer one(
                "MatMul", {},
                {{{layer.batch, layer.m, layer.k}, false}, {{layer.batch, layer.k, layer.n}, layer.constant_b}}, isa,
                threads);
            const double flops = 2.0 * static_cast<double>(layer.batch * layer.m * layer.n * layer.k);
            measure(state, one, flops, isa, threads,
                    onednn_matmul(layer.batch, layer.m, layer.n, layer.k, layer.constant_b, threads).get());
          })
          ->UseManualTime()
          ->MinTime(0.03);
}

}  // namespace terroir::bench
