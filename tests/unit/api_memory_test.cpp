// memory_footprint and memory_limit; what a process really takes is measured in one of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/small_network.hpp"

namespace terroir {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelVariable = "TERROIR_TEST_MODEL";

/// Bytes of an entry of /proc/self/status.
double status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1)) * 1024;
  return -1;
}

/// Several times the memory of everything else in the process.
std::shared_ptr<Model> large_network() { return network({1, 3, 224, 224}, 512); }

/// Prints what compiling and running a model took, and what it said before.
TEST(MemoryOfAProcess, DISABLED_Measure) {
  const char* model = std::getenv(kModelVariable);
  ASSERT_NE(model, nullptr);
  Core core;
  core.compile_model(network(), "CPU").create_infer_request().infer();  // what any model brings along
  const double before = status_bytes("RssAnon");
  CompiledModel compiled = core.compile_model(std::string(model), "CPU");
  const auto needs = compiled.get_property(memory_footprint);
  InferRequest request = compiled.create_infer_request();
  request.infer();
  std::cout << "\nmeasured " << status_bytes("RssAnon") - before << ' ' << status_bytes("VmHWM") << ' '
            << needs.at("peak") << '\n';
}

TEST(MemoryOfAProcess, IsWhatTheFootprintSays) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const fs::path folder = fs::path(testing::TempDir()) / ("terroir_memory_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path model = folder / "model.xml", output = folder / "output.txt";
  serialize(large_network(), model);
  ASSERT_EQ(::setenv(kModelVariable, model.c_str(), 1), 0);
  const std::string command = "'" + fs::read_symlink("/proc/self/exe").string() +
                              "' --gtest_also_run_disabled_tests --gtest_filter=MemoryOfAProcess.DISABLED_Measure > '" +
                              output.string() + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream lines(output);
  double anonymous = 0, peak_resident = 0, said = 0;
  for (std::string word; lines >> word;)
    if (word == "measured") lines >> anonymous >> peak_resident >> said;
  fs::remove_all(folder);
  ASSERT_GT(said, 30e6);
  EXPECT_NEAR(anonymous, said, 0.04 * said + 6e6) << "with the tensors of the request and the heap";
  EXPECT_GT(peak_resident, anonymous);
  EXPECT_LT(peak_resident, 1.1 * said + 60e6) << "the code and what packing holds in passing come on top";
}

TEST(MemoryFootprint, IsKnownBeforeTheFirstRun) {
  Core core;
  const auto one = core.compile_model(network(), "CPU", num_streams(1)).get_property(memory_footprint);
  EXPECT_GT(one.at("packed"), 64 * 64 * 9 * sizeof(float));
  EXPECT_GE(one.at("arena_per_request"), 64 * 40 * 40 * sizeof(float));
  EXPECT_EQ(one.at("peak"), one.at("weights") + one.at("packed") + one.at("arena_per_request"));
  const CompiledModel two = core.compile_model(network(), "CPU", num_streams(2));
  const auto needs = two.get_property(memory_footprint);
  EXPECT_EQ(needs.at("peak"), needs.at("weights") + needs.at("packed") + 2 * needs.at("arena_per_request"));
  EXPECT_EQ(two.get_property("MEMORY_FOOTPRINT").as<std::string>().empty(), false);
  EXPECT_GT(core.compile_model(network(), "INTERPRETER").get_property(memory_footprint).at("weights"), 64U * 64 * 9);
}

