// Elementwise ops of every type on the CPU device: that they do not fall to references, and that layouts, broadcasts
// and threads change nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// Integers from a random input, of any type.
ir::Value as(GraphMaker& m, const PartialShape& shape, const char* type) {
  return m.op("Convert", {m.op("Multiply", {m.input(shape), m.scalar(20)})}, {{"destination_type", type}});
}

void expect_no_reference(const GraphMaker& m, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), name);
    EXPECT_FALSE(kernel.empty() || kernel.starts_with("ref")) << name << " ran as '" << kernel << "'";
  }
}

TEST(CpuElementwise, TypedArithmetic) {
  for (const char* type : {"i8", "i32", "i64", "u8", "u64", "f64"}) {
    GraphMaker m;
    std::set<std::string> names;
    for (const char* op : {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "Mod", "FloorMod",
                           "SquaredDifference", "Equal", "Less", "PReLU"}) {
      m.result(m.op(op, {as(m, {2, 3, 67}, type), as(m, {1, 3, 1}, type)}, {}, op));
      names.insert(op);
    }
    m.result(m.op("Select",
                  {m.op("Greater", {m.input({2, 3, 67}), m.input({67})}), as(m, {2, 3, 67}, type), as(m, {3, 1}, type)},
                  {}, "Select"));
    names.insert("Select");
    SCOPED_TRACE(type);
    expect_same_as_interpreter(m, 0);
    expect_no_reference(m, names);
  }
}

TEST(CpuElementwise, FunctionsOfFloats) {
  GraphMaker m;
  std::set<std::string> names;
  for (const char* op : {"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Atanh"}) {
    m.result(m.op(op, {m.input({3, 5, 67})}, {}, op));
    names.insert(op);
  }
  m.result(m.op("Acosh", {m.op("Add", {m.input({515}), m.scalar(2)})}, {}, "Acosh"));
  m.result(m.op("HardSigmoid", {m.input({515}), m.scalar(0.25), m.scalar(0.5)}, {}, "HardSigmoid"));
  m.result(m.op("Selu", {m.input({515}), m.scalar(1.6), m.scalar(1.05)}, {}, "Selu"));
  names.insert({"Acosh", "HardSigmoid", "Selu"});
  expect_same_as_interpreter(m);
  expect_no_reference(m, names);
}

TEST(CpuElementwise, OneValueWithMoreAxesThanTheResult) {
  for (const PartialShape& shape : {PartialShape{}, PartialShape::dynamic(), PartialShape{1}}) {
    const auto x = std::make_shared<opset1::Parameter>(element::f32, shape);
    const auto alpha = std::make_shared<opset1::Parameter>(element::f32, PartialShape{1});
    const auto lambda = std::make_shared<opset1::Parameter>(element::f32, PartialShape{1});
    const auto selu = std::make_shared<opset1::Selu>(x, alpha, lambda);
    Core core;
    InferRequest request =
        core.compile_model(std::make_shared<Model>(OutputVector{selu}, ParameterVector{x, alpha, lambda}), "CPU")
            .create_infer_request();
    const Tensor value(element::f32, shape.rank().is_static() ? shape.to_shape() : Shape{}), two(element::f32, {1});
    *value.data<float>() = -1;
    *two.data<float>() = 2;
    request.set_input_tensor(0, value);
    request.set_input_tensor(1, two);
    request.set_input_tensor(2, two);
    request.infer();
    EXPECT_FLOAT_EQ(*request.get_output_tensor().data<float>(), 4 * std::expm1(-1.0f)) << shape;
  }
}

TEST(CpuElementwise, TypesWithoutLoopsInPieces) {
  for (const char* type : {"f64", "i32"}) {
    GraphMaker m;
    const ir::Value x = as(m, {3, 6007}, type);  // several pieces, the last one a part
    const std::vector<const char*> ops = {"Exp", "Erf", "Tanh", "Sin", "Atan", "Sigmoid"};
    for (const char* op : ops) m.result(m.op(op, {x}, {}, op));
    SCOPED_TRACE(type);
    expect_same_as_interpreter(m, 0);
    for (const char* op : ops) EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::best_isa(), op), "threaded:any") << op;
  }
}

TEST(CpuElementwise, BetweenConvolutionsInTheirLayout) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 16, 6, 7}), 32, 3, 1);
  auto chosen = m.op("Select", {m.op("Greater", {x, m.scalar(0)}), x, m.input({1, 32, 6, 7})});
  auto slope = m.op("PReLU", {chosen, m.input({32})});
  m.result(m.conv(m.op("Sin", {slope}), 16, 3, 2));
  expect_same_as_interpreter(m);
}

