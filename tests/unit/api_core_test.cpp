// Core: devices, properties, and a small model on every device there is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "ir/base/log.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

// data[?,4] + {1,-2,3,-4} -> ReLU
std::shared_ptr<Model> small_model(const PartialShape& shape) {
  ModelBuilder b("small");
  const auto x = b.parameter(element::f32, shape, "data");
  const auto bias = b.constant(element::f32, Shape{1, 4}, {1.f, -2.f, 3.f, -4.f});
  b.result(b.op("ReLU", "opset1", {b.op("Add", "opset1", {x, bias}, {{"auto_broadcast", "numpy"}}, "sum")}), "prob");
  return b.build();
}

void expect_right(const Tensor& input, const Tensor& output) {
  const float bias[4] = {1, -2, 3, -4};
  ASSERT_EQ(output.get_shape(), input.get_shape());
  for (size_t i = 0; i < input.get_size(); ++i) {
    ASSERT_EQ(output.data<float>()[i], std::max(0.f, input.data<float>()[i] + bias[i % 4])) << i;
  }
}

Tensor some_input(size_t rows) {
  Tensor tensor(element::f32, {rows, 4});
  for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = static_cast<float>(i % 7) - 3;
  return tensor;
}

TEST(Core, RunsASmallModelOnEveryDevice) {
  Core core;
  const auto devices = core.get_available_devices();
  ASSERT_FALSE(devices.empty());
  for (const std::string& device : devices) {
    for (const PartialShape& shape : {PartialShape{3, 4}, PartialShape{-1, 4}}) {
      CompiledModel compiled = core.compile_model(small_model(shape), device);
      InferRequest request = compiled.create_infer_request();
      const Tensor input = some_input(3);
      request.set_tensor("data", input);
      request.infer();
      expect_right(input, request.get_tensor("prob"));
      request.start_async();
      request.wait();
      expect_right(input, request.get_output_tensor());
    }
  }
}

TEST(Core, ManyRequestsOfOneModelAtOnce) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    CompiledModel compiled = core.compile_model(small_model({-1, 4}), device, num_streams(2));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        InferRequest request = compiled.create_infer_request();
        for (size_t round = 0; round < 50; ++round) {
          const Tensor input = some_input(1 + (t + round) % 5);
          request.set_input_tensor(input);
          if (round % 2 == 0) {
            request.infer();
          } else {
            request.start_async();
            request.wait();
          }
          expect_right(input, request.get_output_tensor());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Core, CompiledModelsDoNotSeeLaterChangesOfTheModel) {
  Core core;
  const auto model = small_model({3, 4});
  CompiledModel compiled = core.compile_model(model);
  model->reshape(PartialShape{5, 4});
  model->input().set_names({"other"});
  EXPECT_EQ(compiled.input().get_shape(), (Shape{3, 4}));
  EXPECT_EQ(compiled.input().get_any_name(), "data");
  InferRequest request = compiled.create_infer_request();
  request.infer();
  EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{3, 4}));
}

TEST(Core, UnknownDevicesAreNamedWithTheKnownOnes) {
  Core core;
  for (const auto& action : std::vector<std::function<void()>>{[&] {
                                                                 core.compile_model(small_model({1, 4}), "TPU");
                                                               },
                                                               [&] { core.set_property("TPU", num_streams(1)); },
                                                               [&] { core.get_property("TPU", device::full_name); },
                                                               [&] { core.compile_model("missing.xml", "TPU"); },
                                                               [&] {
                                                                 core.query_model(small_model({1, 4}), "TPU");
                                                               }}) {
    const Exception error = caught(action);
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_NE(std::strstr(error.what(), "there is no device 'TPU'; available: "), nullptr) << error.what();
    EXPECT_NE(std::strstr(error.what(), "INTERPRETER"), nullptr) << error.what();
  }
  for (const char* device : {"cpu", "AUTO:Cpu"}) {
    const Exception error = caught([&] { core.compile_model(small_model({1, 4}), device); });
    EXPECT_NE(std::strstr(error.what(), "; did you mean CPU?"), nullptr) << error.what();
  }
}

