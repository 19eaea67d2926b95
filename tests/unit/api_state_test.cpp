// Models with variables: ReadValue, Assign, VariableState, on every device.
#include <gtest/gtest.h>

#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/small_network.hpp"
#include "tests/unit/float_tensors.hpp"

namespace terroir {
namespace {

using Floats = std::vector<float>;

Floats infer(InferRequest& request, const Tensor& input) {
  request.set_input_tensor(input);
  request.infer();
  return values_of(request.get_output_tensor());
}

TEST(State, LivesFromOneInferenceToTheNext) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(counter(), device).create_infer_request();
    EXPECT_EQ(infer(request, floats({1}, {1})), (Floats{11}));
    EXPECT_EQ(infer(request, floats({1}, {2})), (Floats{13}));
    request.start_async();
    request.wait();
    EXPECT_EQ(values_of(request.get_output_tensor()), (Floats{15}));
    request.reset_state();
    EXPECT_EQ(infer(request, floats({1}, {5})), (Floats{15}));
  }
}

TEST(State, IsDescribedByTheModel) {
  const auto model = counter();
  ASSERT_EQ(model->get_variables().size(), 1u);
  const auto variable = model->get_variable_by_id("count");
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->get_info(), (op::util::VariableInfo{PartialShape{1}, element::f32, "count"}));
  EXPECT_EQ(model->get_variable_by_id("counter"), nullptr);
  ASSERT_EQ(model->get_sinks().size(), 1u);
  EXPECT_EQ(model->get_sinks()[0]->get_friendly_name(), "write");
}

TEST(State, VariablesAreReshapedByName) {
  ModelBuilder b("sum");
  const auto x = b.parameter(element::f32, {-1}, "x");
  const auto before = b.op("ReadValue", "opset6", {},
                           {{"variable_id", "sum"}, {"variable_type", "f32"}, {"variable_shape", "[?]"}}, "read");
  const auto after = b.op("Add", "opset1", {before, x}, {}, "add");
  b.result(b.op("Assign", "opset6", {after}, {{"variable_id", "sum"}}, "write"), "total");
  const auto model = b.build();
  model->reshape(std::map<std::string, PartialShape>{{"x", {3}}}, {{"sum", PartialShape{3}}});
  EXPECT_EQ(model->get_variable_by_id("sum")->get_info().data_shape, (PartialShape{3}));
  EXPECT_EQ(model->output().get_shape(), (Shape{3}));
  InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
  EXPECT_EQ(infer(request, floats({3}, {1, 2, 3})), (Floats{1, 2, 3}));
  EXPECT_EQ(infer(request, floats({3}, {1, 2, 3})), (Floats{2, 4, 6}));
  EXPECT_EQ(caught([&] {
              model->reshape(PartialShape{3}, {{"total", PartialShape{3}}});
            }).code(),
            ErrorCode::not_found);
  EXPECT_EQ(caught([&] {
              counter()->reshape(PartialShape{1}, {{"count", PartialShape{1}}});
            }).code(),
            ErrorCode::unsupported);
}

TEST(State, SurvivesTheReleaseOfMemory) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    CompiledModel compiled = core.compile_model(counter(), device);
    InferRequest request = compiled.create_infer_request();
    EXPECT_EQ(infer(request, floats({1}, {1})), (Floats{11}));
    compiled.release_memory();
    EXPECT_EQ(infer(request, floats({1}, {1})), (Floats{12})) << device;
  }
}

TEST(State, BelongsToTheRequest) {
  Core core;
  CompiledModel compiled = core.compile_model(counter(), "CPU");
  InferRequest a = compiled.create_infer_request(), b = compiled.create_infer_request();
  EXPECT_EQ(infer(a, floats({1}, {1})), (Floats{11}));
  EXPECT_EQ(infer(b, floats({1}, {3})), (Floats{13}));
  EXPECT_EQ(infer(a, floats({1}, {1})), (Floats{12}));
}

