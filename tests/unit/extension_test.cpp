// Layers of extensions: libraries right and wrong, and what their layers do on every device.
#include "terroir/extension.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>

#include "ir/base/error.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/unit/error_parts.hpp"
#include "tests/unit/float_tensors.hpp"

namespace terroir {
namespace {

std::string library(const std::string& name) {
  return std::string(TERROIR_TEST_EXTENSIONS) + "/extension_" + name + ".so";
}

InferRequest run(Core& core, const std::shared_ptr<Model>& model, const std::string& device, const Tensor& input) {
  InferRequest request = core.compile_model(model, device).create_infer_request();
  request.set_input_tensor(input);
  request.infer();
  return request;
}

class Extension : public testing::TestWithParam<const char*> {
 protected:
  Extension() { core_.add_extension(library("good")); }
  Core core_;
};

TEST_P(Extension, AttributesHaveTheValuesOfTheModelOrTheirDefaults) {
  const auto values = [&](const AnyMap& attributes) {
    ModelBuilder b(core_);
    b.result(b.op("Attributes", "test1", {b.parameter(element::f32, {1})}, attributes));
    const Tensor output = run(core_, b.build(), GetParam(), counting({1})).get_output_tensor();
    return std::vector<double>(output.data<double>(), output.data<double>() + output.get_size());
  };
  EXPECT_EQ(values({{"reals", "0.5, 0.25"}}), (std::vector<double>{1, -7, 0.1, 5, 3, 0.75}));
  EXPECT_EQ(values({{"reals", ""},
                    {"flag", false},
                    {"integer", int64_t{9}},
                    {"real", 2.5},
                    {"text", "ceil"},
                    {"integers", "4,5,6"}}),
            (std::vector<double>{0, 9, 2.5, 4, 15, 0}));
}

TEST_P(Extension, ExtentsMayDependOnData) {
  ModelBuilder b(core_);
  const auto above = b.op("Above", "extension", {b.parameter(element::f32, {8}), b.constant(element::f32, {}, {1.f})});
  b.result(b.op("ReLU", "opset1", {above}));
  b.result(above.get_node()->output(1));
  EXPECT_EQ(above.get_partial_shape(), PartialShape({Dimension(0, 8)}));
  InferRequest request = run(core_, b.build(), GetParam(), counting({8}));
  EXPECT_EQ(request.get_output_tensor(0).get_shape(), Shape({3}));
  EXPECT_EQ(request.get_output_tensor(0).data<float>()[2], 4.f);
  EXPECT_EQ(request.get_output_tensor(1).data<int64_t>()[0], 3);
}

// Of 8 kB: values that size inference does not look at unless it has to.
TEST_P(Extension, ExtentsThatDependOnDataAreInferredOncePerInference) {
  ModelBuilder b(core_);
  const auto positive = b.op("CountsItself", "extension", {b.parameter(element::f32, {2000})});
  b.result(positive);
  b.result(positive.get_node()->output(1));
  InferRequest request = core_.compile_model(b.build(), GetParam()).create_infer_request();
  request.set_input_tensor(counting({2000}));
  int64_t before = 0;
  for (int turn = 0; turn < 4; ++turn) {
    request.infer();
    EXPECT_EQ(request.get_output_tensor(0).get_shape(), Shape({1996}));
    const int64_t inferences = request.get_output_tensor(1).data<int64_t>()[0];
    EXPECT_TRUE(turn == 0 || inferences - before == 1) << inferences - before;
    before = inferences;
  }
}

TEST_P(Extension, ShapesMayBeDynamic) {
  ModelBuilder b(core_);
  b.result(b.op("Scale", "extension", {b.parameter(element::f32, {-1, 3})}, {{"factor", 3.0}}));
  CompiledModel compiled = core_.compile_model(b.build(), GetParam());
  InferRequest request = compiled.create_infer_request();
  for (const size_t rows : {size_t{2}, size_t{5}, size_t{0}}) {
    const Tensor input = counting({rows, 3});
    request.set_input_tensor(input);
    request.infer();
    ASSERT_EQ(request.get_output_tensor().get_shape(), input.get_shape());
    for (size_t i = 0; i < input.get_size(); ++i)
      EXPECT_EQ(request.get_output_tensor().data<float>()[i], 3 * input.data<float>()[i]);
  }
}

TEST_P(Extension, CompiledModelsWithThemAreExported) {
  ModelBuilder b(core_);
  const auto x = b.parameter(element::f32, {2, 3});
  const auto scaled = b.op("Scale", "extension", {b.op("ReLU", "opset1", {x})}, {{"factor", 3.0}});
  b.result(b.op("Negative", "opset1", {scaled}));
  std::stringstream file;
  core_.compile_model(b.build(), GetParam()).export_model(file);
  Core other;
  const Exception unknown = caught([&] { other.import_model(file, GetParam()); });
  EXPECT_EQ(unknown.code(), ErrorCode::not_found);
  EXPECT_NE(std::string(unknown.what()).find("Scale"), std::string::npos) << unknown.what();
  other.add_extension(library("good"));
  file.clear();
  file.seekg(0);
  InferRequest request = other.import_model(file, GetParam()).create_infer_request();
  const Tensor input = counting({2, 3});
  request.set_input_tensor(input);
  request.infer();
  for (size_t i = 0; i < input.get_size(); ++i)
    EXPECT_EQ(request.get_output_tensor().data<float>()[i], -3 * std::max(input.data<float>()[i], 0.f));
}

TEST_P(Extension, FailuresSayWhichLayerAndWhy) {
  for (const char* where : {"compute", "parallel"}) {
    ModelBuilder b(core_);
    b.result(b.op("Fails", "extension", {b.parameter(element::f32, {2})}, {{"where", where}}, "fragile"));
    const auto model = b.build();
    const std::string text = error_text([&] { run(core_, model, GetParam(), counting({2})); });
    EXPECT_NE(text.find("fragile"), std::string::npos) << text;
    EXPECT_NE(text.find(where == std::string("compute") ? "no value suits me" : "task 3 fell"), std::string::npos)
        << text;
    EXPECT_NE(text.find("extension_good.so"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Extension, testing::Values("CPU", "INTERPRETER"));

// 17 channels: the last block has a tail, which Scale does not keep at zero.
TEST(Extensions, ABlockedLayerStandsBetweenConvolutionsWithoutReorders) {
  Core core;
  core.add_extension(library("good"));
  const auto model = [&](bool custom) {
    ModelBuilder b(core);
    const AnyMap attributes{{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
    const auto weights = [&](size_t out, size_t in) {
      std::vector<float> values(out * in * 9);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5) * 0.125f - 0.25f;
      return b.constant(element::f32, Shape{out, in, 3, 3}, values);
    };
    const auto x = b.parameter(element::f32, {1, 32, 9, 9});
    const auto y = b.op("Convolution", "opset1", {x, weights(17, 32)}, attributes);
    const auto z = custom ? b.op("Scale", "extension", {y}, {{"shift", 1.0}}, "scale")
                          : b.op("Add", "opset1",
                                 {b.op("Multiply", "opset1", {y, b.constant(element::f32, {}, {2.f})}),
                                  b.constant(element::f32, {}, {1.f})});
    b.result(b.op("Convolution", "opset1", {z, weights(32, 17)}, attributes));
    return b.build();
  };
  const Tensor input = counting({1, 32, 9, 9});
  const auto outputs = [&](bool custom, const std::string& device) {
    CompiledModel compiled = core.compile_model(model(custom), device, enable_profiling(true));
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(input);
    request.infer();
    if (custom && device == "CPU") {
      int reorders = 0;
      for (const ProfilingInfo& step : request.get_profiling_info()) {
        if (step.node_name == "scale") {
          EXPECT_EQ(step.exec_type, "extension:extension_good.so");
        }
        reorders += step.node_type == "Reorder" ? 1 : 0;
      }
      EXPECT_LE(reorders, 2) << "those at the ends of the model";
    }
    const Tensor output = request.get_output_tensor();
    return std::vector<float>(output.data<float>(), output.data<float>() + output.get_size());
  };
  const std::vector<float> expected = outputs(false, "INTERPRETER");
  EXPECT_EQ(outputs(true, "INTERPRETER"), expected);
  const std::vector<float> got = outputs(true, "CPU");
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 1e-4f * std::abs(expected[i]) + 1e-2f) << i;
}

TEST(Extensions, APreparedLayerSeesConstantsAndHasScratch) {
  Core core;
  core.add_extension(library("good"));
  ModelBuilder b(core);
  b.result(b.op("Prepared", "extension", {b.parameter(element::f32, {3}), b.constant(element::f32, {1}, {0.75f})}));
  const Tensor output = run(core, b.build(), "CPU", counting({3})).get_output_tensor();
  EXPECT_EQ(output.data<float>()[2], 0.75f);
}

struct Twice : extension::Layer {
  static constexpr const char* type = "Twice";
  void infer(extension::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  void compute(const extension::Run& run) const {
    for (int64_t i = 0; i < run.output(0).count(); ++i)
      run.output(0).data<float>()[i] = 2 * run.input(0).data<const float>()[i];
  }
};

/// As many outputs as `count`, the last one first: all are the input.
struct Copies : extension::Layer {
  static constexpr const char* type = "Copies";
  static constexpr int32_t outputs = -1;
  int64_t count = 1;
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("count", count);
  }
  void infer(extension::Inference& in) const {
    for (int64_t i = count; i-- > 0;) in.set_output(static_cast<int32_t>(i), in.type(0), in.shape(0));
  }
  void compute(const extension::Run& run) const {
    for (int32_t i = 0; i < run.output_count(); ++i)
      std::copy_n(run.input(0).data<const float>(), run.input(0).count(), run.output(i).data<float>());
  }
};
struct Gaps : Copies {
  static constexpr const char* type = "Gaps";
  void infer(extension::Inference& in) const { in.set_output(static_cast<int32_t>(count), in.type(0), in.shape(0)); }
};
struct CountedCopies : Copies {
  static constexpr const char* type = "Counted";
  static constexpr int32_t states = 1;
};

TEST(Extensions, ALayerMayHaveAsManyOutputsAsItSets) {
  Core core;
  core.add_extension(extension::extension_of<Copies, Gaps>("copies"));
  for (const char* device : {"CPU", "INTERPRETER"}) {
    ModelBuilder b(core);
    const auto copies = b.op("Copies", "extension", {b.parameter(element::f32, {3})}, {{"count", 3}});
    for (const auto& output : copies.get_node()->outputs()) b.result(b.op("Abs", "opset1", {output}));
    InferRequest request = run(core, b.build(), device, counting({3}));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(request.get_output_tensor(i).data<float>()[2], 1.f);
  }
  const auto error = [&](const char* type, int64_t count) {
    ModelBuilder b(core);
    return error_text([&] { b.op(type, "extension", {b.parameter(element::f32, {3})}, {{"count", count}}); });
  };
  expect_error(error("Copies", 0), {"Copies", "says nothing of output 0"});
  expect_error(error("Gaps", 1), {"Gaps", "says nothing of output 0"});
  expect_error(error("Gaps", 1024), {"Gaps", "at most 1024 outputs"});
  expect_error(error_text([&] { core.add_extension(extension::extension_of<CountedCopies>("counted")); }),
               {"Counted", "must say how many outputs"});
}

/// As many zeros as input 1 has elements that are not 0: exact as soon as that is known, so compute() says no extents.
struct Sized : extension::Layer {
  static constexpr const char* type = "Sized";
  static constexpr int32_t min_inputs = 2, max_inputs = 2;
  void infer(extension::Inference& in) const {
    extension::Dimension extent(0, 5000);
    if (const auto kept = in.value(1)) {
      const auto* first = kept->data<const int64_t>();
      extent = kept->count() - std::count(first, first + kept->count(), 0);
    }
    in.set_output(0, in.type(0), std::vector<extension::Dimension>{extent});
  }
  void compute(const extension::Run& run) const {
    std::fill_n(run.output(0).data<float>(), run.output(0).count(), 0.f);
  }
};

// However many bytes the values have.
TEST(Extensions, ExtentsThatInferenceFindsAreExact) {
  Core core;
  core.add_extension(extension::extension_of<Sized>("sized"));
  for (const size_t count : {size_t{10}, size_t{600}, size_t{20000}}) {
    for (const char* device : {"CPU", "INTERPRETER"}) {
      ModelBuilder b(core);
      const auto flags = b.op("Abs", "opset1", {b.parameter(element::i64, {static_cast<int64_t>(count)})});
      const auto sized = b.op("Sized", "extension", {b.constant(element::f32, {1}, {1.f}), flags});
      b.result(sized);
      b.result(b.op("ReLU", "opset1", {sized}));
      Tensor input(element::i64, {count});
      for (size_t i = 0; i < count; ++i) input.data<int64_t>()[i] = i % 5 == 0 ? -1 : 0;
      InferRequest request = run(core, b.build(), device, input);
      for (const size_t output : {size_t{0}, size_t{1}})
        EXPECT_EQ(request.get_output_tensor(output).get_shape(), Shape({count / 5})) << device << ' ' << count;
    }
  }
}

TEST(Extensions, LayersOfTheProgramItself) {
  Core core;
  core.add_extension(extension::extension_of<Twice>("mine"));
  core.add_extension(extension::extension_of<Twice>("mine"));  // again: nothing happens
  ModelBuilder b(core);
  b.result(b.op("Twice", "extension", {b.parameter(element::f32, {2})}));
  const auto model = b.build();
  EXPECT_EQ(run(core, model, "CPU", counting({2})).get_output_tensor().data<float>()[0], -6.f);
  // A Core without the extension does not read the model, but runs it.
  Core other;
  EXPECT_EQ(run(other, model, "CPU", counting({2})).get_output_tensor().data<float>()[1], -4.f);
  ModelBuilder plain;
  EXPECT_NE(error_text([&] { plain.op("Twice", "extension", {plain.parameter(element::f32, {2})}); }).find("Twice"),
            std::string::npos);
}

struct Unprepared : Twice {
  static constexpr const char* type = "Unprepared";
  void prepare(const extension::Preparation&) { throw std::runtime_error("not in this state"); }
};

TEST_P(Extension, FailuresToPrepareSayWhichLayer) {
  core_.add_extension(extension::extension_of<Unprepared>("unprepared layers"));
  for (const Dimension& extent : {Dimension(2), Dimension()}) {
    ModelBuilder b(core_);
    b.result(b.op("Unprepared", "extension", {b.parameter(element::f32, {extent})}, {}, "timid"));
    const auto model = b.build();
    const std::string text = error_text([&] { run(core_, model, GetParam(), counting({2})); });
    EXPECT_NE(text.find("Unprepared 'timid'"), std::string::npos) << text;
    EXPECT_NE(text.find("not in this state (unprepared layers)"), std::string::npos) << text;
  }
}

struct Greedy : extension::Layer {
  static constexpr const char* type = "Greedy";
  int64_t bytes = 0;
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("bytes", bytes);
  }
  void infer(extension::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  uint64_t scratch_bytes(int32_t) const { return static_cast<uint64_t>(bytes); }
  void compute(const extension::Run& run) const {
    std::copy_n(run.input(0).data<const float>(), run.input(0).count(), run.output(0).data<float>());
  }
};

// Sizes that wrap around would leave no room for what the runtime keeps there itself.
TEST(Extensions, ScratchThatNobodyCanHaveIsRefusedByName) {
  Core core;
  core.add_extension(extension::extension_of<Greedy>("greedy"));
  for (const char* device : {"CPU", "INTERPRETER"}) {
    for (const int64_t bytes : {int64_t{0}, int64_t{1} << 62, int64_t{-1}, int64_t{-64}, int64_t{-129}}) {
      ModelBuilder b(core);
      b.result(b.op("Greedy", "extension", {b.parameter(element::f32, {4})}, {{"bytes", bytes}}, "hungry"));
      const auto infer = [&] { run(core, b.build(), device, counting({4})); };
      if (bytes == 0) {
        EXPECT_NO_THROW(infer()) << device;
      } else {
        expect_error(error_text(infer), {"Greedy 'hungry'", "scratch_bytes() of greedy asks for"});
      }
    }
  }
}

TEST(Extensions, ScratchThatCannotBeHadNowNamesTheLayer) {
  Core core;
  core.add_extension(extension::extension_of<Greedy>("greedy"));
  ModelBuilder b(core);
  const int64_t bytes = int64_t{1} << 47;
  b.result(b.op("Greedy", "extension", {b.parameter(element::f32, {4})}, {{"bytes", bytes}}, "hungry"));
  const auto model = b.build();
  const std::string text = error_text([&] { run(core, model, "CPU", counting({4})); });
  expect_error(text, {"Greedy 'hungry'", "bytes of scratch"});
}

// Numbers of ports that no int has room for.
TEST(Extensions, AnyNumberOfInputsMayBeAHugeOne) {
  static terroir_layer layer = *extension::extension_of<Twice>("many")->layers[0];
  layer.type = "Many";
  layer.max_inputs = std::numeric_limits<int32_t>::max();
  layer.states = 1;
  layer.infer = [](void*, const terroir_host* host, const terroir_attributes*, terroir_inference* inference,
                   terroir_error*) -> int32_t {
    const terroir_dimension four{4, 4};
    for (const int32_t output : {0, 1}) host->set_output(inference, output, TERROIR_F32, 1, &four);
    return 0;
  };
  layer.create = nullptr;
  layer.destroy = nullptr;
  layer.scratch_bytes = nullptr;
  layer.compute = [](void*, const void*, const terroir_host*, const terroir_attributes*, terroir_run*, int32_t,
                     const terroir_tensor* inputs, int32_t output_count, const terroir_tensor* outputs, void*,
                     terroir_error*) -> int32_t {
    for (int32_t i = 0; i < output_count + 1; ++i)
      std::copy_n(static_cast<const float*>(inputs[0].data), 4, static_cast<float*>(outputs[i].data));
    return 0;
  };
  static const terroir_layer* const layers[] = {&layer};
  static terroir_extension many = *extension::extension_of<Twice>("many");
  many.layers = layers;
  Core core;
  core.add_extension(&many);
  ModelBuilder b(core);
  b.result(b.op("Many", "extension", {b.parameter(element::f32, {4})}));
  EXPECT_EQ(run(core, b.build(), "CPU", counting({4})).get_output_tensor().data<float>()[0], -3.f);

  static terroir_layer greedy = layer;
  greedy.type = "Greedy";
  greedy.outputs = std::numeric_limits<int32_t>::max();
  static const terroir_layer* const refused[] = {&greedy};
  static terroir_extension wrong = many;
  wrong.layers = refused;
  expect_error(error_text([&] { core.add_extension(&wrong); }), {"layer Greedy", "at most 1024 outputs and states"});
}

struct SaysTooLittle : extension::Layer {
  static constexpr const char* type = "SaysTooLittle";
  void infer(extension::Inference& in) const {
    in.set_output(0, in.type(0), std::vector<extension::Dimension>{{0, 4}, {0, 4}});
  }
  void compute(const extension::Run& run) const { run.set_extents(0, {1}); }
};

TEST(Extensions, ExtentsOfAnotherRankAreRefused) {
  Core core;
  core.add_extension(extension::extension_of<SaysTooLittle>("short"));
  ModelBuilder b(core);
  b.result(b.op("SaysTooLittle", "extension", {b.parameter(element::f32, {4})}, {}, "layer"));
  const auto model = b.build();
  for (const char* device : {"CPU", "INTERPRETER"})
    expect_error(error_text([&] { run(core, model, device, counting({4})); }),
                 {"'layer'", "set_extents() of output 0 got 1 extents, the output has 2"});
}

struct SaysOtherwise : extension::Layer {
  static constexpr const char* type = "SaysOtherwise";
  int64_t used = 0;
  bool known = true;
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("used", used);
    attribute("known", known);
  }
  void infer(extension::Inference& in) const {
    in.set_output(0, in.type(0), std::vector<extension::Dimension>{{known ? 4 : 2, 4}});
  }
  void compute(const extension::Run& run) const {
    std::fill_n(run.output(0).data<float>(), 4, 1.F);
    run.set_extents(0, {used});
  }
};

TEST(Extensions, ExtentsOtherThanTheKnownOnesAreRefused) {
  Core core;
  core.add_extension(extension::extension_of<SaysOtherwise>("other"));
  for (const char* device : {"CPU", "INTERPRETER"}) {
    const auto with = [&](int64_t used, bool known) {
      ModelBuilder b(core);
      b.result(b.op("SaysOtherwise", "extension", {b.parameter(element::f32, {4})}, {{"used", used}, {"known", known}},
                    "layer"));
      return run(core, b.build(), device, counting({4})).get_output_tensor().get_shape();
    };
    EXPECT_EQ(with(4, true), Shape{4}) << device;
    EXPECT_EQ(with(3, false), Shape{3}) << device;
    for (const int64_t used : {int64_t{3}, int64_t{5}, int64_t{-1}})
      expect_error(error_text([&] { with(used, true); }),
                   {"'layer'", "compute() of other says that it used", "output 0"});
    for (const int64_t used : {int64_t{1}, int64_t{5}})
      expect_error(error_text([&] { with(used, false); }), {"'layer'", "compute() of other says that it used"});
  }
}

TEST(Extensions, RanksBeyondAllReasonAreRefused) {
  static terroir_layer huge = *extension::extension_of<Twice>("huge")->layers[0];
  huge.type = "Huge";
  huge.infer = [](void*, const terroir_host* host, const terroir_attributes*, terroir_inference* inference,
                  terroir_error*) -> int32_t {
    const terroir_dimension some{0, 4};
    host->set_output(inference, 0, TERROIR_F32, std::numeric_limits<int32_t>::max(), &some);
    return 0;
  };
  static const terroir_layer* const layers[] = {&huge};
  static terroir_extension extension = *extension::extension_of<Twice>("huge");
  extension.layers = layers;
  Core core;
  core.add_extension(&extension);
  ModelBuilder b(core);
  expect_error(error_text([&] { b.op("Huge", "extension", {b.parameter(element::f32, {4})}, {}, "layer"); }),
               {"set_output(0)", "2147483647 axes"});
}

TEST(Extensions, ExtentsThatAreNullAreRefused) {
  static terroir_layer at_inference = *extension::extension_of<Twice>("null")->layers[0], at_run = at_inference;
  at_inference.type = "NullShape";
  at_inference.infer = [](void*, const terroir_host* host, const terroir_attributes*, terroir_inference* inference,
                          terroir_error*) -> int32_t {
    host->set_output(inference, 0, TERROIR_F32, 2, nullptr);
    return 0;
  };
  at_run.type = "NullExtents";
  at_run.infer = [](void*, const terroir_host* host, const terroir_attributes*, terroir_inference* inference,
                    terroir_error*) -> int32_t {
    const terroir_dimension some{0, 4};
    host->set_output(inference, 0, TERROIR_F32, 1, &some);
    return 0;
  };
  at_run.compute = [](void*, const void*, const terroir_host* host, const terroir_attributes*, terroir_run* run,
                      int32_t, const terroir_tensor*, int32_t, const terroir_tensor*, void*,
                      terroir_error*) -> int32_t {
    host->set_extents(run, 0, nullptr);
    return 0;
  };
  static const terroir_layer* const layers[] = {&at_inference, &at_run};
  static terroir_extension both = *extension::extension_of<Twice>("null");
  both.layer_count = 2;
  both.layers = layers;
  Core core;
  core.add_extension(&both);
  for (const char* device : {"CPU", "INTERPRETER"}) {
    const auto error = [&](const char* type) {
      return error_text([&] {
        ModelBuilder b(core);
        b.result(b.op(type, "extension", {b.parameter(element::f32, {4})}, {}, "layer"));
        run(core, b.build(), device, counting({4}));
      });
    };
    expect_error(error("NullShape"), {"'layer'", "set_output(0): there are no extents, for rank 2"});
    expect_error(error("NullExtents"), {"'layer'", "says that it used [-1] of output 0"});
  }
}

TEST(Extensions, ModelsWithThemAreWrittenAndReadAgain) {
  Core core;
  core.add_extension(library("good"));
  ModelBuilder b(core);
  b.result(b.op("Scale", "extension", {b.parameter(element::f32, {2})}, {{"factor", 0.1}}, "scaled"));
  const std::string name = testing::TempDir() + "terroir_extension_" + std::to_string(::getpid()), path = name + ".xml";
  serialize(b.build(), path);
  const auto again = core.read_model(path);
  EXPECT_EQ(run(core, again, "CPU", counting({2})).get_output_tensor().data<float>()[0], 0.1f * -3.f);
  const std::string text = error_text([&] { Core().read_model(path); });
  EXPECT_NE(text.find("unknown operation 'Scale'"), std::string::npos) << text;
  for (const std::string& file : {path, name + ".bin"}) EXPECT_TRUE(std::filesystem::remove(file)) << file;
}

TEST(Extensions, WrongLibrariesAreNamed) {
  Core core;
  const auto error = [&](const std::string& path) { return error_text([&] { core.add_extension(path); }); };
  expect_error(error("nowhere/mish.so"), {"nowhere/mish.so", "no such file"});
  expect_error(error(TERROIR_SOURCE_DIR "/README.md"), {"README.md", "cannot be loaded"});
  expect_error(error(library("empty")), {"extension_empty.so", "does not export terroir_get_extension"});
  expect_error(error(library("newer_version")),
               {"extension_newer_version.so", concat("version ", TERROIR_ABI_VERSION + 1),
                concat("up to ", TERROIR_ABI_VERSION)});
  expect_error(error(library("refuses")), {"extension_refuses.so", "refuses"});
  expect_error(error(library("wrong_layer")), {"extension_wrong_layer.so", "layer Part", "no compute()"});
  ModelBuilder b(core);
  EXPECT_NE(error_text([&] { b.op("Whole", "extension", {b.parameter(element::f32, {1})}); }), "");
}

struct TakesAName : extension::Layer {
  static constexpr const char* type = "Scale";
  void infer(extension::Inference&) const {}
  void compute(const extension::Run&) const {}
};
struct TakesOurs : TakesAName {
  static constexpr const char* type = "ReLU";
  static constexpr const char* opset = "opset1";
};

TEST(Extensions, AnOperationCannotBeBroughtTwice) {
  Core core;
  core.add_extension(library("good"));
  core.add_extension(library("good"));  // the same one: nothing happens
  const auto error = [&](const terroir_extension* e) { return error_text([&] { core.add_extension(e); }); };
  expect_error(error(extension::extension_of<TakesAName>("rival")), {"rival", "Scale", "extension_good.so"});
  expect_error(error(extension::extension_of<TakesOurs>("usurper")), {"usurper", "ReLU", "Terroir has itself"});
  expect_error(error(nullptr), {"null"});
}

TEST(Extensions, WrongUseOfALayerIsRefusedByName) {
  Core core;
  core.add_extension(library("good"));
  const auto error = [&](const char* type, const char* opset, const element::Type& input, const AnyMap& attributes) {
    ModelBuilder b(core);
    return error_text([&] { b.op(type, opset, {b.parameter(input, {2})}, attributes, "layer"); });
  };
  expect_error(error("Scale", "extension", element::i32, {}), {"layer", "input 0 is i32", "takes f32"});
  expect_error(error("Scale", "extension", element::f32, {{"facto", 1.0}}), {"no attribute 'facto'", "factor"});
  expect_error(error("Attributes", "test1", element::f32, {}), {"'reals' is missing"});
  expect_error(error("Attributes", "test1", element::f32, {{"reals", ""}, {"text", "roof"}}),
               {"'text' is 'roof'", "floor, ceil"});
  expect_error(error("Fails", "extension", element::f32, {{"where", "infer"}}), {"no shape suits me", "layer"});
  expect_error(error("Fails", "extension", element::f32, {{"where", "unset"}}), {"says nothing of output 0"});
}

}  // namespace
}  // namespace terroir