TEST(Core, EmptyAndAutoChooseTheDefaultDevice) {
  Core core;
  const std::string standard = core.get_available_devices().front();
  EXPECT_EQ(core.compile_model(small_model({1, 4}), "", {{"NUM_STREAMS", "1"}}).get_property(num_streams), 1);
  CompiledModel two = core.compile_model(small_model({1, 4}), "", {{"NUM_STREAMS", "1"}, {"PERF_COUNT", "YES"}});
  EXPECT_TRUE(two.get_property(enable_profiling));
  for (const char* device : {"", "AUTO"}) {
    EXPECT_EQ(core.compile_model(small_model({1, 4}), device).get_property(execution_devices),
              std::vector<std::string>{standard});
  }
  EXPECT_EQ(core.get_property("", available_devices), core.get_available_devices());
}

TEST(Core, PropertiesAreKeptPerDeviceAndOverriddenWhenCompiling) {
  Core core;
  const std::string device = core.get_available_devices().back();
  core.set_property(device, num_streams(1), enable_profiling(true));
  EXPECT_EQ(core.get_property(device, num_streams), 1);
  EXPECT_TRUE(core.get_property(device, enable_profiling));
  EXPECT_TRUE(core.compile_model(small_model({1, 4}), device).get_property(enable_profiling));
  EXPECT_FALSE(
      core.compile_model(small_model({1, 4}), device, AnyMap{{"PERF_COUNT", "NO"}}).get_property(enable_profiling));
  EXPECT_EQ(caught([&] { core.set_property(device, AnyMap{{"NUM_STREAM", 3}}); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] {
              core.compile_model(small_model({1, 4}), device, AnyMap{{"NUM_STREAM", 3}});
            }).code(),
            ErrorCode::not_found);
  core.set_property(AnyMap{{"INFERENCE_NUM_THREADS", "1"}});
  for (const std::string& name : core.get_available_devices()) {
    EXPECT_EQ(core.get_property(name, inference_num_threads), 1);
  }
  Core other;
  EXPECT_FALSE(other.get_property(device, enable_profiling));
}

TEST(Core, EveryListedPropertyCanBeRead) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    const auto keys = core.get_property(device, supported_properties);
    EXPECT_GT(keys.size(), 10u);
    for (const PropertyName& key : keys) EXPECT_FALSE(core.get_property(device, key).empty()) << device << ' ' << key;
    EXPECT_FALSE(core.get_property(device, device::full_name).empty());
    EXPECT_GE(std::get<1>(core.get_property(device, range_for_streams)), 1u);
  }
}

TEST(Core, LogLevelRulesTheLog) {
  const unsigned before = set_log_categories(static_cast<unsigned>(LogCategory::warning));
  Core core;
  core.set_property(log::level(log::Level::NO));
  EXPECT_FALSE(log_enabled(LogCategory::warning));
  core.set_property(log::level(log::Level::DEBUG));
  EXPECT_TRUE(log_enabled(LogCategory::dispatch));
  core.set_property(log::level(log::Level::WARNING));
  EXPECT_TRUE(log_enabled(LogCategory::warning));
  EXPECT_FALSE(log_enabled(LogCategory::dispatch));
  set_log_categories(before);
}

TEST(Core, LogLevelsGoWithTheCoresThatSetThem) {
  const auto warning = static_cast<unsigned>(LogCategory::warning);
  const unsigned before = set_log_categories(warning);
  {
    Core first;
    {
      Core second;
      first.set_property(log::level(log::Level::NO));
      second.set_property("CPU", log::level(log::Level::DEBUG));
      EXPECT_TRUE(log_enabled(LogCategory::dispatch));
    }
    EXPECT_FALSE(log_enabled(LogCategory::warning));
    first.set_property(log::level(log::Level::ERR));
  }
  EXPECT_EQ(set_log_categories(before), warning);
}

TEST(Core, ALogLevelOfOneCompilation) {
  const unsigned before = set_log_categories(static_cast<unsigned>(LogCategory::warning));
  std::vector<std::string> lines;
  set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  Core core;
  const auto model = small_model({1, 4});
  const auto compiled_with = [&](const AnyMap& properties) {
    lines.clear();
    core.compile_model(model, "CPU", properties);
    return lines.size();
  };
  EXPECT_EQ(compiled_with({log::level(log::Level::INFO)}), 1u);
  EXPECT_EQ(compiled_with({device::properties("CPU", log::level(log::Level::INFO))}), 1u);
  EXPECT_EQ(compiled_with({}), 0u);
  core.set_property(log::level(log::Level::INFO));
  EXPECT_EQ(compiled_with({log::level(log::Level::WARNING)}), 0u);
  EXPECT_EQ(compiled_with({}), 1u);
  EXPECT_EQ(caught([&] {
              compiled_with({log::level(log::Level::NO), {"NO_SUCH_PROPERTY", 1}});
            }).code(),
            ErrorCode::not_found);
  EXPECT_TRUE(log_enabled(LogCategory::threads));
  set_log_sink({});
  set_log_categories(before);
}