TEST(MemoryLimit, IsAnErrorThatSaysWhatNeedsHowMuch) {
  Core core;
  const Exception error = caught([&] { core.compile_model(network(), "CPU", memory_limit(100000)); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  for (const char* part : {"MEMORY_LIMIT is 0.1 MB", "packed weights", "activations", "NUM_STREAMS"})
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in " << error.what();
  const Exception bytes = caught([&] { core.compile_model(network(), "CPU", memory_limit(700)); });
  EXPECT_NE(std::string(bytes.what()).find("MEMORY_LIMIT is 700 bytes"), std::string::npos) << bytes.what();
}

TEST(MemoryLimit, PrefersKernelsThatNeedLess) {
  Core core;
  const auto free = core.compile_model(network(), "CPU").get_property(memory_footprint);
  CompiledModel lean = core.compile_model(network(), "CPU", memory_limit(free.at("peak") - 1));
  const auto needs = lean.get_property(memory_footprint);
  // Without Winograd's algorithm, whose weights take more; with less of its scratch memory where L2 is small.
  EXPECT_LE(needs.at("packed"), free.at("packed"));
  EXPECT_LT(needs.at("peak"), free.at("peak"));
  EXPECT_NO_THROW(lean.create_infer_request().infer());
  const auto enough =
      core.compile_model(network(), "CPU", memory_limit(free.at("peak"))).get_property(memory_footprint);
  EXPECT_EQ(enough, free);
}

TEST(MemoryLimit, HoldsForUnknownExtentsWhenTheyAreKnown) {
  Core core;
  CompiledModel compiled = core.compile_model(network({1, 3, -1, -1}), "CPU", memory_limit(8000000));
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(Tensor(element::f32, {1, 3, 20, 20}));
  EXPECT_NO_THROW(request.infer());
  request.set_input_tensor(Tensor(element::f32, {1, 3, 600, 600}));
  EXPECT_EQ(caught([&] { request.infer(); }).code(), ErrorCode::out_of_memory);
}

/// The result for an image of so many rows and columns, or nothing where the limit does not allow it.
std::optional<std::vector<float>> result_of(CompiledModel& compiled, size_t extent) {
  InferRequest request = compiled.create_infer_request();
  Tensor image(element::f32, {1, 3, extent, extent});
  for (size_t i = 0; i < image.get_size(); ++i) image.data<float>()[i] = static_cast<float>(i % 201) / 100.0f - 1.0f;
  request.set_input_tensor(image);
  try {
    request.infer();
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
    return std::nullopt;
  }
  const Tensor result = request.get_output_tensor();
  return std::vector<float>(result.data<float>(), result.data<float>() + result.get_size());
}

TEST(MemoryLimit, DoesNotDependOnExtentsOfFormerInferences) {
  Core core;
  const auto model = network({1, 3, -1, -1});
  const auto peak = [&](size_t extent) {
    return core.compile_model(network({1, 3, static_cast<int64_t>(extent), static_cast<int64_t>(extent)}), "CPU")
        .get_property(memory_footprint)
        .at("peak");
  };
  for (const auto& [former, extent] : {std::pair<size_t, size_t>{8, 56}, {56, 8}, {4, 32}, {112, 24}})
    for (uint64_t percent = 40; percent <= 130; percent += 10) {
      const uint64_t limit = peak(extent) * percent / 100;
      CompiledModel alone = core.compile_model(model, "CPU", memory_limit(limit));
      CompiledModel after = core.compile_model(model, "CPU", memory_limit(limit));
      result_of(after, former);
      EXPECT_EQ(result_of(alone, extent), result_of(after, extent))
          << "extent " << extent << " after " << former << ", limit " << limit;
    }
}

/// Spreads ones to the extents given by its only input.
std::shared_ptr<Model> spread() {
  const auto extents = std::make_shared<opset8::Parameter>(element::i64, PartialShape{2});
  const auto one = opset8::Constant::create(element::f32, {}, {1.0f});
  const auto ones = std::make_shared<opset8::Broadcast>(one, extents);
  ones->set_friendly_name("ones");
  return std::make_shared<Model>(OutputVector{std::make_shared<opset8::Relu>(ones)}, ParameterVector{extents});
}

TEST(MachineMemory, LargerTensorsAreRefusedBeforeAnythingIsMadeForThem) {
  Core core;
  const auto image = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 3, 7});
  const auto places = opset8::Constant::create(element::i64, {1}, {int64_t{1} << 50});
  const auto average = std::make_shared<opset8::AdaptiveAvgPool>(image, places);
  average->set_friendly_name("many");
  const auto model = std::make_shared<Model>(OutputVector{average}, ParameterVector{image});
  const Exception error = caught([&] { core.compile_model(model, "CPU"); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  for (const char* part : {"AdaptiveAvgPool 'many'", "f32[1,3,1125899906842624]", "Model::reshape"})
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in " << error.what();

  // Padded to whole blocks such an extent would overflow.
  const auto all = std::make_shared<opset8::Parameter>(element::u8, PartialShape{1, INT64_MAX, 1, 1});
  const auto widest = std::make_shared<Model>(OutputVector{std::make_shared<opset8::Relu>(all)}, ParameterVector{all});
  EXPECT_EQ(caught([&] { core.compile_model(widest, "CPU"); }).code(), ErrorCode::out_of_memory);
}

TEST(MachineMemory, TensorsThatOnlyTheirExtentsAreAskedOfNeedNone) {
  Core core;
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1});
  const auto extents = opset8::Constant::create(element::i64, {2}, {int64_t{1} << 30, int64_t{1} << 20});
  const auto shape = std::make_shared<opset8::ShapeOf>(std::make_shared<opset8::Broadcast>(x, extents));
  InferRequest request = core.compile_model(std::make_shared<Model>(OutputVector{shape}, ParameterVector{x}), "CPU")
                             .create_infer_request();
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<int64_t>()[0], int64_t{1} << 30);
}

