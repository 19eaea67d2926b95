// Products with constant weights of 8 and 4 bits beside the same with weights in floats: what is read of memory is what
// few rows take.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "runtime/api/graph_state.hpp"
#include "terroir/terroir.hpp"
#include "tests/bench/layers.hpp"
#include "tests/bench/machine_peak.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::bench {
namespace {

struct CompressedLayer {
  element::Type_t type;
  size_t groups;  // each with scales of its own
  size_t rows, outputs, inputs;
};

// Of language models, for one word, for some at once, and for a text.
std::vector<CompressedLayer> compressed_layers() {
  std::vector<CompressedLayer> layers;
  for (const auto& [type, groups] :
       {std::pair<element::Type_t, size_t>{element::u8, 1}, {element::i8, 1}, {element::u4, 32}, {element::i4, 32}})
    for (const size_t rows : {1, 8, 128}) layers.push_back({type, groups, rows, 4096, 4096});
  return layers;
}

std::string name_of(const CompressedLayer& layer) {
  return "compressed/" + element::Type(layer.type).get_type_name() + (layer.groups > 1 ? "_grouped" : "") + "/matmul_" +
         std::to_string(layer.rows) + "x" + std::to_string(layer.outputs) + "x" + std::to_string(layer.inputs);
}

Tensor random_bits(element::Type type, const Shape& shape) {
  Tensor tensor(type, shape);
  std::mt19937 engine(1);
  std::generate_n(static_cast<uint8_t*>(tensor.data()), tensor.get_byte_size(),
                  [&] { return static_cast<uint8_t>(engine()); });
  return tensor;
}

std::shared_ptr<Model> model_of(const CompressedLayer& layer) {
  ModelBuilder b;
  const bool is_unsigned = layer.type == element::u8 || layer.type == element::u4;
  const Shape numbers{layer.outputs, layer.groups, layer.inputs / layer.groups};
  const std::vector<float> each(layer.outputs * layer.groups, 0.01f);
  const Output<Node> scales = b.constant(element::f32, {layer.outputs, layer.groups, 1}, each);
  Output<Node> weights =
      b.op("Convert", "opset1", {b.constant(random_bits(layer.type, numbers))}, {{"destination_type", "f32"}});
  if (is_unsigned) weights = b.op("Subtract", "opset1", {weights, scales});
  weights = b.op("Multiply", "opset1", {weights, scales});
  const std::vector<int64_t> matrix = {static_cast<int64_t>(layer.outputs), static_cast<int64_t>(layer.inputs)};
  weights = b.op("Reshape", "opset1", {weights, b.constant(element::i64, {2}, matrix)}, {{"special_zero", false}});
  const Output<Node> data =
      b.parameter(element::f32, {static_cast<int64_t>(layer.rows), static_cast<int64_t>(layer.inputs)});
  b.result(b.op("MatMul", "opset1", {data, weights}, {{"transpose_a", false}, {"transpose_b", true}}, "layer"));
  return b.build();
}

std::vector<AlignedBuffer> input_of(const CompressedLayer& layer) {
  std::vector<AlignedBuffer> inputs;
  inputs.emplace_back(layer.rows * layer.inputs * sizeof(float));
  std::fill_n(inputs[0].as<float>(), layer.rows * layer.inputs, 0.5f);
  return inputs;
}

void run(benchmark::State& state, const CompressedLayer& layer, int threads) {
  const cpu::Isa isa = cpu::active_isa();
  const auto model = model_of(layer);
  LayerStep compressed(*detail::ModelAccess::state(*model)->graph, input_of(layer), isa, threads, false);
  OneLayer floats("MatMul", {{"transpose_b", "true"}},
                  {{{static_cast<int64_t>(layer.rows), static_cast<int64_t>(layer.inputs)}, false},
                   {{static_cast<int64_t>(layer.outputs), static_cast<int64_t>(layer.inputs)}, true}},
                  isa, threads);
  double best = 1e9, best_floats = 1e9;
  // Weights of many layers do not stay in any cache from one inference to the next.
  std::vector<char> others(size_t{512} << 20);
  const auto cold = [&](LayerStep& step) {
    for (size_t i = 0; i < others.size(); i += 64) ++others[i];
    return step.run();
  };
  for (auto _ : state) {
    const double seconds = cold(compressed);
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    best_floats = std::min(best_floats, cold(floats));
  }
  state.SetLabel(compressed.kernel());
  const double products = static_cast<double>(layer.rows * layer.outputs * layer.inputs);
  state.counters["best_us"] = best * 1e6;
  state.counters["gflops"] = 2 * products / best * 1e-9;
  state.counters["floats_us"] = best_floats * 1e6;
  state.counters["vs_floats"] = best / best_floats;
}

}  // namespace

void register_compressed(int threads) {
  for (const CompressedLayer& layer : compressed_layers())
    for (const std::string& name : float_isa_names())
      benchmark::RegisterBenchmark((name_of(layer) + "/" + name).c_str(),
                                   [layer, name, threads](benchmark::State& state) {
                                     const test::ForcedIsa forced(name.c_str());
                                     run(state, layer, threads);
                                   })
          ->UseManualTime()
          ->MinTime(0.03);
}

}  // namespace terroir::bench
