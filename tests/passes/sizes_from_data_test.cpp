// Operations that find the sizes of their results as they run, on the CPU device: how often they are inferred, and what
// they give with threads to share.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "terroir/terroir.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

ir::InferFn original = nullptr;
int inferences = 0;

/// The operation, counting how often it is inferred.
ir::OpSchema counted(const char* type, const char* opset) {
  ir::OpSchema schema = ops::builtin_registry().get(type, opset);
  original = schema.infer;
  schema.infer = [](ir::InferContext& ctx) {
    ++inferences;
    original(ctx);
  };
  return schema;
}

/// Inferences of the operation in one run of a model that has run before.
int inferences_of_a_run(GraphMaker& m, const ir::OpSchema& schema, ir::Value operation,
                        const std::vector<HostTensor>& inputs) {
  const ir::Node& node = m.graph().node(operation.node);
  const ir::NodeId id = m.graph().add(schema, "counted", node.attributes->clone(), node.inputs);
  m.graph().node(id).outputs = m.graph().node(operation.node).outputs;
  for (size_t i = 0; i < m.graph().node(id).outputs.size(); ++i) m.result({id, static_cast<int32_t>(i)});
  m.graph().erase(operation.node);
  DeviceModel device(std::shared_ptr<const ir::Graph>(m.graph().clone()), "CPU");
  device.infer(inputs);
  inferences = 0;
  device.infer(inputs);
  return inferences;
}

constexpr int64_t kMany = 3000;  // elements, of more bytes than are looked at to find sizes

TEST(SizesFromData, AreInferredOnce) {
  {
    GraphMaker m;
    const ir::OpSchema schema = counted("Unique", "opset10");
    const ir::Value unique = m.op("Unique", {m.input({kMany})}, {{"sorted", "true"}});
    EXPECT_EQ(inferences_of_a_run(m, schema, unique, {random_tensor({kMany}, 1)}), 1);
  }
  {
    GraphMaker m;
    const ir::OpSchema schema = counted("NonMaxSuppression", "opset9");
    const ir::Value nms = m.op("NonMaxSuppression", {m.input({1, kMany, 4}), m.input({1, 2, kMany}),
                                                     m.scalar_integer(20), m.scalar(0.5), m.scalar(0.1F)});
    EXPECT_EQ(inferences_of_a_run(m, schema, nms, {random_tensor({1, kMany, 4}, 1), random_tensor({1, 2, kMany}, 2)}),
              1);
  }
}

// Of the others, bounds from small values alone do not settle the sizes.
TEST(SizesFromData, AreInferredFromLargeValuesWhereTheOperationReliesOnIt) {
  GraphMaker m;
  const ir::OpSchema schema = counted("SegmentMax", "opset16");
  const ir::Value maxima =
      m.op("SegmentMax", {m.input({kMany}), m.input({kMany}, element::i64)}, {{"fill_mode", "ZERO"}});
  HostTensor ids(element::i64, {kMany});
  for (int64_t i = 0; i < kMany; ++i) ids.writable().as<int64_t>()[i] = i / 3;
  EXPECT_EQ(inferences_of_a_run(m, schema, maxima, {random_tensor({kMany}, 1), ids}), 2);
}

// As many as several threads share, of every width.
TEST(SizesFromData, OfManyElements) {
  constexpr int64_t kCount = 50000;
  for (const char* type : {"f32", "i64", "i8"}) {
    SCOPED_TRACE(type);
    GraphMaker m;
    const ir::Value x = m.input({kCount});
    const ir::Value values = m.op("Convert", {m.op("Multiply", {x, m.scalar(120)})}, {{"destination_type", type}});
    for (const char* sorted : {"true", "false"}) {
      const ir::Value unique = m.op("Unique", {values}, {{"sorted", sorted}});
      for (int32_t output = 0; output < 4; ++output) m.result({unique.node, output});
    }
    std::vector<int64_t> places(2 * kCount);
    std::minstd_rand random(7);
    for (int64_t& place : places) place = static_cast<int64_t>(random() % (kCount - 1));
    const ir::Value filled =
        m.op("SparseFillEmptyRows",
             {values, m.integers({kCount, kCount}),
              m.op("Reshape", {m.integers(places), m.integers({kCount, 2})}, {{"special_zero", "false"}}),
              m.op("Convert", {m.scalar(7)}, {{"destination_type", type}})});
    for (int32_t output = 0; output < 3; ++output) m.result({filled.node, output});
    expect_same_as_interpreter(m, 0);
  }
}

