// Layers of extensions that keep something from one inference to the next.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

#include "ir/base/error.hpp"
#include "ir/base/file_signature.hpp"
#include "runtime/extension/library.hpp"
#include "runtime/extension/states.hpp"
#include "terroir/extension.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/float_tensors.hpp"

namespace terroir {
namespace {

namespace ext = extension;

/// The sum of all inputs so far, and their number.
struct Running : ext::Layer {
  static constexpr const char* type = "Running";
  static constexpr int32_t states = 2;
  static constexpr uint64_t input_types = ext::types(TERROIR_F32);
  static constexpr uint32_t layouts = ext::kAnyLayout;
  bool fails_at_negative = false;
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("fails_at_negative", fails_at_negative);
  }
  void infer(ext::Inference& in) const {
    if (in.input_count() != 1) throw std::logic_error("states are no inputs");
    in.set_output(0, in.type(0), in.shape(0));
    in.set_state(0, in.type(0), in.shape(0));
    in.set_state(1, TERROIR_I64, std::vector<ext::Dimension>{});
  }
  void compute(const ext::Run& run) const {
    const auto* x = run.input(0).data<const float>();
    const auto* before = run.state(0).data<const float>();
    for (int64_t i = 0; i < run.output(0).stored(); ++i)
      run.output(0).data<float>()[i] = run.next_state(0).data<float>()[i] = before[i] + x[i];
    *run.next_state(1).data<int64_t>() = *run.state(1).data<const int64_t>() + 1;
    if (fails_at_negative && x[0] < 0) throw std::invalid_argument("a negative number");
  }
};

/// All rows so far: the state grows with every inference.
struct History : ext::Layer {
  static constexpr const char* type = "History";
  static constexpr int32_t states = 1;
  static std::vector<ext::Dimension> rows(const ext::Inference& in) { return {{0, 100}, in.shape(0)->at(1)}; }
  void infer(ext::Inference& in) const {
    in.set_output(0, in.type(0), rows(in));
    in.set_state(0, in.type(0), rows(in));
  }
  void compute(const ext::Run& run) const {
    const int64_t before = run.state(0).dim(0), width = run.input(0).dim(1);
    for (float* all : {run.output(0).data<float>(), run.next_state(0).data<float>()}) {
      const auto* old = run.state(0).data<const float>();
      std::copy(old, old + before * width, all);
      std::copy(run.input(0).data<const float>(), run.input(0).data<const float>() + width, all + before * width);
    }
    run.set_extents(0, {before + 1, width});
    run.set_state_extents(0, {before + 1, width});
  }
};

std::vector<float> infer(InferRequest& request, const std::vector<float>& values, const Shape& shape) {
  Tensor input(element::f32, shape);
  std::copy(values.begin(), values.end(), input.data<float>());
  request.set_input_tensor(input);
  request.infer();
  return values_of(request.get_output_tensor());
}

class LayerStates : public testing::TestWithParam<const char*> {
 protected:
  LayerStates() { core_.add_extension(ext::extension_of<Running, History>("keeping")); }

  std::shared_ptr<Model> model(const char* type, const PartialShape& shape, const AnyMap& attributes = {}) {
    ModelBuilder b(core_);
    Output<Node> x = b.parameter(element::f32, shape);
    if (attributes.empty()) x = b.op("ReLU", "opset1", {b.op("Negative", "opset1", {x})});
    b.result(b.op(type, "extension", {x}, attributes, "kept"));
    return b.build();
  }

  Core core_;
};

TEST_P(LayerStates, BelongToTheRequest) {
  CompiledModel compiled = core_.compile_model(model("Running", {2}), GetParam());
  InferRequest one = compiled.create_infer_request(), other = compiled.create_infer_request();
  EXPECT_EQ(infer(one, {-1, -2}, {2}), (std::vector<float>{1, 2}));
  EXPECT_EQ(infer(one, {-10, -20}, {2}), (std::vector<float>{11, 22}));
  EXPECT_EQ(infer(other, {-5, -5}, {2}), (std::vector<float>{5, 5}));
  EXPECT_EQ(infer(one, {-100, 7}, {2}), (std::vector<float>{111, 22}));
  std::vector<std::string> names;
  for (VariableState& state : one.query_state()) {
    names.push_back(state.get_name());
    if (state.get_name() == "kept/state1") {
      EXPECT_EQ(state.get_state().data<int64_t>()[0], 3);
    } else {
      EXPECT_EQ(values_of(state.get_state()), (std::vector<float>{111, 22}));
      Tensor value(element::f32, Shape{2});
      value.data<float>()[0] = 0.5f, value.data<float>()[1] = 0.25f;
      state.set_state(value);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"kept/state0", "kept/state1"}));
  EXPECT_EQ(infer(one, {-1, -1}, {2}), (std::vector<float>{1.5f, 1.25f}));
  one.reset_state();
  EXPECT_EQ(infer(one, {-1, -1}, {2}), (std::vector<float>{1, 1}));
  EXPECT_EQ(infer(other, {0, 0}, {2}), (std::vector<float>{5, 5}));
}