// As another model's, of which there are none. The quickest of some hundreds at a time, for other programs may run.
TEST(Core, RequestsTakeNoLongerTheMoreThereAre) {
  Core core;
  CompiledModel compiled = core.compile_model(small_model({1, 4}), "CPU");
  CompiledModel other = core.compile_model(small_model({1, 4}), "CPU");
  std::vector<InferRequest> requests;
  using Clock = std::chrono::steady_clock;
  const auto quickest = [&](CompiledModel& of, int rounds) {
    Clock::duration least = Clock::duration::max();
    for (int round = 0; round < rounds; ++round) {
      const auto start = Clock::now();
      for (int i = 0; i < 200; ++i) requests.push_back(of.create_infer_request());
      least = std::min(least, Clock::now() - start);
    }
    return least;
  };
  quickest(compiled, 80);
  const auto first = quickest(other, 5);
  EXPECT_LT(quickest(compiled, 5), 4 * first);
  requests.resize(1);
  // Of many that are gone, there is one.
  for (int i = 0; i < 100; ++i) compiled.create_infer_request();
  compiled.release_memory();
  requests[0].start_async();
  requests[0].wait();
}

TEST(Core, SaysWhichLayersADeviceRuns) {
  Core core;
  const auto model = small_model({1, 4});
  for (const std::string& device : core.get_available_devices()) {
    const SupportedOpsMap supported = core.query_model(model, device);
    EXPECT_EQ(supported.size(), model->get_ops().size());
    EXPECT_EQ(supported.at("sum"), device);
  }
  EXPECT_EQ(core.get_versions().size(), core.get_available_devices().size());
}