/// States are the variables, not the request: they neither end with its last handle nor hold that up.
TEST(State, OutlivesTheHandlesOfTheRequest) {
  Core core;
  std::vector<VariableState> states;
  float total[1] = {};
  {
    InferRequest request = core.compile_model(counter(), "CPU").create_infer_request();
    states = request.query_state();
    request.set_input_tensor(floats({1}, {1}));
    request.set_output_tensor(Tensor(element::f32, {1}, total));
    request.start_async();
  }
  EXPECT_EQ(total[0], 11.f);
  EXPECT_EQ(values_of(states[0].get_state()), (Floats{11}));
  states[0].set_state(floats({1}, {100}));
  EXPECT_EQ(values_of(states[0].get_state()), (Floats{100}));
  EXPECT_EQ(states[0].get_name(), "count");
}

TEST(State, CanBeReadAndSet) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(counter(), device).create_infer_request();
    std::vector<VariableState> states = request.query_state();
    ASSERT_EQ(states.size(), 1u);
    EXPECT_EQ(states[0].get_name(), "count");
    EXPECT_EQ(values_of(states[0].get_state()), (Floats{0}));
    states[0].set_state(floats({1}, {100}));
    EXPECT_EQ(infer(request, floats({1}, {1})), (Floats{101}));
    EXPECT_EQ(values_of(states[0].get_state()), (Floats{101}));
    states[0].reset();
    EXPECT_EQ(infer(request, floats({1}, {1})), (Floats{11}));

    const Exception type = caught([&] { states[0].set_state(Tensor(element::i32, {1})); });
    EXPECT_EQ(type.code(), ErrorCode::type_mismatch);
    EXPECT_STREQ(type.what(), "variable 'count': expected a tensor of type f32, got i32");
    const Exception shape = caught([&] { states[0].set_state(floats({2}, {1, 2})); });
    EXPECT_EQ(shape.code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(values_of(states[0].get_state()), (Floats{11}));
  }
}

TEST(State, EmptyHandlesAndModelsWithoutState) {
  EXPECT_EQ(caught([] { VariableState().get_name(); }).code(), ErrorCode::invalid_argument);
  ModelBuilder b("plain");
  b.result(b.op("ReLU", "opset1", {b.parameter(element::f32, {1}, "x")}, {}, "relu"));
  InferRequest request = Core().compile_model(b.build(), "CPU").create_infer_request();
  EXPECT_TRUE(request.query_state().empty());
  request.reset_state();
}

/// The initial value is computed from the input: v starts as 2x, then the result is v + x, which v becomes.
TEST(State, InitialValuesMayDependOnTheInput) {
  ModelBuilder b("initial");
  const auto x = b.parameter(element::f32, {2}, "x");
  const auto twice = b.op("Multiply", "opset1", {x, b.constant(element::f32, Shape{}, {2.f})}, {}, "twice");
  const auto v = b.op("ReadValue", "opset6", {twice},
                      {{"variable_id", "v"}, {"variable_type", "f32"}, {"variable_shape", "2"}}, "read");
  const auto sum = b.op("Add", "opset1", {v, x}, {}, "sum");
  b.op("Assign", "opset6", {sum}, {{"variable_id", "v"}}, "write");
  b.result(sum);
  const auto model = b.build();
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    EXPECT_EQ(infer(request, floats({2}, {1, 2})), (Floats{3, 6}));
    EXPECT_EQ(infer(request, floats({2}, {10, 10})), (Floats{13, 16}));
    request.reset_state();
    EXPECT_EQ(infer(request, floats({2}, {10, 10})), (Floats{30, 30}));
  }
}

