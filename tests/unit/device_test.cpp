// Devices of extensions: what reaches them, what comes back, and what becomes of devices that are wrong.
#include "terroir/device.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>

#include "terroir/terroir.hpp"
#include "tests/unit/error_parts.hpp"
#include "tests/unit/float_tensors.hpp"

namespace terroir {
namespace {

namespace ext = extension;

/// How a device of these tests behaves; set before compiling.
struct Behaviour {
  bool bind = true;
  bool bind_twice = false;
  bool wrong_shape = false;
  bool negative_extent = false;
  bool no_model = false, no_request = false;
  std::string compile_fails, infer_fails;
  ext::Properties properties;  // those of the last compile()
  std::atomic<int> models{0};  // alive
  std::function<void()> while_running;

  void reset() {
    bind = true;
    bind_twice = wrong_shape = negative_extent = no_model = no_request = false;
    compile_fails = infer_fails = {};
    while_running = nullptr;
  }
};
Behaviour behaviour;

/// Runs models on the reference device of another Core, as a device that wraps something else would.
class WrappedRequest : public ext::DeviceRequest {
 public:
  explicit WrappedRequest(CompiledModel& model) : model_(model), request_(model.create_infer_request()) {}

  void infer(const ext::DeviceRun& run) override {
    if (!behaviour.infer_fails.empty()) throw std::runtime_error(behaviour.infer_fails);
    if (behaviour.while_running) behaviour.while_running();
    if (run.cancelled()) return;
    for (int32_t i = 0; i < run.input_count(); ++i) {
      const auto dims = run.input(i).dims();
      const auto index = static_cast<size_t>(i);
      request_.set_input_tensor(index, Tensor(model_.input(index).get_element_type(), Shape(dims.begin(), dims.end()),
                                              run.input(i).data<void>()));
    }
    request_.infer();
    if (!behaviour.bind) return;
    for (size_t i = 0; i < model_.outputs().size(); ++i) {
      const Tensor output = request_.get_output_tensor(i);
      std::vector<int64_t> dims(output.get_shape().begin(), output.get_shape().end());
      if (behaviour.wrong_shape) dims.push_back(1);
      if (behaviour.negative_extent) dims[0] = -1;
      void* memory = run.output(static_cast<int32_t>(i), dims);
      if (behaviour.bind_twice) memory = run.output(static_cast<int32_t>(i), dims);
      run.parallel_for(1, [&](int64_t) { std::memcpy(memory, output.data(), output.get_byte_size()); });
    }
  }

 private:
  CompiledModel& model_;
  InferRequest request_;
};

class WrappedModel : public ext::DeviceModel {
 public:
  explicit WrappedModel(CompiledModel model) : model_(std::move(model)) { ++behaviour.models; }
  ~WrappedModel() override { --behaviour.models; }
  std::unique_ptr<ext::DeviceRequest> create_request() override {
    return behaviour.no_request ? nullptr : std::make_unique<WrappedRequest>(model_);
  }

 private:
  CompiledModel model_;
};

std::shared_ptr<Model> model_of(const ext::ModelText& text) {
  const Tensor weights(element::u8, {text.weight_bytes});
  if (text.weight_bytes > 0) std::memcpy(weights.data(), text.weights, text.weight_bytes);
  return Core().read_model(std::string(text.xml), weights);
}

struct Wrapping : ext::Device {
  static constexpr const char* name = "WRAPPED";
  static constexpr const char* full_name = "the reference, in a wrapping";
  static constexpr const char* capabilities = "FP32|INT8";

