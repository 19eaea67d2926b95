// Initial values of variables that read other variables, on every device.
#include "tests/passes/state_device.hpp"

namespace terroir::test {
namespace {

/// w starts as x, v as 2 * w; the output is {v, w}, and both grow by 1.
GraphMaker two_variables() {
  GraphMaker m;
  const ir::Value x = m.input({1}), one = m.constant({1}, {1});
  const ir::Value w = read(m, {x}, "w");
  const ir::Value v = read(m, {m.op("Multiply", {w, m.constant({1}, {2})})}, "v");
  m.result(m.op("Concat", {v, w}, {{"axis", "0"}}));
  assign(m, m.op("Add", {v, one}), "v");
  assign(m, m.op("Add", {w, one}), "w");
  return m;
}

void reset(Device& device, const std::string& name) {
  const auto& variables = device.request().variables();
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == name) return device.request().reset_variable(i);
  FAIL() << "no variable '" << name << "'";
}

TEST(StateInitialValues, ReadAnotherVariable) {
  on_every_device(two_variables().graph(), [](Device& device) {
    EXPECT_EQ(device.infer({floats({1}, {3})}), (Floats{6, 3}));
    EXPECT_EQ(device.infer({floats({1}, {100})}), (Floats{7, 4}));
    reset(device, "v");  // starts from what w is now
    EXPECT_EQ(device.infer({floats({1}, {100})}), (Floats{10, 5}));
    reset(device, "w");  // v goes on
    EXPECT_EQ(device.infer({floats({1}, {20})}), (Floats{11, 20}));
    reset(device, "v");
    reset(device, "w");
    EXPECT_EQ(device.infer({floats({1}, {30})}), (Floats{60, 30}));
  });
}

// c from b from a, and d from a alone; a has no initial value of its own.
TEST(StateInitialValues, InARow) {
  GraphMaker m;
  const ir::Value x = m.input({1});
  const ir::Value a = read(m, {}, "a");
  const ir::Value b = read(m, {m.op("Add", {a, x})}, "b");
  const ir::Value d = read(m, {m.op("Subtract", {a, x})}, "d");
  const ir::Value c = read(m, {m.op("Multiply", {b, b})}, "c");
  m.result(m.op("Concat", {a, b, c, d}, {{"axis", "0"}}));
  assign(m, m.op("Add", {c, m.constant({1}, {1})}), "a");
  on_every_device(m.graph(), [](Device& device) {
    EXPECT_EQ(device.infer({floats({1}, {3})}), (Floats{0, 3, 9, -3}));
    EXPECT_EQ(device.infer({floats({1}, {5})}), (Floats{10, 3, 9, -3}));
    reset(device, "b");
    reset(device, "d");
    EXPECT_EQ(device.infer({floats({1}, {5})}), (Floats{10, 15, 9, 5}));
    reset(device, "c");
    EXPECT_EQ(device.infer({floats({1}, {5})}), (Floats{10, 15, 225, 5}));
  });
}

// The shape of one follows that of the other.
TEST(StateInitialValues, OfUnknownExtents) {
  GraphMaker m;
  const ir::Value x = m.input(PartialShape("?"));
  const auto grown = [&](const std::vector<ir::Value>& initial, const char* name) {
    return m.op("ReadValue", initial, {{"variable_id", name}, {"variable_type", "f32"}, {"variable_shape", "?"}}, name,
                "opset6");
  };
  const ir::Value w = grown({x}, "w");
  const ir::Value v = grown({m.op("Concat", {w, w}, {{"axis", "0"}})}, "v");
  m.result(v);
  assign(m, m.op("Concat", {w, x}, {{"axis", "0"}}), "w");
  on_every_device(m.graph(), [](Device& device) {
    EXPECT_EQ(device.infer({floats({2}, {1, 2})}), (Floats{1, 2, 1, 2}));
    EXPECT_EQ(device.infer({floats({1}, {3})}), (Floats{1, 2, 1, 2}));
    reset(device, "v");
    EXPECT_EQ(device.infer({floats({1}, {3})}), (Floats{1, 2, 1, 2, 3, 1, 2, 1, 2, 3}));
  });
}

// Zeros of the shape that ReadValue says, though what is assigned may have another one.
TEST(StateInitialValues, WithoutOneTheDeclaredShape) {
  GraphMaker m;
  const ir::Value x = m.input(PartialShape("2,?"));
  const ir::Value v = m.op("ReadValue", {}, {{"variable_id", "v"}, {"variable_type", "f32"}, {"variable_shape", "2,3"}},
                           "read", "opset6");
  m.result(m.op("Add", {v, m.constant({1}, {1})}));
  assign(m, m.op("ReLU", {x}));
  on_every_device(m.graph(), [](Device& device) {
    EXPECT_EQ(device.request().variable(0).dims, (ir::Dims{2, 3}));
    reset(device, "v");
    EXPECT_EQ(device.infer({floats({2, 1}, {1, 2})}), Floats(6, 1));
    EXPECT_EQ(device.infer({floats({2, 2}, {1, 2, 3, 4})}), (Floats{2, 3}));
    EXPECT_EQ(device.infer({floats({2, 2}, {1, 2, 3, 4})}), (Floats{2, 3, 4, 5}));
    reset(device, "v");
    EXPECT_EQ(device.infer({floats({2, 1}, {1, 2})}), Floats(6, 1));
  });
}

}  // namespace
}  // namespace terroir::test