/// v starts as 2x and w as v + 1; the result is v + w + x, which both become.
TEST(State, StaysAsItWasWhenAnInferenceFails) {
  ModelBuilder b("initial");
  const auto x = b.parameter(element::f32, {-1}, "x");
  const auto read = [&](const char* id, const Output<Node>& initial) {
    return b.op("ReadValue", "opset6", {initial},
                {{"variable_id", id}, {"variable_type", "f32"}, {"variable_shape", "?"}});
  };
  const auto v = read("v", b.op("Multiply", "opset1", {x, b.constant(element::f32, Shape{}, {2.f})}));
  const auto w = read("w", b.op("Add", "opset1", {v, b.constant(element::f32, Shape{}, {1.f})}));
  const auto sum = b.op("Add", "opset1", {b.op("Add", "opset1", {v, w}), x});
  b.op("Assign", "opset6", {sum}, {{"variable_id", "v"}});
  b.op("Assign", "opset6", {sum}, {{"variable_id", "w"}});
  b.result(sum);
  const auto model = b.build();
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    const Tensor roomy(element::f32, {2});
    const auto fail = [&](const Floats& values) {
      float small[1];
      request.set_output_tensor(Tensor(element::f32, {1}, small));
      EXPECT_EQ(caught([&] { infer(request, floats({2}, values)); }).code(), ErrorCode::shape_mismatch);
      request.set_output_tensor(roomy);
    };
    fail({1, 1});
    EXPECT_EQ(values_of(request.query_state()[0].get_state()), Floats());
    EXPECT_EQ(infer(request, floats({2}, {5, 6})), (Floats{26, 31}));
    fail({1, 1});
    EXPECT_EQ(values_of(request.query_state()[1].get_state()), (Floats{26, 31}));
    EXPECT_EQ(infer(request, floats({2}, {1, 1})), (Floats{53, 63}));
    // One that is set, and one whose initial value depends on that.
    request.reset_state();
    request.query_state()[0].set_state(floats({2}, {100, 100}));
    fail({7, 7});
    fail({8, 8});
    EXPECT_EQ(infer(request, floats({2}, {1, 2})), (Floats{202, 203}));
  }
}

/// What is computed goes to memory of its own first where the output is in use, and may not fit when it is copied.
TEST(State, StaysAsItWasWhenResultsCannotBeDelivered) {
  ModelBuilder b("twice");
  const auto x = b.parameter(element::f32, {-1}, "x");
  const auto one = b.constant(element::f32, Shape{1}, {1.f});
  const auto v = b.op("ReadValue", "opset6", {one},
                      {{"variable_id", "v"}, {"variable_type", "f32"}, {"variable_shape", "1"}}, "read");
  b.op("Assign", "opset6", {b.op("Add", "opset1", {v, one})}, {{"variable_id", "v"}}, "write");
  b.result(b.op("Concat", "opset1", {x, x}, {{"axis", 0}}));
  const auto model = b.build();
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    EXPECT_EQ(infer(request, floats({1}, {3})), (Floats{3, 3}));
    float memory[2] = {1, 2};
    const Tensor both(element::f32, {2}, memory);
    request.set_output_tensor(both);
    EXPECT_EQ(caught([&] { infer(request, both); }).code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(values_of(request.query_state()[0].get_state()), (Floats{2}));
  }
}

/// A cache that grows by what comes in, as those of language models do.
TEST(State, ShapesMayGrow) {
  ModelBuilder b("cache");
  const auto x = b.parameter(element::f32, {1, 2}, "x");
  const auto empty = b.constant(element::f32, Shape{0, 2}, Floats{});
  const auto past = b.op("ReadValue", "opset6", {empty},
                         {{"variable_id", "past"}, {"variable_type", "f32"}, {"variable_shape", "?,2"}}, "read");
  const auto all = b.op("Concat", "opset1", {past, x}, {{"axis", 0}}, "all");
  b.op("Assign", "opset6", {all}, {{"variable_id", "past"}}, "write");
  b.result(b.op("ReLU", "opset1", {all}, {}, "relu"));
  const auto model = b.build();
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    EXPECT_EQ(infer(request, floats({1, 2}, {1, -2})), (Floats{1, 0}));
    EXPECT_EQ(infer(request, floats({1, 2}, {3, 4})), (Floats{1, 0, 3, 4}));
    EXPECT_EQ(infer(request, floats({1, 2}, {5, 6})), (Floats{1, 0, 3, 4, 5, 6}));
    EXPECT_EQ(values_of(request.query_state()[0].get_state()), (Floats{1, -2, 3, 4, 5, 6}));
  }
}