// An image alone is cut for several threads, too: between channels, or between pixels.
TEST(CpuElementwise, GatesOfLargeImages) {
  for (const int64_t images : {1, 2}) {
    GraphMaker m;
    const ir::Value x = m.input({images, 40, 33, 37});
    const ir::Value plain = m.op("Subtract", {x, m.input({images, 40, 1, 1})}, {}, "plain");
    m.result(plain);
    const ir::Value blocked = m.op("Multiply", {m.conv(x, 48, 3, 1), m.input({1, 48, 1, 1})});
    m.result(m.conv(blocked, 16, 3, 2));
    m.result(blocked);
    expect_same_as_interpreter(m);
    EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::best_isa(), "plain"),
              std::string("f32_channel_gate_nchw__") + cpu::isa_name(cpu::best_isa()));
  }
}

// What comes at run time per channel, per pixel or per row meets tiles in every form: one element, a piece of memory, a
// block of channels over and over, a value per block; and tiles that begin or end in the midst of them.
TEST(CpuElementwise, GatesAndNoiseInTiles) {
  for (const ir::Dims& dims :
       {ir::Dims{2, 48, 9, 13}, {1, 32, 33, 37}, {2, 16, 64, 64}, {3, 96, 8, 8}, {1, 70, 40, 41}})
    for (const bool between_convolutions : {false, true}) {
      const int64_t n = dims[0], c = dims[1], h = dims[2], w = dims[3];
      SCOPED_TRACE(ir::to_shape(dims).to_string() + (between_convolutions ? " between convolutions" : ""));
      GraphMaker m;
      ir::Value x = m.input({n, c, h, w});
      if (between_convolutions) x = m.conv(x, c, 1, 1);
      x = m.op("Multiply", {m.op("Sigmoid", {m.input({n, c, 1, 1})}), x});
      x = m.op("Subtract", {m.input({1, 1, h, w}), x});
      x = m.op("PReLU", {m.op("Add", {x, m.input({1, c, 1, 1})}), m.constant({1}, {0.25f})});
      x = m.op("Divide", {x, m.op("Add", {m.op("Abs", {m.input({n, 1, h, w})}), m.scalar(1)})});
      x = m.op("Multiply", {m.op("Sin", {m.op("Add", {x, m.input({1, 1, 1, w})})}), m.input({n, 1, 1, 1})});
      // A gate that a function reads as well has to be laid out.
      const ir::Value gate = m.input({n, 1, h, w});
      x = m.op("Select", {m.op("Greater", {gate, m.scalar(0)}), x, m.op("Subtract", {x, gate})});
      m.result(between_convolutions ? m.conv(x, 16, 1, 2) : x);
      expect_same_as_interpreter(m);
    }
}

TEST(CpuElementwise, GatesOfNothing) {
  for (const ir::Dims& dims : {ir::Dims{2, 3, 0, 4}, {0, 3, 5, 4}, {2, 0, 5, 4}}) {
    GraphMaker m;
    m.result(m.op("SquaredDifference", {m.input(PartialShape(ir::to_shape(dims))), m.input({1, dims[1], 1, 1})}));
    expect_same_as_interpreter(m, 0);
  }
}

// Alone, in chains, at the store of a convolution with channels that are no whole blocks, and in tiles.
TEST(CpuElementwise, PowersOfKnownExponents) {
  for (const float exponent : {2.0f, 3.0f, 1.0f, -1.0f, 0.5f, -0.5f, 1.5f}) {
    SCOPED_TRACE(exponent);
    GraphMaker m;
    const auto above_zero = [&](ir::Value x) { return m.op("Add", {m.op("Abs", {x}), m.scalar(0.5)}); };
    const auto power = [&](ir::Value x) { return m.op("Power", {x, m.scalar(exponent)}); };
    m.result(power(m.op("Sigmoid", {m.input({3, 5, 67})})));
    m.result(m.op("Tanh", {power(above_zero(m.input({2, 3, 5, 4})))}));
    const ir::Value x = power(above_zero(m.conv(m.input({1, 3, 6, 5}), 11, 3, 1)));
    m.result(m.conv(x, 5, 1, 2));
    m.result(m.op("Multiply", {power(above_zero(m.input({2, 3, 5, 4}))), m.op("Sin", {m.input({2, 1, 5, 1})})}));
    m.result(m.op("Sin", {m.op("Power", {above_zero(m.input({3, 5})), m.constant({1, 1, 1}, {exponent})})}));
    expect_same_as_interpreter(m);
  }
}

// A constant that all elements share is the same step whatever runs it.
TEST(CpuElementwise, PowersOfKnownExponentsInTilesHaveTheBitsOfSteps) {
  for (const float exponent : {2.0f, 3.0f, -0.5f}) {
    SCOPED_TRACE(exponent);
    GraphMaker chain, tiles;
    for (GraphMaker* m : {&chain, &tiles}) {
      const ir::Value x = m->op("Power", {m->op("Abs", {m->input({3, 5, 67})}), m->scalar(exponent)});
      m->result(m == &chain ? x : m->op("Select", {m->op("Equal", {x, x}), x, m->scalar(7)}));
    }
    const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({3, 5, 67}, 1)}};
    expect_same_bits(chain.graph(), tiles.graph(), inputs);
  }
}

}  // namespace
}  // namespace terroir::test