TEST(Core, ReadsWhatSerializeWrote) {
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / ("terroir_api_core_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = (dir / "small.xml").string();
  const auto model = small_model({-1, 4});
  layout::set_layout(model->input(), "NC");
  model->set_rt_info("Terroir", "conversion", "tool");
  serialize(model, path);
  Core core;
  const auto read = core.read_model(path);
  EXPECT_EQ(read->get_friendly_name(), "small");
  EXPECT_EQ(read->input("data").get_partial_shape(), (PartialShape{-1, 4}));
  EXPECT_EQ(layout::get_layout(read->input()), Layout("NC"));
  EXPECT_EQ(read->get_rt_info<std::string>("conversion", "tool"), "Terroir");
  EXPECT_EQ(read->output("prob").get_names(), model->output("prob").get_names());
  const Tensor input = some_input(2);
  for (CompiledModel compiled : {core.compile_model(read), core.compile_model(path)}) {
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(input);
    request.infer();
    expect_right(input, request.get_output_tensor());
  }
  // From memory; the weights may be dropped by the caller.
  std::ifstream xml(path), bin(dir / "small.bin", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(xml), {}}, bytes{std::istreambuf_iterator<char>(bin), {}};
  CompiledModel compiled;
  {
    const Tensor weights(element::u8, {bytes.size()});
    std::copy(bytes.begin(), bytes.end(), weights.data<char>());
    compiled = core.compile_model(text, weights, "", AnyMap{});
  }
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(input);
  request.infer();
  expect_right(input, request.get_output_tensor());
  std::ostringstream xml_text, bin_bytes;
  EXPECT_FALSE(pass::Serialize(xml_text, bin_bytes).run_on_model(model));
  EXPECT_EQ(xml_text.str(), text);
  EXPECT_EQ(bin_bytes.str(), bytes);
  xml_text.setstate(std::ios::badbit);
  EXPECT_EQ(caught([&] { serialize(model, xml_text, bin_bytes); }).code(), ErrorCode::general);
  EXPECT_EQ(caught([&] { serialize(model, "/nonexistent/model.xml"); }).code(), ErrorCode::file_not_found);
  EXPECT_EQ(caught([&] { serialize(nullptr, path); }).code(), ErrorCode::invalid_argument);
  std::filesystem::remove_all(dir);
}

TEST(Core, PathsAndPropertiesComeInManyForms) {
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / ("terroir_api_paths_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  const std::filesystem::path xml = dir / "small.xml", bin = dir / "small.bin";
  serialize(small_model({1, 4}), xml.string());
  Core core;
  const std::string device = core.get_available_devices().front();
  for (const auto& model :
       {core.read_model(xml), core.read_model(xml, bin), core.read_model(xml.string()),
        core.read_model(xml, bin, AnyMap{{"ENABLE_MMAP", "NO"}}), core.read_model(xml, bin, enable_mmap(false)),
        core.read_model(xml.string(), "", enable_mmap(false)),
        core.read_model(xml.c_str(), bin.string(), enable_mmap(false), strict_reading(true)),
        core.read_model(xml.string(), "", {})}) {
    EXPECT_EQ(model->get_friendly_name(), "small");
  }
  const auto model = core.read_model(xml);
  const AnyMap map{enable_profiling(true)};
  for (CompiledModel compiled :
       {core.compile_model(model, map), core.compile_model(model, enable_profiling(true)),
        core.compile_model(model, device, map), core.compile_model(model, device, enable_profiling(true)),
        core.compile_model(xml, map), core.compile_model(xml, device, map), core.compile_model(xml.string(), map),
        core.compile_model(xml.string(), device, enable_profiling(true)),
        core.compile_model(xml.string(), enable_profiling(true))}) {
    EXPECT_TRUE(compiled.get_property(enable_profiling));
  }
  EXPECT_FALSE(core.compile_model(model).get_property(enable_profiling));
  EXPECT_EQ(core.query_model(model, device, enable_profiling(true)).size(), model->get_ops().size());
  EXPECT_EQ(core.get_property("AVAILABLE_DEVICES").as<std::vector<std::string>>(), core.get_available_devices());
  EXPECT_EQ(core.get_property(device, num_streams, num_streams(3)), 3);  // as if it were set
  EXPECT_EQ(core.get_property(device, "NUM_STREAMS", AnyMap{num_streams(3)}).as<int>(), 3);
  EXPECT_NE(core.get_property(device, num_streams), 3);
  core.set_property(enable_profiling(true), num_streams(1));
  EXPECT_TRUE(core.get_property(device, enable_profiling));
  std::filesystem::remove_all(dir);
  shutdown();
}

TEST(Core, WeightsThatAreNotMappedMayChange) {
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / ("terroir_api_mmap_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  serialize(small_model({1, 4}), (dir / "small.xml").string());
  Core core;
  const auto model = core.read_model(dir / "small.xml", {}, AnyMap{enable_mmap(false)});
  std::ofstream(dir / "small.bin", std::ios::binary) << std::string(64, '\xff');
  InferRequest request = core.compile_model(model).create_infer_request();
  request.set_input_tensor(some_input(1));
  request.infer();
  expect_right(some_input(1), request.get_output_tensor());
  std::filesystem::remove_all(dir);
}

TEST(Core, SavedModelsHaveHalvesForWeights) {
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / ("terroir_api_save_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  ModelBuilder b("weights");
  const auto x = b.parameter(element::f32, {1, 100}, "x");
  std::vector<float> weights(100, 0.1f), large(100, 1e6f), tiny(100, 0x1p-25f);  // the smallest half is 2^-24
  std::fill_n(tiny.begin(), 24, 1.0f);
  const auto sum = b.op("Add", "opset1", {x, b.constant(element::f32, Shape{1, 100}, weights, "small")}, {}, "sum");
  const auto grown = b.op("Add", "opset1", {sum, b.constant(element::f32, Shape{1, 100}, large, "large")}, {}, "grown");
  b.result(b.op("Add", "opset1", {grown, b.constant(element::f32, Shape{1, 100}, tiny, "tiny")}, {}, "out"), "y");
  const auto model = b.build();
  save_model(model, (dir / "half.xml").string());
  save_model(model, (dir / "whole.xml").string(), false);
  EXPECT_LT(std::filesystem::file_size(dir / "half.bin"), std::filesystem::file_size(dir / "whole.bin"));
  const Tensor input(element::f32, {1, 100});
  Core core;
  for (const char* file : {"half.xml", "whole.xml"}) {
    const auto read = core.read_model(dir / file);
    EXPECT_EQ(read->output().get_names(), model->output().get_names());
    InferRequest request = core.compile_model(read, "CPU").create_infer_request();
    request.set_input_tensor(input);
    request.infer();
    const bool half = file == std::string("half.xml");
    // What no half can hold stays exact.
    const float expected = (half ? static_cast<float>(float16(0.1f)) : 0.1f) + 1e6f + 1.0f;
    EXPECT_EQ(request.get_output_tensor().data<float>()[0], expected) << file;
    size_t halves = 0;
    for (const auto& node : read->get_ops()) {
      halves += node->get_friendly_name() == "small_compressed" && node->get_output_element_type(0) == element::f16;
      EXPECT_NE(node->get_friendly_name(), "large_compressed");
      EXPECT_NE(node->get_friendly_name(), "tiny_compressed");
    }
    EXPECT_EQ(halves, half ? 1u : 0u);
  }
  EXPECT_EQ(model->get_ops().size(), 8u);  // the model itself stays as it is
  EXPECT_EQ(caught([&] { save_model(nullptr, "x.xml"); }).code(), ErrorCode::invalid_argument);
  std::filesystem::remove_all(dir);
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Core, ReleasedMemoryGoesBackToTheSystem) {
  // Between the layers lie 64 MiB.
  ModelBuilder b("large activation");
  const auto x = b.parameter(element::f32, {4096, 4}, "x");
  const auto product = b.op("MatMul", "opset1", {x, b.constant(element::f32, Shape{4, 4096}, {1.f})},
                            {{"transpose_a", false}, {"transpose_b", false}}, "product");
  const auto axes = b.constant(element::i64, Shape{1}, {1});
  b.result(b.op("ReduceMax", "opset1", {product, axes}, {{"keep_dims", false}}), "y");
  CompiledModel compiled = Core().compile_model(b.build(), "CPU");
  InferRequest request = compiled.create_infer_request();
  std::fill_n(request.get_input_tensor().data<float>(), 4096 * 4, 2.f);
  request.infer();
  [[maybe_unused]] const size_t before = resident_bytes();
  compiled.release_memory();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed
  EXPECT_LT(resident_bytes() + (size_t{48} << 20), before);
#endif
  EXPECT_EQ(request.get_output_tensor().data<float>()[4095], 8.f);  // tensors of the request stay
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[4095], 8.f);
}

TEST(Core, AutoChoosesTheFirstDeviceThereIs) {
  Core core;
  const auto model = small_model({1, 4});
  EXPECT_EQ(core.compile_model(model, "AUTO:GPU,INTERPRETER,CPU").get_property(execution_devices),
            std::vector<std::string>{"INTERPRETER"});
  EXPECT_EQ(core.compile_model(model, "AUTO", device::priorities("NPU", "INTERPRETER")).get_property(execution_devices),
            std::vector<std::string>{"INTERPRETER"});
  EXPECT_EQ(core.compile_model(model, "AUTO:-GPU,-CPU").get_property(execution_devices),
            std::vector<std::string>{"INTERPRETER"});
  EXPECT_EQ(core.compile_model(model, "AUTO:-NPU").get_property(execution_devices), std::vector<std::string>{"CPU"});
  EXPECT_EQ(caught([&] { core.compile_model(model, "AUTO:CPU,-CPU"); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { core.compile_model(model, "AUTO:GPU"); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { core.compile_model(model, "CPU", device::priorities("CPU")); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([] { Core("plugins.xml"); }).code(), ErrorCode::unsupported);
}

TEST(Core, PrioritiesMayBeSetBeforehand) {
  const auto model = small_model({1, 4});
  for (const char* way : {"AUTO", "MULTI", "HETERO"}) {
    Core core;
    const auto chosen = [&](const AnyMap& properties = {}) {
      return core.compile_model(model, way, properties).get_property(execution_devices).at(0);
    };
    EXPECT_EQ(core.get_property(way, device::priorities.name()).as<std::string>(), "") << way;
    core.set_property(way, {device::priorities("INTERPRETER"), enable_profiling(true)});
    EXPECT_EQ(core.get_property(way, device::priorities.name()).as<std::string>(), "INTERPRETER") << way;
    EXPECT_TRUE(core.get_property("INTERPRETER", enable_profiling)) << way;
    EXPECT_FALSE(core.get_property("CPU", enable_profiling)) << way;
    EXPECT_EQ(chosen(), "INTERPRETER") << way;
    EXPECT_EQ(chosen({device::priorities("CPU")}), "CPU") << way;
    EXPECT_EQ(caught([&] { core.set_property(way, device::priorities("GPU")); }).code(), ErrorCode::not_found) << way;
    EXPECT_EQ(caught([&] {
                core.set_property(way, {device::priorities("CPU"), {"NO_SUCH", 1}});
              }).code(),
              ErrorCode::not_found);
    EXPECT_EQ(chosen(), "INTERPRETER") << way;
  }
  EXPECT_EQ(caught([] { Core().set_property("CPU", device::priorities("CPU")); }).code(), ErrorCode::not_found);
}

TEST(Core, CopiesShareDevicesPropertiesAndExtensions) {
  auto first = std::make_unique<Core>();
  Core copy = *first;
  copy.set_property("CPU", num_streams(2));
  EXPECT_EQ(first->get_property("CPU", num_streams), streams::Num(2));
  first->set_property("CPU", num_streams(1));
  Core assigned;
  assigned = copy;
  first.reset();
  EXPECT_EQ(copy.get_property("CPU", num_streams), streams::Num(1));
  EXPECT_EQ(assigned.get_property("CPU", num_streams), streams::Num(1));
  EXPECT_EQ(assigned.compile_model(small_model({1, 4})).get_property(num_streams), streams::Num(1));
}

TEST(Core, NamesOfDevicesThatAreNoneOfAutoMeanOneDevice) {
  Core core;
  const auto model = small_model({1, 4});
  for (const char* device : {"INTERPRETER", "INTERPRETER.0", "MULTI:INTERPRETER", "HETERO:INTERPRETER.0"}) {
    EXPECT_EQ(core.compile_model(model, device).get_property(execution_devices),
              std::vector<std::string>{"INTERPRETER"})
        << device;
  }
  EXPECT_EQ(core.compile_model(model, "MULTI", device::priorities("INTERPRETER")).get_property(execution_devices),
            std::vector<std::string>{"INTERPRETER"});
  EXPECT_EQ(core.get_property("HETERO:CPU", device::full_name), core.get_property("CPU", device::full_name));
  for (const char* way : {"AUTO", "MULTI", "HETERO"}) {  // of all devices
    // What programs set apart for each device is in the lists of devices.
    const auto known = core.get_property(way, supported_properties);
    EXPECT_EQ(known.size() + 2, core.get_property("CPU", supported_properties).size()) << way;
    EXPECT_EQ(std::count(known.begin(), known.end(), num_streams), 0) << way;
    EXPECT_EQ(std::count(known.begin(), known.end(), hint::performance_mode), 1) << way;
    EXPECT_EQ(core.compile_model(model, std::string(way) + ":CPU", device::properties("CPU", num_streams(1)))
                  .get_property(num_streams),
              streams::Num(1))
        << way;
    EXPECT_EQ(core.compile_model(model, way).get_property(execution_devices), std::vector<std::string>{"CPU"}) << way;
  }
  for (const char* device : {"-CPU", "CPU,INTERPRETER", "GPU,CPU", "CPU.1", "cpu", "CPU:", "AUTOCPU", "AUTO_CPU",
                             ":CPU", "MULTI:", "MULTI:GPU", "HETERO:-CPU", "CPU -nstreams 1"}) {
    const Exception refusal = caught([&] { core.compile_model(model, device); });
    EXPECT_EQ(refusal.code(), ErrorCode::not_found) << device;
    EXPECT_NE(std::string(refusal.what()).find("'" + std::string(device) + "'"), std::string::npos) << refusal.what();
  }
  for (const char* device : {"MULTI:CPU,INTERPRETER", "HETERO:GPU,CPU", "BATCH:CPU", "BATCH:CPU(4)"}) {
    const Exception refusal = caught([&] { core.compile_model(model, device); });
    EXPECT_EQ(refusal.code(), ErrorCode::unsupported) << device;
    EXPECT_NE(std::string(refusal.what()).find("'" + std::string(device) + "'"), std::string::npos) << refusal.what();
  }
}

TEST(Core, RefusesWhatIsNoModel) {
  Core core;
  EXPECT_EQ(caught([&] { core.compile_model(std::shared_ptr<const Model>()); }).code(), ErrorCode::invalid_argument);
  const Exception missing = caught([&] { core.read_model("/nonexistent/model.xml"); });
  EXPECT_EQ(missing.code(), ErrorCode::file_not_found);
  EXPECT_NE(std::strstr(missing.what(), "/nonexistent/model.xml"), nullptr) << missing.what();
  EXPECT_EQ(caught([&] { core.read_model("not xml", Tensor()); }).code(), ErrorCode::parse_error);
  float gaps[4];
  EXPECT_EQ(caught([&] { core.read_model("<net/>", Tensor(element::f32, {2}, gaps, {8})); }).code(),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace terroir