TEST(State, AVariableWithoutInitialValueStartsAsZeros) {
  ModelBuilder b("zeros");
  const auto x = b.parameter(element::f32, {2}, "x");
  const auto v = b.op("ReadValue", "opset6", {},
                      {{"variable_id", "v"}, {"variable_type", "f32"}, {"variable_shape", "2"}}, "read");
  b.op("Assign", "opset6", {x}, {{"variable_id", "v"}}, "write");
  b.result(b.op("Subtract", "opset1", {x, v}, {}, "difference"));
  const auto model = b.build();
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    EXPECT_EQ(infer(request, floats({2}, {1, 2})), (Floats{1, 2}));
    EXPECT_EQ(infer(request, floats({2}, {5, 5})), (Floats{4, 3}));
  }
}

TEST(State, ZerosKeepTheDeclaredShapeWhenTheInputsAreReshaped) {
  ModelBuilder b("delay");
  const auto x = b.parameter(element::f32, {3}, "x");
  const auto before = b.op("ReadValue", "opset6", {},
                           {{"variable_id", "v"}, {"variable_type", "f32"}, {"variable_shape", "[3]"}}, "read");
  b.op("Assign", "opset6", {x}, {{"variable_id", "v"}}, "write");
  b.result(before, "before");
  const auto model = b.build();
  model->reshape(PartialShape{-1});
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    EXPECT_EQ(request.query_state()[0].get_state().get_shape(), (Shape{3}));
    request.reset_state();
    EXPECT_EQ(infer(request, floats({2}, {1, 2})), (Floats{0, 0, 0}));
    EXPECT_EQ(infer(request, floats({1}, {3})), (Floats{1, 2}));
  }
}

/// The layer that assigns comes first in the file; the variable may still have every shape that ReadValue allows.
TEST(State, TheOrderOfTheLayersDoesNotNarrowAVariable) {
  ModelBuilder b("order");
  const auto x = b.parameter(element::f32, {1, 2}, "x");
  b.op("Assign", "opset6", {x}, {{"variable_id", "v"}}, "write");
  const auto v = b.op("ReadValue", "opset6", {},
                      {{"variable_id", "v"}, {"variable_type", "f32"}, {"variable_shape", "?,2"}}, "read");
  b.result(b.op("ReLU", "opset1", {v}, {}, "relu"));
  const auto model = b.build();
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    InferRequest request = core.compile_model(model, device).create_infer_request();
    request.query_state().at(0).set_state(floats({2, 2}, {1, -2, 3, 4}));
    EXPECT_EQ(infer(request, floats({1, 2}, {7, 8})), (Floats{1, 0, 3, 4}));
    EXPECT_EQ(infer(request, floats({1, 2}, {5, 6})), (Floats{7, 8}));
  }
}

TEST(State, AVariableAssignedTwiceIsRefusedByName) {
  ModelBuilder b("twice");
  const auto x = b.parameter(element::f32, {1}, "x");
  const auto v = b.op("ReadValue", "opset3", {x}, {{"variable_id", "v"}}, "read");
  b.op("Assign", "opset3", {x}, {{"variable_id", "v"}}, "first");
  b.op("Assign", "opset3", {v}, {{"variable_id", "v"}}, "second");
  b.result(v);
  const auto model = b.build();
  const Exception error = caught([&] { Core().compile_model(model, "CPU"); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(std::string(error.what()).find("the variable 'v' is assigned twice"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("Assign '"), std::string::npos) << error.what();
}

TEST(State, LayersAreListedAsSupported) {
  Core core;
  for (const std::string& device : core.get_available_devices())
    EXPECT_EQ(core.query_model(counter(), device).size(), counter()->get_ops().size()) << device;
}

}  // namespace
}  // namespace terroir
