// Layers between FakeQuantize nodes, as quantised models have them: the one in front has left bytes, and what reads the
// result wants f32, or bytes again.
#include "tests/bench/layers_int8.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "tests/bench/layers.hpp"
#include "tests/bench/machine_peak.hpp"
#include "tests/differential/isa_choice.hpp"
#include "tests/support/attribute_setter.hpp"
#include "tests/support/infer_added.hpp"

namespace terroir::bench {
namespace {

constexpr int64_t kOutputsBehind = 16;

/// One op behind the other, from a Parameter on.
class QuantisedChain {
 public:
  explicit QuantisedChain(const ir::Dims& data) {
    const ir::ParameterAttrs parameter{PartialShape(ir::to_shape(data)), element::f32};
    last_ = test::infer_added(graph, graph.add(builtin(ir::kParameterType), "data", ir::make_attributes_of(parameter)));
    const int64_t count = ir::element_count(data);
    AlignedBuffer values(static_cast<size_t>(count) * sizeof(float));
    for (int64_t i = 0; i < count; ++i) values.as<float>()[i] = static_cast<float>(i * 37 % 251) / 250;
    inputs.push_back(std::move(values));
  }

  /// 256 of them, from 0 on.
  void levels(float most) {
    const auto limit = [&](float value) { return constant({}, [=](int64_t) { return value; }); };
    const ir::Value low = limit(0), high = limit(most);
    add("FakeQuantize", "", {low, high, low, high}, {{"levels", "256"}});
  }

  /// With a bias. Weights of an output lie together, in steps of their own.
  void layer(const std::string& type, const std::string& name, const ir::Dims& weights, int64_t outputs,
             const test::AttributeTexts& attributes) {
    const int64_t row = ir::element_count(weights) / outputs;
    const auto weight = [=](int64_t i) {
      const int64_t steps = i % row == 0 ? 127 : i * 37 % 255 - 127, width = 1 + i / row % 5;
      return static_cast<float>(steps * width) / 4096;
    };
    add(type, name, {constant(weights, weight)}, attributes);
    ir::Dims bias(type == "MatMul" ? 1 : dims().size(), 1);
    bias[type == "MatMul" ? 0 : 1] = outputs;
    add("Add", "", {constant(bias, [](int64_t i) { return static_cast<float>(i % 7 - 3) / 16; })}, {});
  }

  void result() { graph.add(builtin(ir::kResultType), "result", nullptr, {last_}); }

  ir::Dims dims() const { return ir::to_dims(graph.port(last_).shape.to_shape()); }

  ir::Graph graph{"layer"};
  std::vector<AlignedBuffer> inputs;

 private:
  static const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset16"); }
  std::string name_of_next() { return "node" + std::to_string(nodes_++); }

  template <class Value>
  ir::Value constant(const ir::Dims& dims, Value value) {
    const int64_t count = ir::element_count(dims);
    const auto values = std::make_shared<AlignedBuffer>(static_cast<size_t>(count) * sizeof(float));
    for (int64_t i = 0; i < count; ++i) values->as<float>()[i] = value(i);
    return {graph.add_constant(builtin(ir::kConstType), name_of_next(), {{element::f32, dims, values->data()}, values}),
            0};
  }

  /// What reads the last op, and `others`.
  void add(const std::string& type, const std::string& name, std::vector<ir::Value> others,
           const test::AttributeTexts& texts) {
    const ir::OpSchema& schema = builtin(type);
    auto attributes = schema.make_attributes();
    test::set_attributes(*attributes, texts);
    others.insert(others.begin(), last_);
    last_ = test::infer_added(
        graph, graph.add(schema, name.empty() ? name_of_next() : name, std::move(attributes), std::move(others)));
  }