TEST_P(LayerStates, AFailedInferenceLeavesThemAsTheyWere) {
  CompiledModel compiled = core_.compile_model(model("Running", {1}, {{"fails_at_negative", true}}), GetParam());
  InferRequest request = compiled.create_infer_request();
  EXPECT_EQ(infer(request, {3}, {1}), std::vector<float>{3});
  EXPECT_NE(std::string(caught([&] { infer(request, {-1}, {1}); }).what()).find("a negative number"),
            std::string::npos);
  EXPECT_EQ(infer(request, {4}, {1}), std::vector<float>{7});
}

TEST_P(LayerStates, MayGrow) {
  CompiledModel compiled = core_.compile_model(model("History", {1, 2}), GetParam());
  InferRequest request = compiled.create_infer_request();
  EXPECT_EQ(infer(request, {-1, -2}, {1, 2}), (std::vector<float>{1, 2}));
  EXPECT_EQ(infer(request, {-3, -4}, {1, 2}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(infer(request, {-5, -6}, {1, 2}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(request.get_output_tensor().get_shape(), Shape({3, 2}));
  request.reset_state();
  EXPECT_EQ(infer(request, {-7, -8}, {1, 2}), (std::vector<float>{7, 8}));
}

TEST_P(LayerStates, AreThereInCompiledModelsFromFiles) {
  std::stringstream file;
  core_.compile_model(model("Running", {2}), GetParam()).export_model(file);
  CompiledModel again = core_.import_model(file, GetParam());
  InferRequest request = again.create_infer_request();
  EXPECT_EQ(infer(request, {-1, -2}, {2}), (std::vector<float>{1, 2}));
  EXPECT_EQ(infer(request, {-10, -20}, {2}), (std::vector<float>{11, 22}));
}

TEST_P(LayerStates, AreNoPortsOfTheModel) {
  const auto made = model("Running", {2});
  std::shared_ptr<Node> kept;
  for (const auto& node : made->get_ordered_ops())
    if (node->get_friendly_name() == "kept") kept = node;
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->get_input_size(), 1U);
  EXPECT_EQ(kept->get_output_size(), 1U);
  CompiledModel compiled = core_.compile_model(made, GetParam());
  EXPECT_EQ(compiled.inputs().size(), 1U);
  EXPECT_EQ(compiled.outputs().size(), 1U);
}

TEST_P(LayerStates, GoFromIterationToIteration) {
  // A loop over the rows of its input, with the layer in its body.
  const std::string xml = R"(<net name="loop" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="3,2" element_type="f32"/>
  <output><port id="0" precision="FP32"><dim>3</dim><dim>2</dim></port></output></layer>
<layer id="1" name="loop" type="TensorIterator" version="opset1">
  <input><port id="0"><dim>3</dim><dim>2</dim></port></input>
  <output><port id="1" precision="FP32"><dim>3</dim><dim>2</dim></port></output>
  <port_map><input axis="0" external_port_id="0" internal_layer_id="0"/>
    <output axis="0" external_port_id="1" internal_layer_id="2"/></port_map>
  <body><layers>
    <layer id="0" name="row" type="Parameter" version="opset1"><data shape="1,2" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>1</dim><dim>2</dim></port></output></layer>
    <layer id="1" name="kept" type="Running" version="extension">
      <input><port id="0"><dim>1</dim><dim>2</dim></port></input>
      <output><port id="1" precision="FP32"><dim>1</dim><dim>2</dim></port></output></layer>
    <layer id="2" name="sum" type="Result" version="opset1"><input><port id="0"><dim>1</dim><dim>2</dim></port></input></layer>
  </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></body></layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0"><dim>3</dim><dim>2</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>)";
  CompiledModel compiled = core_.compile_model(core_.read_model(xml, Tensor()), GetParam());
  InferRequest request = compiled.create_infer_request();
  EXPECT_EQ(infer(request, {1, 10, 2, 20, 3, 30}, {3, 2}), (std::vector<float>{1, 10, 3, 30, 6, 60}));
  EXPECT_EQ(infer(request, {1, 0, 1, 0, 1, 0}, {3, 2}), (std::vector<float>{7, 60, 8, 60, 9, 60}));
  request.reset_state();
  EXPECT_EQ(infer(request, {1, 10, 2, 20, 3, 30}, {3, 2}), (std::vector<float>{1, 10, 3, 30, 6, 60}));
}

INSTANTIATE_TEST_SUITE_P(Devices, LayerStates, testing::Values("CPU", "INTERPRETER"));

struct Forgets : ext::Layer {
  static constexpr const char* type = "Forgets";
  static constexpr int32_t states = 1;
  void infer(ext::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  void compute(const ext::Run&) const {}
};

TEST(LayersWithStates, SayWhatTheseAre) {
  Core core;
  core.add_extension(ext::extension_of<Forgets>("forgetting"));
  ModelBuilder b(core);
  const std::string text =
      caught([&] { b.op("Forgets", "extension", {b.parameter(element::f32, {2})}, {}, "layer"); }).what();
  EXPECT_NE(text.find("infer() of forgetting says nothing of state 0"), std::string::npos) << text;
}

TEST(LayersWithStates, LayersOfTheSecondVersionHaveNone) {
  terroir_layer old = *ext::detail::described<Running>();
  old.type = "Old";
  old.abi_version = 2;
  old.struct_size = offsetof(terroir_layer, states);  // what lies behind is not the library's
  static const terroir_layer layer = [&] {
    terroir_layer copy = old;
    copy.infer = [](void*, const terroir_host* host, const terroir_attributes*, terroir_inference* inference,
                    terroir_error*) {
      const terroir_dimension two{2, 2};
      host->set_output(inference, 0, TERROIR_F32, 1, &two);
      return int32_t{0};
    };
    copy.create = nullptr, copy.destroy = nullptr, copy.scratch_bytes = nullptr;
    copy.compute = [](void*, const void*, const terroir_host*, const terroir_attributes*, terroir_run*, int32_t inputs,
                      const terroir_tensor* from, int32_t outputs, const terroir_tensor* to, void*, terroir_error*) {
      for (int i = 0; i < 2; ++i) static_cast<float*>(to[0].data)[i] = static_cast<const float*>(from[0].data)[i] + 1;
      return inputs == 1 && outputs == 1 ? int32_t{0} : int32_t{1};
    };
    return copy;
  }();
  static const terroir_layer* const layers[] = {&layer};
  static const terroir_extension extension{sizeof(terroir_extension), 2, "second", 1, layers, 0, nullptr};
  Core core;
  core.add_extension(&extension);
  ModelBuilder b(core);
  b.result(b.op("Old", "extension", {b.parameter(element::f32, {2})}));
  InferRequest request = core.compile_model(b.build(), "CPU").create_infer_request();
  EXPECT_EQ(infer(request, {1, 2}, {2}), (std::vector<float>{2, 3}));
  EXPECT_TRUE(request.query_state().empty());
}

/// The library of good layers in a folder of its own, gone with the test.
class FingerprintOfExtensions : public testing::Test {
 protected:
  FingerprintOfExtensions() {
    std::filesystem::create_directories(library_.parent_path());
    std::filesystem::copy(std::filesystem::path(TERROIR_TEST_EXTENSIONS) / "extension_good.so", library_);
  }
  ~FingerprintOfExtensions() override { std::filesystem::remove_all(library_.parent_path()); }

  static std::string of(const custom::Extension& extension) {
    ir::OpRegistry operations;
    for (const auto& schema : extension.operations) operations.add(schema);
    return custom::fingerprint(operations);
  }
  void expect_change_with_library(const custom::Extension& extension) const {
    const std::string before = of(extension);
    EXPECT_EQ(of(extension), before);
    std::filesystem::last_write_time(library_, std::filesystem::last_write_time(library_) + std::chrono::seconds(1));
    EXPECT_NE(of(extension), before);
  }

  const std::filesystem::path library_ =
      std::filesystem::path(testing::TempDir()) / ("terroir_ext_" + std::to_string(std::random_device()())) / "good.so";
};

TEST_F(FingerprintOfExtensions, ChangesWithTheLibrary) {
  expect_change_with_library(custom::load_extension(library_.string()));
}

TEST_F(FingerprintOfExtensions, ChangesWithTheLibraryThatTheProgramLoadsItself) {
  void* library = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto get = reinterpret_cast<terroir_get_extension_function>(dlsym(library, TERROIR_EXTENSION_ENTRY));
  expect_change_with_library(custom::adopt_extension(get(TERROIR_ABI_VERSION)));
}

TEST_F(FingerprintOfExtensions, NamesTheProgramOfLayersThatItHasItself) {
  const auto program = FileSignature::of(std::filesystem::path("/proc/self/exe"));
  const std::string text = of(custom::adopt_extension(ext::extension_of<Running>("running")));
  EXPECT_NE(text.find(concat(program->bytes, " bytes, ", program->inode, ' ', program->modified)), std::string::npos)
      << text;
}

}  // namespace
}  // namespace terroir
