// What a convolution's result is added to need not be a convolution's: a pool, a concat, a gate, a value of the run,
// what a branch of If gives. It is added at the convolution's store too, on either side of the Add.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tests/passes/conditions.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/body_ports.hpp"

namespace terroir::test {
namespace {

constexpr int64_t kExtent = 9;

struct ResidualSource {
  const char* name;
  /// From the model's input, of the extents of the convolution's result.
  std::function<ir::Value(GraphMaker&, ir::Value)> add;
  bool is_stage_end = false;  // what does not read it has run before
};

ir::Body single_op_body(const char* role, const char* type, const ir::Dims& dims) {
  GraphMaker body;
  const ir::Value x = body.input(PartialShape(ir::to_shape(dims)));
  ir::BodyPortMap ports;
  ports.inputs = {fed(1, x)};
  ports.outputs = {given(0, body.result(body.op(type, {x})))};
  return std::move(body).as_body(role, ports);
}

const ResidualSource kResidualSources[] = {
    {"MaxPool",
     [](GraphMaker& m, ir::Value x) {
       return m.op("MaxPool", {x}, {{"strides", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}},
                   "", "opset1");
     }},
    {"Concat",
     [](GraphMaker& m, ir::Value x) {
       const int64_t channels = m.dims(x)[1];
       const ir::Value ends[] = {m.op("Tanh", {m.input({2, 3, kExtent, kExtent})}),
                                 m.op("Sigmoid", {m.input({2, channels - 3, kExtent, kExtent})})};
       return m.op("Concat", {ends[0], ends[1]}, {{"axis", "1"}});
     }},
    {"gate",
     [](GraphMaker& m, ir::Value x) {
       const ir::Value mean = m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "true"}});
       return m.op("Multiply", {x, m.op("Sigmoid", {mean})});
     }},
    {"input", [](GraphMaker& m, ir::Value x) { return m.input(PartialShape(ir::to_shape(m.dims(x)))); }},
    {"If",
     [](GraphMaker& m, ir::Value x) {
       std::vector<ir::Body> bodies;
       bodies.push_back(single_op_body("then_body", "Tanh", m.dims(x)));
       bodies.push_back(single_op_body("else_body", "Abs", m.dims(x)));
       return m.control("If", {m.input({}, element::boolean), x}, std::move(bodies));
     },
     true},
};

/// With a condition among them, both its values.
std::vector<std::vector<HostTensor>> input_sets(const GraphMaker& m) {
  std::vector<std::vector<HostTensor>> sets(2);
  for (const bool condition : {false, true})
    for (const ir::Value& input : m.inputs()) {
      std::vector<HostTensor>& set = sets[condition ? 1 : 0];
      const auto seed = static_cast<uint32_t>(2 * set.size() + (condition ? 1 : 0));
      if (m.graph().port(input).type == element::boolean)
        set.push_back(truth(condition));
      else
        set.push_back(random_tensor(m.dims(input), seed));
    }
  return sets;
}

TEST(ResidualSources, AreAddedAtTheStoreOfAConvolution) {
  for (const ResidualSource& source : kResidualSources)
    for (const int64_t channels : {16, 30})
      for (const int64_t kernel : {1, 3})
        for (const bool source_first : {false, true}) {
          SCOPED_TRACE(testing::Message() << source.name << (source_first ? " first, " : ", ") << channels
                                          << " channels, kernel " << kernel);
          GraphMaker m;
          const ir::Value x = m.input({2, channels, kExtent, kExtent});
          const ir::Value residual = source.add(m, x);
          const ir::Value y = m.conv(source.is_stage_end ? residual : x, channels, kernel, 1);
          const ir::Value sum = source_first ? m.op("Add", {residual, y}) : m.op("Add", {y, residual});
          const ir::Value z = m.op("ReLU", {sum});
          m.result(z);
          m.result(m.conv(z, 6, 1, 2));  // z is also wanted in the layout of convolutions
          expect_same_as_interpreter(m.graph(), input_sets(m));
          for (const cpu::Isa isa : cpu::available_isas())
            for (const char* name : {"add", "relu"})
              EXPECT_EQ(kernel_on_cpu(m.graph(), isa, name), "fused into convolution")
                  << name << " on " << cpu::isa_name(isa);
        }
}

}  // namespace
}  // namespace terroir::test