// Of many boxes few pass, in every chunk that a thread looks through.
TEST(SizesFromData, BestOfManyBoxes) {
  GraphMaker m;
  m.result(m.op("ExperimentalDetectronTopKROIs", {m.input({70000, 4}), m.input({70000})}, {{"max_rois", "100"}}));
  expect_same_as_interpreter(m, 0);
}

HostTensor with_nan(HostTensor tensor, int64_t at) {
  tensor.writable().as<float>()[at] = std::numeric_limits<float>::quiet_NaN();
  return tensor;
}

// Segments without rows, of one row and of many; as columns, rows and single numbers.
TEST(SizesFromData, MaximaOfSegments) {
  constexpr int64_t kRows = 400;
  for (const char* fill : {"ZERO", "LOWEST"})
    for (const ir::Dims& inner : {ir::Dims{}, {3}, {2, 70}, {9000}})
      for (const char* type : {"i64", "i32"}) {
        SCOPED_TRACE(::testing::Message() << fill << ' ' << inner.size());
        GraphMaker m;
        ir::Dims dims = {kRows};
        dims.insert(dims.end(), inner.begin(), inner.end());
        const ir::Value ids = m.op("Convert", {m.input({kRows}, element::i64)}, {{"destination_type", type}});
        const ir::Value maxima =
            m.op("SegmentMax", {m.input(PartialShape(ir::to_shape(dims))), ids, m.scalar_integer(600)},
                 {{"fill_mode", fill}});
        m.result(maxima);
        HostTensor segments(element::i64, {kRows});
        for (int64_t i = 0; i < kRows; ++i) segments.writable().as<int64_t>()[i] = i < 100 ? 3 : i + i / 2 - 10;
        const std::vector<std::vector<HostTensor>> inputs = {
            {segments, with_nan(random_tensor(dims, 3), ir::element_count(dims) / 2)}};
        expect_same_as_interpreter(m.graph(), inputs, 0);
        for (const cpu::Isa isa : cpu::available_isas())
          EXPECT_EQ(kernel_on_cpu(m.graph(), isa, m.graph().node(maxima.node).name),
                    std::string("f32_segment_max__") + cpu::isa_name(isa));
      }
}

// The lowest number of the type that the model says, also where the device computes in another.
TEST(SizesFromData, SegmentsWithoutRowsAreLowestInTheirType) {
  for (const element::Type type : {element::f32, element::f16, element::bf16}) {
    SCOPED_TRACE(type.get_type_name());
    GraphMaker m;
    const ir::Value maxima = m.op("SegmentMax", {m.input({2}, type), m.input({2}, element::i64), m.scalar_integer(3)},
                                  {{"fill_mode", "LOWEST"}});
    m.result(m.op("Convert", {maxima}, {{"destination_type", "f32"}}));
    HostTensor x(type, {2});
    for (int i = 0; i < 2; ++i) set_number(x.writable(), i, i + 1);
    const std::vector<std::vector<HostTensor>> inputs = {{x, integer_tensor({2}, {0, 2})}};
    const float lowest = type == element::f16    ? -65504.f
                         : type == element::bf16 ? static_cast<float>(std::numeric_limits<bfloat16>::lowest())
                                                 : std::numeric_limits<float>::lowest();
    expect_same_as_interpreter(m.graph(), inputs, 0);
    const std::vector<ir::TensorView> views = {inputs[0][0].view(), inputs[0][1].view()};
    const interpreter::Program in_f32(m.graph(), interpreter::Precision::f32);
    EXPECT_EQ(in_f32.run(views)[0].view().as<float>()[1], lowest);
    for (const cpu::Isa isa : cpu::available_isas())
      EXPECT_EQ(run_on_cpu(m.graph(), isa, 1, inputs)[0][0].view().as<float>()[1], lowest);
  }
}

