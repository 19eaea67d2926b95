// Layers in bytes stand between FakeQuantize nodes, as quantised models have them: the one in front has left bytes, and
// what reads the result wants f32, or bytes again. Layers of numbers of bf16 stand between such layers.
#include "tests/bench/layers_narrow.hpp"

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

/// One op behind the other, from a Parameter on.
class NarrowChain {
 public:
  explicit NarrowChain(const ir::Dims& data) {
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

  /// With a bias. Weights of an output are in steps of their own; they lie together, but for those of a transposed
  /// convolution, of which only those of an input do.
  void layer(const std::string& type, const std::string& name, const ir::Dims& weights, int64_t outputs,
             const test::AttributeTexts& attributes) {
    const bool transposed = type.ends_with("BackpropData");
    const int64_t row = ir::element_count(weights) / outputs / (transposed ? weights[0] : 1);
    const auto weight = [=](int64_t i) {
      const int64_t steps = i % row == 0 ? 127 : i * 37 % 255 - 127, width = 1 + i / row % outputs % 5;
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

enum class Store { narrow, f32 };

/// `p`'s axes, with a window of one element, at its inputs or its outputs.
template <class Extent>
ConvolutionOp pointwise_op(const cpu::ConvProblem& p, int64_t inputs, int64_t outputs, Extent extent) {
  const auto axis = [&](const cpu::ConvAxis& a) { return cpu::ConvAxis{extent(a), extent(a), 1, 1, 1, 0}; };
  cpu::ConvProblem pointwise;
  pointwise.batch = p.batch;
  pointwise.ic = inputs;
  pointwise.oc = outputs;
  pointwise.d = axis(p.d);
  pointwise.h = axis(p.h);
  pointwise.w = axis(p.w);
  return convolution_op(pointwise);
}

NarrowChain chain_of(const cpu::ConvProblem& p, NarrowType type, Store store) {
  const bool bytes = type == NarrowType::bytes;
  const bool before = !bytes && OneLayer::place_of(p.ic, p.oc).before;
  const ConvolutionOp op = convolution_op(p);
  const ConvolutionOp first =
      pointwise_op(p, OneLayer::kChannelsBefore, p.ic, [](const cpu::ConvAxis& a) { return a.in; });
  NarrowChain chain(before ? first.data : op.data);
  if (before) chain.layer(first.type, "before", first.weights, p.ic, first.attributes);
  if (bytes) chain.levels(1);
  chain.layer(op.type, "layer", op.weights, p.oc, op.attributes);
  if (store == Store::narrow) {
    if (bytes) chain.levels(8);
    const ConvolutionOp last =
        pointwise_op(p, p.oc, OneLayer::kChannelsBehind, [](const cpu::ConvAxis& a) { return a.out; });
    chain.layer(last.type, "behind", last.weights, OneLayer::kChannelsBehind, last.attributes);
  }
  chain.result();
  return chain;
}

NarrowChain chain_of(const MatMulProblem& p, NarrowType type, Store store) {
  const bool bytes = type == NarrowType::bytes;
  NarrowChain chain({p.m, bytes ? p.k : OneLayer::kChannelsBefore});
  const auto layer = [&](const char* name, int64_t outputs, int64_t inputs) {
    chain.layer("MatMul", name, {outputs, inputs}, outputs, {{"transpose_b", "true"}});
  };
  if (!bytes) layer("before", p.k, OneLayer::kChannelsBefore);
  if (bytes) chain.levels(1);
  layer("layer", p.n, p.k);
  if (store == Store::narrow) {
    if (bytes) chain.levels(8);
    layer("behind", OneLayer::kChannelsBehind, p.n);
  }
  chain.result();
  return chain;
}

double operations(const cpu::ConvProblem& p) { return static_cast<double>(cpu::conv_flops(p)); }
double operations(const MatMulProblem& p) { return 2.0 * static_cast<double>(p.batch * p.m * p.n * p.k); }

std::unique_ptr<PeerLayer> peer_of(const cpu::ConvProblem& p, NarrowType type, Store store, int threads) {
  return onednn_narrow_convolution(p, type, store == Store::narrow, threads);
}
std::unique_ptr<PeerLayer> peer_of(const MatMulProblem& p, NarrowType type, Store store, int threads) {
  return onednn_narrow_matmul(p, type, store == Store::narrow, threads);
}

template <class Problem>
void run(benchmark::State& state, const Problem& problem, NarrowType type, Store store, const std::string& isa,
         int threads) {
  const test::ForcedIsa forced(isa.c_str());
  const bool bf16 = type == NarrowType::bf16;
  NarrowChain chain = chain_of(problem, type, store);
  LayerStep layer(chain.graph, std::move(chain.inputs), cpu::active_isa(), threads, bf16);
  constexpr int64_t kShort = 50000;
  const auto peak = [bf16, products = cpu::active_byte_products()] { return peak_narrow_once(products, bf16, kShort); };
  measure(state, layer, operations(problem), peak, threads, peer_of(problem, type, store, threads).get());
}

/// Some 20 ms, but for small layers, of which most of an iteration is what runs around them.
int64_t iterations_of(const NarrowLayer& layer) {
  constexpr double kOperations = 8e9;
  const double each = std::visit([](const auto& problem) { return operations(problem); }, layer.problem);
  return std::clamp(static_cast<int64_t>(kOperations / each), int64_t{50}, int64_t{1000});
}

bool has_products(NarrowType type) {
  const cpu::ByteProducts products = cpu::active_byte_products();
  return type == NarrowType::bytes ? products != cpu::ByteProducts::none : cpu::has_products_of_bf16(products);
}

/// Names as TERROIR_FORCE_ISA takes them, or only that one which it has.
std::vector<std::string> isas_with(NarrowType type) {
  std::string any;
  std::vector<std::string> isas = test::chosen_isa_names(any);
  std::erase_if(isas, [type](const std::string& isa) {
    const test::ForcedIsa forced(isa.c_str());
    return !has_products(type);
  });
  return isas;
}

bool is_depthwise(const NarrowLayer& layer) {
  const auto* p = std::get_if<cpu::ConvProblem>(&layer.problem);
  return p && p->groups > 1 && p->groups == p->ic && p->groups == p->oc;
}

void register_rows(const std::string& name, const NarrowLayer& layer, NarrowType type,
                   const std::vector<std::string>& isas, int threads) {
  for (const Store store : {Store::narrow, Store::f32})
    for (const std::string& isa : isas) {
      const char* const stored = store == Store::f32 ? "f32" : type == NarrowType::bytes ? "u8" : "bf16";
      benchmark::RegisterBenchmark((name + "/" + layer.name + "/" + stored + "/" + isa).c_str(),
                                   [=](benchmark::State& state) {
                                     std::visit([&](const auto& p) { run(state, p, type, store, isa, threads); },
                                                layer.problem);
                                   })
          ->UseManualTime()
          ->Iterations(iterations_of(layer));
    }
}

}  // namespace

void register_narrow(int threads) {
  const std::vector<std::string> bytes = isas_with(NarrowType::bytes), bf16 = isas_with(NarrowType::bf16);
  if (bytes.empty()) std::cerr << "SKIPPED: the rows int8/..., as there are no products of bytes (AVX2)\n";
  if (bf16.empty())
    std::cerr << "SKIPPED: the rows bf16/..., as there are no products of numbers of bf16 (AVX512_BF16)\n";
  const std::vector<NarrowLayer> layers = narrow_layers();
  for (const NarrowLayer& layer : layers) register_rows("int8", layer, NarrowType::bytes, bytes, threads);
  for (const NarrowLayer& layer : layers)
    if (!is_depthwise(layer)) register_rows("bf16", layer, NarrowType::bf16, bf16, threads);
}

}  // namespace terroir::bench