TEST(MachineMemory, SizesThatOnlyAnInferenceKnowsAreRefusedByIt) {
  Core core;
  InferRequest request = core.compile_model(spread(), "CPU").create_infer_request();
  const auto infer = [&](int64_t rows) {
    Tensor extents(element::i64, {2});
    extents.data<int64_t>()[0] = rows;
    extents.data<int64_t>()[1] = 3;
    request.set_input_tensor(extents);
    request.infer();
  };
  const Exception error = caught([&] { infer(int64_t{1} << 50); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
  infer(2);
  EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{2, 3})) << "the request goes on";
}

TEST(MachineMemory, RanksThatNoTensorHasAreRefused) {
  const auto data = std::make_shared<opset8::Parameter>(element::f32, PartialShape::dynamic());
  const auto order = std::make_shared<opset8::Parameter>(element::i64, PartialShape{int64_t{1} << 33});
  const Exception error = caught([&] { opset8::Transpose(data, order); });
  EXPECT_NE(std::string(error.what()).find("1024 at most"), std::string::npos) << error.what();
}

TEST(MemoryFootprint, OwnersWithoutAnObjectOfTheirOwnAreKept) {
  auto values = std::make_shared<std::vector<float>>(4, 3.0f);
  const float* const data = values->data();
  std::weak_ptr<std::vector<float>> alive = values;
  // Owns by what its deleter holds, and points nowhere.
  const auto constant = std::make_shared<opset8::Constant>(
      element::f32, Shape{4}, data, std::shared_ptr<void>(nullptr, [held = std::move(values)](void*) {}));
  ASSERT_FALSE(alive.expired());
  EXPECT_EQ(constant->cast_vector<float>(), (std::vector<float>{3, 3, 3, 3}));
}

TEST(MemoryFootprint, WeightsOfNobodyArePackedOnceForAllExtents) {
  constexpr size_t kSide = 1536;
  const std::vector<float> values(kSide * kSide, 0.5f);
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{-1, kSide});
  const auto weights = std::make_shared<opset8::Constant>(element::f32, Shape{kSide, kSide}, values.data(), nullptr);
  const auto product = std::make_shared<opset8::MatMul>(x, weights);
  Core core;
  InferRequest request = core.compile_model(std::make_shared<Model>(OutputVector{product}, ParameterVector{x}), "CPU")
                             .create_infer_request();
  const auto memory_after = [&](size_t rows) {
    request.set_input_tensor(Tensor(element::f32, {rows, kSide}));
    request.infer();
    return status_bytes("RssAnon");
  };
  const double first = memory_after(20);
  double last = first;
  for (const size_t rows : {21, 22, 23, 24, 25, 26}) last = memory_after(rows);
  EXPECT_LT(last - first, 2.0 * kSide * kSide * sizeof(float)) << "six more packings would be three times that";
}

std::string error_of_tile(const PartialShape& data, const char* device) {
  return caught([&] {
           const auto x = std::make_shared<opset8::Parameter>(element::f32, data);
           const auto tile =
               std::make_shared<opset8::Tile>(x, opset8::Constant::create(element::i64, {2}, {INT64_MAX, int64_t{1}}));
           const auto model = std::make_shared<Model>(OutputVector{tile}, ParameterVector{x});
           InferRequest request = Core().compile_model(model, device).create_infer_request();
           request.set_input_tensor(Tensor(element::f32, {1, 4}));
           request.infer();
         })
      .what();
}

TEST(MemoryLimit, TensorsOfMoreElementsThan64BitsCountNameTheirLayer) {
  for (const char* device : {"CPU", "INTERPRETER"})
    for (const PartialShape& data : {PartialShape{1, 4}, PartialShape{-1, -1}}) {
      const std::string error = error_of_tile(data, device);
      EXPECT_NE(error.find("Tile 'Tile_"), std::string::npos) << error;
      EXPECT_NE(error.find("the number of elements of shape [9223372036854775807,4] does not fit 64 bits"),
                std::string::npos)
          << error;
    }
}

}  // namespace
}  // namespace terroir