TEST(SizesFromData, SegmentsThatDescendAreRefused) {
  GraphMaker m;
  m.result(
      m.op("SegmentMax", {m.input({3, 4}), m.input({3}, element::i64), m.scalar_integer(5)}, {{"fill_mode", "ZERO"}}));
  const auto run = [&](std::vector<int64_t> ids) {
    const std::vector<HostTensor> inputs = {random_tensor({3, 4}, 1), integer_tensor({3}, ids)};
    return std::string(caught([&] { on_cpu(m.graph(), 2).infer(inputs); }).what());
  };
  EXPECT_NE(run({2, 1, 4}).find("segment_ids must ascend from 0 on, got 1 after 2"), std::string::npos);
  EXPECT_NE(run({0, 1, 5}).find("segment_ids must be below num_segments 5, got 5"), std::string::npos);
}

// More texts than one thread packs at a time, some of them too long for the object itself.
TEST(SizesFromData, ManyTexts) {
  constexpr size_t kTexts = 3000;
  ModelBuilder b;
  const auto x = b.parameter(element::string, PartialShape{-1});
  const auto bytes = b.op("StringTensorUnpack", "opset15", {x});
  for (size_t i = 0; i < 3; ++i) b.result(bytes.get_node()->output(i));
  b.result(b.op("StringTensorPack", "opset15",
                {bytes.get_node()->output(0), bytes.get_node()->output(1), bytes.get_node()->output(2)}));
  auto request = Core().compile_model(b.build(), "CPU", inference_num_threads(2)).create_infer_request();
  Tensor texts(element::string, {kTexts});
  auto* const strings = static_cast<std::string*>(texts.data());
  std::string all;
  for (size_t i = 0; i < kTexts; ++i) {
    strings[i] = std::string(i % 40, static_cast<char>('a' + i % 26));
    all += strings[i];
  }
  request.set_input_tensor(texts);
  request.infer();
  const Tensor symbols = request.get_output_tensor(2), packed = request.get_output_tensor(3);
  EXPECT_EQ(std::string(static_cast<const char*>(symbols.data()), symbols.get_size()), all);
  ASSERT_EQ(packed.get_size(), kTexts);
  EXPECT_TRUE(std::equal(strings, strings + kTexts, static_cast<const std::string*>(packed.data())));
  EXPECT_EQ(request.get_output_tensor(1).data<int32_t>()[kTexts - 1], static_cast<int32_t>(all.size()));
}

/// Lengths of the first result on both devices.
std::vector<int64_t> lengths(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  const std::vector<std::vector<HostTensor>> sets = {inputs};
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  return {interpreter::run(graph, views)[0].dims()[0], run_on_cpu(graph, cpu::Isa::scalar, 1, sets)[0][0].dims()[0]};
}

// 0.6 / 0.2 is 3 in f32, and more in f64.
TEST(SizesFromData, RangesOfRealNumbersEndBeforeTheirStop) {
  for (const char* type : {"f32", "f16"}) {
    GraphMaker m;
    const auto start = m.input({}), stop = m.input({}), step = m.input({});
    m.result(m.op("Range", {start, stop, step}, {{"output_type", type}}));
    std::vector<HostTensor> inputs;
    for (const float number : {0.0F, 0.6F, 0.2F}) {
      HostTensor input(element::f32, {});
      *input.writable().as<float>() = number;
      inputs.push_back(std::move(input));
    }
    EXPECT_EQ(lengths(m.graph(), inputs), (std::vector<int64_t>{3, 3})) << type;
  }
}

TEST(SizesFromData, RangesOfConstantsAreAsLongAsTheirFileSays) {
  for (const int64_t declared : {0, 3, 4, 5}) {
    GraphMaker m;
    const auto range = m.op("Range", {m.scalar(0), m.scalar(0.6F), m.scalar(0.2F)}, {{"output_type", "f32"}});
    m.graph().port(range).declared = ir::PortType{element::f32, PartialShape{declared}};
    ir::infer_graph(m.graph());
    m.result(m.op("Add", {range, m.input({1})}));
    const int64_t wanted = declared == 4 ? 4 : 3;
    EXPECT_EQ(lengths(m.graph(), {random_tensor({1}, 1)}), (std::vector<int64_t>{wanted, wanted})) << declared;
  }
}

}  // namespace
}  // namespace terroir::test