  std::vector<std::string> supported_layers(const ext::ModelText& text) const {
    std::vector<std::string> names;
    for (const auto& op : model_of(text)->get_ops())
      if (op->description() != "Exp") names.push_back(op->get_friendly_name());
    return names;
  }
  std::unique_ptr<ext::DeviceModel> compile(const ext::ModelText& text, const ext::Properties& properties) const {
    if (!behaviour.compile_fails.empty()) throw std::runtime_error(behaviour.compile_fails);
    if (behaviour.no_model) return nullptr;
    behaviour.properties = properties;
    return std::make_unique<WrappedModel>(Core().compile_model(model_of(text), "INTERPRETER"));
  }
};

class Devices : public testing::Test {
 protected:
  Devices() {
    behaviour.reset();
    core_.add_extension(ext::extension_of<Wrapping>("wrapping"));
  }
  ~Devices() override {
    // The thread of an asynchronous inference may let go of its request after wait() has returned.
    for (int i = 0; i < 500 && behaviour.models != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(behaviour.models, 0);
  }

  /// y = (x + 1) * x over [?, 3].
  static std::shared_ptr<Model> model() {
    ModelBuilder b;
    const auto x = b.parameter(element::f32, {-1, 3}, "x");
    b.result(b.op("Multiply", "opset1", {b.op("Add", "opset1", {x, b.constant(element::f32, {}, {1.f})}), x}), "y");
    return b.build();
  }
  std::string infer_error() {
    return error_text([&] {
      InferRequest request = core_.compile_model(model(), "WRAPPED").create_infer_request();
      request.set_input_tensor(counting({1, 3}));
      request.infer();
    });
  }

  Core core_;
};

TEST_F(Devices, AreListedWithTheirProperties) {
  EXPECT_EQ(core_.get_available_devices(), (std::vector<std::string>{"CPU", "INTERPRETER", "WRAPPED"}));
  EXPECT_EQ(core_.get_property("WRAPPED", device::full_name), "the reference, in a wrapping");
  EXPECT_EQ(core_.get_property("WRAPPED", device::capabilities), (std::vector<std::string>{"FP32", "INT8"}));
  EXPECT_EQ(core_.get_versions("WRAPPED").size(), 1u);
  EXPECT_EQ(Core().get_available_devices().size(), 2u) << "the devices of one Core are not those of another";
}

TEST_F(Devices, RunModelsOfAnyShapeIntoTheUsersTensors) {
  CompiledModel compiled = core_.compile_model(model(), "WRAPPED");
  EXPECT_EQ(compiled.get_property(execution_devices), std::vector<std::string>{"WRAPPED"});
  InferRequest request = compiled.create_infer_request();
  for (const size_t rows : {size_t{2}, size_t{0}, size_t{5}}) {
    const Tensor input = counting({rows, 3});
    const Tensor output(element::f32, {rows, 3});
    request.set_tensor("x", input);
    request.set_output_tensor(output);
    request.infer();
    for (size_t i = 0; i < input.get_size(); ++i) {
      const float x = input.data<float>()[i];
      EXPECT_EQ(output.data<float>()[i], (x + 1) * x);
    }
  }
}

TEST_F(Devices, TwoRequestsRunAtTheSameTime) {
  CompiledModel compiled = core_.compile_model(model(), "WRAPPED", num_streams(2));
  std::vector<InferRequest> requests{compiled.create_infer_request(), compiled.create_infer_request()};
  for (size_t i = 0; i < 2; ++i) requests[i].set_input_tensor(counting({i + 1, 3}));
  for (InferRequest& request : requests) request.start_async();
  for (InferRequest& request : requests) request.wait();
  EXPECT_EQ(requests[1].get_output_tensor().get_shape(), Shape({2, 3}));
  EXPECT_EQ(values_of(requests[0].get_output_tensor()), (std::vector<float>{6, 2, 0}));
}

TEST_F(Devices, PropertiesReachThemAsTexts) {
  core_.set_property("WRAPPED", enable_profiling(true));
  core_.compile_model(model(), "WRAPPED", num_streams(1), hint::execution_mode(hint::ExecutionMode::ACCURACY));
  EXPECT_EQ(behaviour.properties.at("EXECUTION_MODE_HINT"), "ACCURACY");
  EXPECT_EQ(behaviour.properties.at("NUM_STREAMS"), "1");
  EXPECT_EQ(behaviour.properties.at("PERF_COUNT"), "YES");
}

TEST_F(Devices, SayWhichLayersTheyRun) {
  ModelBuilder b;
  b.result(b.op("Exp", "opset1", {b.op("ReLU", "opset1", {b.parameter(element::f32, {1})}, {}, "kept")}, {}, "left"));
  const SupportedOpsMap map = core_.query_model(b.build(), "WRAPPED");
  EXPECT_EQ(map.at("kept"), "WRAPPED");
  EXPECT_EQ(map.count("left"), 0u);
}

TEST_F(Devices, VariablesReachThemAsInputsAndOutputs) {
  ModelBuilder b;
  const auto x = b.parameter(element::f32, {1}, "x");
  const AnyMap variable{{"variable_id", "sum"}};
  const auto before = b.op("ReadValue", "opset6", {b.constant(element::f32, {1}, {0.f})},
                           {{"variable_id", "sum"}, {"variable_type", "f32"}, {"variable_shape", "1"}});
  const auto sum = b.op("Add", "opset1", {before, x});
  b.op("Assign", "opset6", {sum}, variable);
  b.result(sum);
  InferRequest request = core_.compile_model(b.build(), "WRAPPED").create_infer_request();
  Tensor one(element::f32, {1});
  one.data<float>()[0] = 1;
  request.set_input_tensor(one);
  for (int i = 0; i < 3; ++i) request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 3.f);
}

TEST_F(Devices, FailuresAreToldInTheirWords) {
  behaviour.compile_fails = "no such instruction";
  expect_error(error_text([&] { core_.compile_model(model(), "WRAPPED"); }),
               {"no such instruction", "device WRAPPED of wrapping"});
  behaviour.compile_fails.clear();
  behaviour.infer_fails = "the fan stands still";
  expect_error(infer_error(), {"the fan stands still", "device WRAPPED of wrapping"});
}

TEST_F(Devices, ThatMakeNothingAreNamed) {
  behaviour.no_model = true;
  expect_error(error_text([&] { core_.compile_model(model(), "WRAPPED"); }),
               {"compile() returns a null pointer", "device WRAPPED of wrapping"});
  behaviour.no_model = false;
  behaviour.no_request = true;
  expect_error(infer_error(), {"create_request() returns a null pointer", "device WRAPPED of wrapping"});
}

TEST_F(Devices, OutputsThatDoNotFitAreRefused) {
  behaviour.bind = false;
  expect_error(infer_error(), {"WRAPPED", "output 0", "bind_output()"});
  behaviour.bind = true;
  behaviour.wrong_shape = true;
  expect_error(infer_error(), {"bind_output(0)", "f32[1,3,1]", "f32[?,3]"});
  behaviour.wrong_shape = false;
  behaviour.negative_extent = true;
  expect_error(infer_error(), {"bind_output(0)", "no extents [-1,3]"});
  behaviour.negative_extent = false;
  behaviour.bind_twice = true;
  expect_error(infer_error(), {"bind_output(0)", "before"});
}

TEST_F(Devices, SeeThatNobodyWaits) {
  CompiledModel compiled = core_.compile_model(model(), "WRAPPED");
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(counting({1, 3}));
  behaviour.while_running = [&] { request.cancel(); };
  request.start_async();
  EXPECT_THROW(request.wait(), Cancelled);
}

TEST_F(Devices, TakeNoTexts) {
  ModelBuilder b;
  b.result(b.parameter(element::string, {1}, "words"));
  expect_error(error_text([&] { core_.compile_model(b.build(), "WRAPPED"); }), {"words", "texts", "WRAPPED"});
}

struct Usurper : Wrapping {
  static constexpr const char* name = "CPU";
};
struct Lower : Wrapping {
  static constexpr const char* name = "gpu";
};

TEST_F(Devices, NamesAreTakenOnceAndWellFormed) {
  core_.add_extension(ext::extension_of<Wrapping>("wrapping"));  // the same one: nothing happens
  const auto error = [&](const terroir_extension* e) { return error_text([&] { core_.add_extension(e); }); };
  expect_error(error(ext::extension_of<Usurper>("usurper")), {"usurper", "device CPU", "another name"});
  expect_error(error(ext::extension_of<Lower>("lower")), {"lower", "'gpu'", "capital letters"});
  EXPECT_EQ(core_.get_available_devices().size(), 3u);
}

TEST_F(Devices, DescriptorsAreChecked) {
  const auto error = [&](auto&& change) {
    struct Adopted {
      terroir_device device;
      const terroir_device* devices;
      terroir_extension extension;
    };
    static auto& all = *new std::deque<Adopted>;  // what is adopted lives on
    Adopted& one = all.emplace_back();
    one.device = *ext::Device::described<Wrapping>();
    one.device.name = "OTHER";
    change(one.device);
    one.devices = &one.device;
    one.extension = {sizeof(terroir_extension), TERROIR_ABI_VERSION, "bad", 0, nullptr, 1, &one.devices};
    return error_text([&] { core_.add_extension(&one.extension); });
  };
  expect_error(error([](terroir_device& d) { d.abi_version = TERROIR_ABI_VERSION + 1; }),
               {"bad", "headers of this one"});
  expect_error(error([](terroir_device& d) { d.struct_size = 8; }), {"8 bytes"});
  expect_error(error([](terroir_device& d) { d.infer = nullptr; }), {"OTHER", "no infer()"});
  expect_error(error([](terroir_device& d) { d.full_name = nullptr; }), {"OTHER", "no full_name"});
  static const terroir_extension without{sizeof(terroir_extension), TERROIR_ABI_VERSION, "bad", 0, nullptr, 1, nullptr};
  expect_error(error_text([&] { core_.add_extension(&without); }), {"devices is null"});
}

TEST_F(Devices, ExtensionsOfTheFirstVersionHaveNone) {
  // What version 1 of the header declared; what lies behind it is not the library's.
  struct First {
    uint32_t struct_size, abi_version;
    const char* name;
    uint32_t layer_count;
    const terroir_layer* const* layers;
  };
  static_assert(sizeof(First) == offsetof(terroir_extension, device_count));
  static const First first{sizeof(First), 1, "old", 0, nullptr};
  core_.add_extension(reinterpret_cast<const terroir_extension*>(&first));
  EXPECT_EQ(core_.get_available_devices().size(), 3u);
}

}  // namespace
}  // namespace terroir