  ir::Value last_;
  int nodes_ = 0;
};

enum class Store { u8, f32 };

QuantisedChain chain_of(const cpu::ConvProblem& p, Store store) {
  const ConvolutionOp op = convolution_op(p);
  QuantisedChain chain(op.data);
  chain.levels(1);
  chain.layer(op.type, "layer", op.weights, p.oc, op.attributes);
  if (store == Store::u8) {
    chain.levels(8);
    cpu::ConvProblem behind;
    behind.ic = p.oc;
    behind.oc = kOutputsBehind;
    const auto pointwise = [](const cpu::ConvAxis& a) { return cpu::ConvAxis{a.out, a.out, 1, 1, 1, 0}; };
    behind.d = pointwise(p.d);
    behind.h = pointwise(p.h);
    behind.w = pointwise(p.w);
    const ConvolutionOp last = convolution_op(behind);
    chain.layer(last.type, "behind", last.weights, behind.oc, last.attributes);
  }
  chain.result();
  return chain;
}

QuantisedChain chain_of(const MatMulProblem& p, Store store) {
  const test::AttributeTexts transposed = {{"transpose_b", "true"}};
  QuantisedChain chain({p.m, p.k});
  chain.levels(1);
  chain.layer("MatMul", "layer", {p.n, p.k}, p.n, transposed);
  if (store == Store::u8) {
    chain.levels(8);
    chain.layer("MatMul", "behind", {kOutputsBehind, p.n}, kOutputsBehind, transposed);
  }
  chain.result();
  return chain;
}

double operations(const cpu::ConvProblem& p) { return static_cast<double>(cpu::conv_flops(p)); }
double operations(const MatMulProblem& p) { return 2.0 * static_cast<double>(p.batch * p.m * p.n * p.k); }

std::unique_ptr<PeerLayer> peer_of(const cpu::ConvProblem& p, Store store, int threads) {
  return onednn_byte_convolution(p, store == Store::u8, threads);
}
std::unique_ptr<PeerLayer> peer_of(const MatMulProblem& p, Store store, int threads) {
  return onednn_byte_matmul(p, store == Store::u8, threads);
}

template <class Problem>
void run(benchmark::State& state, const Problem& problem, Store store, const std::string& isa, int threads) {
  const test::ForcedIsa forced(isa.c_str());
  QuantisedChain chain = chain_of(problem, store);
  LayerStep layer(chain.graph, std::move(chain.inputs), cpu::active_isa(), threads);
  constexpr int64_t kShort = 50000;
  const auto peak = [products = cpu::active_byte_products()] { return peak_bytes_once(products, kShort); };
  measure(state, layer, operations(problem), peak, threads, peer_of(problem, store, threads).get());
}

/// Some 20 ms, but for small layers, of which most of an iteration is what runs around them.
int64_t iterations_of(const ByteLayer& layer) {
  constexpr double kOperations = 8e9;
  const double each = std::visit([](const auto& problem) { return operations(problem); }, layer.problem);
  return std::clamp(static_cast<int64_t>(kOperations / each), int64_t{50}, int64_t{1000});
}

/// Names as TERROIR_FORCE_ISA takes them, or only that one which it has.
std::vector<std::string> isas_with_bytes() {
  std::string any;
  std::vector<std::string> isas = test::chosen_isa_names(any);
  std::erase_if(isas, [](const std::string& isa) {
    const test::ForcedIsa forced(isa.c_str());
    return cpu::active_byte_products() == cpu::ByteProducts::none;
  });
  return isas;
}

}  // namespace

void register_bytes(int threads) {
  const std::vector<std::string> isas = isas_with_bytes();
  if (isas.empty()) std::cerr << "SKIPPED: the rows int8/..., as there are no products of bytes (AVX512_VNNI)\n";
  for (const ByteLayer& layer : byte_layers())
    for (const Store store : {Store::u8, Store::f32})
      for (const std::string& isa : isas)
        benchmark::RegisterBenchmark(
            ("int8/" + layer.name + (store == Store::u8 ? "/u8/" : "/f32/") + isa).c_str(),
            [layer, store, isa, threads](benchmark::State& state) {
              std::visit([&](const auto& problem) { run(state, problem, store, isa, threads); }, layer.problem);
            })
            ->UseManualTime()
            ->Iterations(iterations_of(layer));
}

}  // namespace terroir::bench
