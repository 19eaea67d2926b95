// Compiled models in files: export_model(), import_model(), CACHE_DIR.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "ir/base/log.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/small_network.hpp"

namespace terroir {
namespace {

namespace fs = std::filesystem;

/// A size that is known only when it has been computed ends the first plan.
std::shared_ptr<Model> positions() {
  ModelBuilder b("positions");
  const auto x = b.parameter(element::f32, {2, 5}, "x");
  const auto found =
      b.op("NonZero", "opset3", {b.op("ReLU", "opset1", {x}, {}, "")}, {{"output_type", "i64"}}, "found");
  b.result(b.op("Convert", "opset1", {found}, {{"destination_type", "f32"}}, "as_floats"));
  return b.build();
}

Tensor input_for(const CompiledModel& compiled, const Shape& shape) {
  Tensor tensor(compiled.input().get_element_type(), shape);
  const std::vector<float> values = noise(tensor.get_size(), 11);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::vector<float> infer(CompiledModel compiled, const Shape& shape) {
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(input_for(compiled, shape));
  request.infer();
  const Tensor result = request.get_output_tensor();
  return {result.data<float>(), result.data<float>() + result.get_size()};
}

std::string exported(const CompiledModel& compiled) {
  std::ostringstream file;
  compiled.export_model(file);
  return std::move(file).str();
}

CompiledModel imported(Core& core, const std::string& file, const std::string& device) {
  std::istringstream stream(file);
  return core.import_model(stream, device);
}

/// Name, type, kernel and status of each layer of a profiled inference.
std::vector<std::string> profiled_layers(CompiledModel compiled, const Shape& shape) {
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(input_for(compiled, shape));
  request.infer();
  std::vector<std::string> layers;
  for (const ProfilingInfo& info : request.get_profiling_info())
    layers.push_back(info.node_name + '|' + info.node_type + '|' + info.exec_type + '|' +
                     std::to_string(static_cast<int>(info.status)));
  return layers;
}

TEST(ExportedModel, ProfilesTheTypesOfFusedLayers) {
  const struct {
    std::shared_ptr<Model> model;
    Shape shape;
  } cases[] = {{network(), Shape{1, 3, 40, 40}}, {positions(), Shape{2, 5}}};
  for (const auto& [model, shape] : cases) {
    Core core;
    const std::string file = exported(core.compile_model(model, "CPU"));  // profiles are asked for later
    const std::vector<std::string> expected =
        profiled_layers(core.compile_model(model, "CPU", enable_profiling(true)), shape);
    std::istringstream stream(file);
    EXPECT_EQ(profiled_layers(core.import_model(stream, "CPU", enable_profiling(true)), shape), expected);
    for (const std::string& layer : expected) EXPECT_EQ(layer.find("||"), std::string::npos) << layer;
  }
}

/// A folder of its own, gone with the test; and what is warned of meanwhile.
class Cache : public testing::Test {
 protected:
  Cache() {
    set_log_sink([this](std::string_view line) { warnings_.emplace_back(line); });
  }
  ~Cache() override {
    set_log_sink({});
    fs::remove_all(folder_);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("terroir_cache_" + std::to_string(std::random_device()()));
  const AnyMap cached_{{"CACHE_DIR", folder_.string()}};
  std::vector<std::string> warnings_;
  Core core_;
};

constexpr auto kImage = [] { return Shape{1, 3, 40, 40}; };

TEST(ExportedModel, GivesTheSameBits) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    SCOPED_TRACE(device);
    const CompiledModel compiled = core.compile_model(network(), device);
    const std::vector<float> expected = infer(compiled, kImage());
    const CompiledModel once = imported(core, exported(compiled), device);
    EXPECT_EQ(infer(once, kImage()), expected);
    const CompiledModel twice = imported(core, exported(once), device);
    EXPECT_EQ(infer(twice, kImage()), expected);
    EXPECT_EQ(twice.input().get_any_name(), "image");
    EXPECT_EQ(twice.output().get_any_name(), "scores");
    EXPECT_EQ(twice.output().get_partial_shape(), compiled.output().get_partial_shape());
    EXPECT_EQ(twice.get_property(model_name), "network");
  }
}

TEST(ExportedModel, OfUnknownExtents) {
  Core core;
  const CompiledModel compiled = core.compile_model(network({-1, 3, -1, -1}), "CPU");
  const CompiledModel again = imported(core, exported(compiled), "CPU");
  for (const Shape& shape : {Shape{1, 3, 24, 17}, Shape{2, 3, 40, 40}})
    EXPECT_EQ(infer(again, shape), infer(compiled, shape));
}

TEST(ExportedModel, OfSizesThatDependOnData) {
  Core core;
  const CompiledModel compiled = core.compile_model(positions(), "CPU");
  EXPECT_EQ(infer(imported(core, exported(compiled), "CPU"), {2, 5}), infer(compiled, {2, 5}));
}

TEST(ExportedModel, HasItsVariables) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    CompiledModel again = imported(core, exported(core.compile_model(counter(), device)), device);
    InferRequest request = again.create_infer_request();
    for (const float expected : {12.f, 14.f}) {
      request.get_input_tensor().data<float>()[0] = 2;
      request.infer();
      EXPECT_EQ(request.get_output_tensor().data<float>()[0], expected) << device;
    }
  }
}

TEST(ExportedModel, KeepsHowItWasCompiled) {
  Core core;
  const CompiledModel compiled =
      core.compile_model(network(), "CPU", hint::execution_mode(hint::ExecutionMode::ACCURACY));
  const CompiledModel again = imported(core, exported(compiled), "CPU");
  EXPECT_EQ(again.get_property(hint::execution_mode), hint::ExecutionMode::ACCURACY);
  EXPECT_EQ(infer(again, kImage()), infer(compiled, kImage()));
  EXPECT_NE(infer(again, kImage()), infer(core.compile_model(network(), "CPU"), kImage()))
      << "Winograd's algorithm was to make a difference";
}

TEST(ExportedModel, LiesInATensorOrBetweenOtherBytes) {
  Core core;
  const CompiledModel compiled = core.compile_model(network(), "CPU");
  const std::vector<float> expected = infer(compiled, kImage());
  const std::string file = exported(compiled);
  for (const size_t shift : {0, 1}) {
    Tensor bytes(element::u8, Shape{file.size() + shift});
    std::copy(file.begin(), file.end(), bytes.data<uint8_t>() + shift);
    const Tensor part(bytes, Coordinate{shift}, Coordinate{file.size() + shift});
    EXPECT_EQ(infer(core.import_model(part, "CPU"), kImage()), expected);
  }
  std::istringstream stream("before" + file + file + "after");
  stream.ignore(6);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(infer(core.import_model(stream, "CPU"), kImage()), expected);
  std::string rest;
  stream >> rest;
  EXPECT_EQ(rest, "after");
}

TEST(ExportedModel, IsOfOneDevice) {
  Core core;
  const std::string file = exported(core.compile_model(network(), "CPU"));
  EXPECT_EQ(caught([&] { imported(core, file, "INTERPRETER"); }).code(), ErrorCode::unsupported);
  std::istringstream other(
      "<net name=\"a model that is not compiled\" version=\"11\"> ... </net> and so on, and so on");
  const Exception of_other = caught([&] { core.import_model(other, "CPU"); });
  EXPECT_EQ(of_other.code(), ErrorCode::parse_error);
  EXPECT_NE(std::string(of_other.what()).find("no compiled model"), std::string::npos) << of_other.what();
  EXPECT_NE(std::string(of_other.what()).find("read_model()"), std::string::npos) << of_other.what();
  const Exception of_few = caught([&] { imported(core, "<net/>", "CPU"); });
  EXPECT_NE(std::string(of_few.what()).find("it has 6 bytes, too few"), std::string::npos) << of_few.what();
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  EXPECT_EQ(caught([&] { core.compile_model(network(), "CPU").export_model(closed); }).code(),
            ErrorCode::file_not_found);
}

TEST(ExportedModel, CutShort) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    const std::string file = exported(core.compile_model(network(), device));
    for (size_t size = 0; size < file.size(); size += size < 300 ? 1 : 997) {
      EXPECT_THROW(imported(core, file.substr(0, size), device), Exception) << size;
      Tensor bytes(element::u8, Shape{size});
      std::copy_n(file.begin(), size, bytes.data<uint8_t>());
      EXPECT_THROW(core.import_model(bytes, device), Exception) << size;
    }
  }
}

TEST(ExportedModel, WithFlippedBits) {
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    const CompiledModel compiled = core.compile_model(network(), device);
    const std::vector<float> expected = infer(compiled, kImage());
    const std::string file = exported(compiled);
    std::mt19937 random(5);
    size_t accepted = 0;
    for (int i = 0; i < 1500; ++i) {
      const size_t at = i < 700 ? static_cast<size_t>(i) : random() % file.size();
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      try {
        // What is accepted can only be a filler between two pieces.
        EXPECT_EQ(infer(imported(core, damaged, device), kImage()), expected) << at;
        ++accepted;
      } catch (const Exception&) {
      }
    }
    EXPECT_LT(accepted, 40U) << device;
  }
}

TEST_F(Cache, IsReadTheSecondTime) {
  for (const std::string& device : core_.get_available_devices()) {
    SCOPED_TRACE(device);
    fs::remove_all(folder_);
    const std::vector<float> expected = infer(core_.compile_model(network(), device), kImage());
    const CompiledModel first = core_.compile_model(network(), device, cached_);
    EXPECT_FALSE(first.get_property(loaded_from_cache));
    EXPECT_EQ(infer(first, kImage()), expected);
    ASSERT_EQ(files().size(), 1U);
    const auto written = fs::last_write_time(files()[0]);
    const CompiledModel second = core_.compile_model(network(), device, cached_);
    EXPECT_TRUE(second.get_property(loaded_from_cache));
    EXPECT_EQ(infer(second, kImage()), expected);
    ASSERT_EQ(files().size(), 1U);
    EXPECT_EQ(fs::last_write_time(files()[0]), written);
    const auto keys = second.get_property(supported_properties);
    EXPECT_NE(std::find(keys.begin(), keys.end(), loaded_from_cache.name()), keys.end());
  }
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

/// Each byte as its complement: nothing of the text can be read, and its length stays.
std::string turned(const std::string& text) {
  std::string result = text;
  for (char& c : result) c = static_cast<char>(~c);
  return result;
}

TEST(ExportedModel, Encrypted) {
  Core core;
  const EncryptionCallbacks callbacks{turned, turned};
  const CompiledModel compiled = core.compile_model(network(), "CPU", cache_encryption_callbacks(callbacks));
  const std::vector<float> expected = infer(compiled, kImage());
  const std::string secret = exported(compiled), plain = exported(core.compile_model(network(), "CPU"));
  EXPECT_EQ(turned(secret), plain);
  std::istringstream stream(secret);
  EXPECT_EQ(infer(core.import_model(stream, "CPU", cache_encryption_callbacks(callbacks)), kImage()), expected);
  const Tensor bytes(element::u8, {secret.size()});
  std::copy(secret.begin(), secret.end(), bytes.data<char>());
  const AnyMap decrypting{cache_encryption_callbacks(EncryptionCallbacks{nullptr, turned})};
  EXPECT_EQ(infer(core.import_model(bytes, "CPU", decrypting), kImage()), expected);
  EXPECT_EQ(caught([&] { imported(core, secret, "CPU"); }).code(), ErrorCode::parse_error);
  EXPECT_EQ(caught([&] { core.get_property("CPU", "CACHE_ENCRYPTION_CALLBACKS"); }).code(),
            ErrorCode::invalid_argument);
}

TEST_F(Cache, Encrypted) {
  const AnyMap encrypted{{"CACHE_DIR", folder_.string()},
                         cache_encryption_callbacks(EncryptionCallbacks{turned, turned})};
  const std::vector<float> expected = infer(core_.compile_model(network(), "CPU", encrypted), kImage());
  ASSERT_EQ(files().size(), 1U);
  const CompiledModel second = core_.compile_model(network(), "CPU", encrypted);
  EXPECT_TRUE(second.get_property(loaded_from_cache));
  EXPECT_EQ(infer(second, kImage()), expected);
  EXPECT_FALSE(core_.compile_model(network(), "CPU", cached_).get_property(loaded_from_cache)) << "a file of its own";
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  // Another key: the file is of no use.
  const auto same = [](const std::string& text) { return text; };
  const AnyMap otherwise{{"CACHE_DIR", folder_.string()},
                         cache_encryption_callbacks(EncryptionCallbacks{turned, same})};
  EXPECT_EQ(infer(core_.compile_model(network(), "CPU", otherwise), kImage()), expected);
  EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(Cache, NothingIsStoredAsItIsWhenOneFunctionIsMissing) {
  const auto with = [&](const EncryptionCallbacks& callbacks) {
    return AnyMap{{"CACHE_DIR", folder_.string()}, cache_encryption_callbacks(callbacks)};
  };
  const auto loaded = [&](const EncryptionCallbacks& callbacks) {
    return core_.compile_model(network(), "CPU", with(callbacks)).get_property(loaded_from_cache);
  };
  EXPECT_FALSE(loaded({nullptr, turned}));
  EXPECT_FALSE(fs::exists(folder_)) << "nothing to encrypt with";
  EXPECT_FALSE(loaded({turned, nullptr}));
  EXPECT_FALSE(loaded({turned, nullptr})) << "nothing to decrypt with";
  EXPECT_EQ(files().size(), 1U);
  EXPECT_TRUE(loaded({turned, turned})) << "the one file is encrypted";
  EXPECT_TRUE(loaded({nullptr, turned}));
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(Cache, FilesThatWereExportedAreImportedByTheirPath) {
  fs::create_directories(folder_);
  const fs::path file = folder_ / "network.blob";
  for (const std::string& device : core_.get_available_devices()) {
    const CompiledModel compiled = core_.compile_model(network(), device);
    write(file, exported(compiled));
    const std::vector<float> expected = infer(compiled, kImage());
    const CompiledModel imported = core_.import_model(file, device);
    EXPECT_FALSE(imported.get_property(loaded_from_cache)) << "it came from no cache";
    EXPECT_EQ(infer(imported, kImage()), expected);
    EXPECT_EQ(infer(core_.import_model(file.string(), device, num_streams(1)), kImage()), expected);
    EXPECT_EQ(infer(core_.import_model(file.c_str(), device), kImage()), expected);
  }
  EXPECT_EQ(caught([&] { core_.import_model(folder_ / "none.blob", "CPU"); }).code(), ErrorCode::file_not_found);
  write(file, "foreign");
  const Exception error = caught([&] { core_.import_model(file, "CPU"); });
  EXPECT_EQ(error.code(), ErrorCode::parse_error);
  EXPECT_NE(std::string(error.what()).find("'" + file.string() + "' for CPU"), std::string::npos) << error.what();
}

TEST_F(Cache, KnowsFilesWithoutReadingThem) {
  fs::create_directories(folder_ / "model");
  const std::string xml = folder_ / "model" / "network.xml", moved = folder_ / "model" / "moved.xml";
  serialize(network(), xml);
  const std::vector<float> expected = infer(core_.compile_model(xml, "CPU", cached_), kImage());
  fs::rename(xml, moved);
  fs::rename(folder_ / "model" / "network.bin", folder_ / "model" / "moved.bin");
  EXPECT_EQ(infer(core_.compile_model(moved, "CPU", cached_), kImage()), expected);
  EXPECT_EQ(files().size(), 2U) << "the folder of the model and one file";
  // One weight another: another model.
  std::string weights = read(folder_ / "model" / "moved.bin");
  weights[weights.size() / 2] = static_cast<char>(weights[weights.size() / 2] ^ 64);
  write(folder_ / "model" / "moved.bin", weights);
  EXPECT_NE(infer(core_.compile_model(moved, "CPU", cached_), kImage()), expected);
  EXPECT_EQ(files().size(), 3U);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(Cache, MayLeaveWeightsWhereTheyAre) {
  fs::create_directories(folder_ / "model");
  const std::string xml = folder_ / "model" / "network.xml";
  const fs::path bin = folder_ / "model" / "network.bin";
  serialize(network(), xml);
  AnyMap small = cached_;
  small.insert(cache_mode(CacheMode::OPTIMIZE_SIZE));
  for (const std::string& device : core_.get_available_devices()) {
    const std::vector<float> expected = infer(core_.compile_model(xml, device), kImage());
    const CompiledModel first = core_.compile_model(xml, device, small);
    EXPECT_EQ(infer(first, kImage()), expected);
    const CompiledModel second = core_.compile_model(xml, device, small);
    EXPECT_TRUE(second.get_property(loaded_from_cache));
    EXPECT_EQ(second.get_property(cache_mode), CacheMode::OPTIMIZE_SIZE);
    EXPECT_EQ(infer(second, kImage()), expected);
  }
  ASSERT_EQ(files().size(), 2U) << "the folder of the model, and one file for all devices";
  for (const fs::path& file : files()) {
    if (fs::is_regular_file(file)) {
      EXPECT_LT(fs::file_size(file), fs::file_size(bin) / 4);
    }
  }
  const std::vector<float> before = infer(core_.compile_model(xml, "CPU", small), kImage());
  std::string weights = read(bin);
  weights[weights.size() / 2] = static_cast<char>(weights[weights.size() / 2] ^ 64);
  write(bin, weights);
  const CompiledModel changed = core_.compile_model(xml, "CPU", small);
  EXPECT_FALSE(changed.get_property(loaded_from_cache));
  EXPECT_NE(infer(changed, kImage()), before);
  core_.compile_model(network(), "CPU", small);
  EXPECT_EQ(files().size(), 3U) << "models that are no files are not kept";
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(Cache, TellsSettingsAndModelsApart) {
  core_.compile_model(network(), "CPU", cached_);
  AnyMap accurate = cached_;
  accurate.insert(hint::execution_mode(hint::ExecutionMode::ACCURACY));
  core_.compile_model(network(), "CPU", accurate);
  core_.compile_model(network({1, 3, 41, 40}), "CPU", cached_);
  core_.compile_model(network(), "INTERPRETER", cached_);
  EXPECT_EQ(files().size(), 4U);
  AnyMap threads = cached_;
  threads.insert(inference_num_threads(1));
  core_.compile_model(network(), "CPU", threads);
  EXPECT_EQ(files().size(), 4U) << "threads do not matter";
}

TEST_F(Cache, TellsPassesThatAreLeftOutApart) {
  const auto layers = [&](bool from_cache) {
    const CompiledModel compiled = core_.compile_model(network(), "CPU", cached_);
    EXPECT_EQ(compiled.get_property(loaded_from_cache), from_cache);
    return compiled.get_runtime_model()->get_ops().size();
  };
  const size_t all_passes = layers(false);
  ASSERT_EQ(::setenv("TERROIR_DISABLE_PASS", "fuse_post_ops", 1), 0);
  EXPECT_GT(layers(false), all_passes);
  EXPECT_GT(layers(true), all_passes);
  ::unsetenv("TERROIR_DISABLE_PASS");
  EXPECT_EQ(layers(true), all_passes);
}

TEST_F(Cache, TellsStrictReadingApart) {
  ModelBuilder b("lenient");
  b.result(b.op("Elu", "opset1", {b.parameter(element::f32, {2}, "x")}, {{"alpha", 1.f}}));
  const fs::path xml = folder_ / "lenient.xml";
  fs::create_directories(folder_);
  serialize(b.build(), xml.string(), (folder_ / "lenient.bin").string());
  std::string text = read(xml);
  text.replace(text.find(" alpha="), 1, " beta=\"7\" ");
  write(xml, text);
  AnyMap strict = cached_;
  strict.insert(strict_reading(true));
  for (int round = 0; round < 2; ++round) {
    EXPECT_THROW(core_.compile_model(xml.string(), "CPU", strict), Exception) << round;
    EXPECT_NO_THROW(core_.compile_model(xml.string(), "CPU", cached_));
  }
}

TEST_F(Cache, DamageCostsOneWarning) {
  const std::vector<float> expected = infer(core_.compile_model(network(), "CPU", cached_), kImage());
  ASSERT_EQ(files().size(), 1U);
  const fs::path file = files()[0];
  const std::string good = read(file);
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  for (const std::string& bad : {flipped, good.substr(0, good.size() / 2), std::string(), std::string("foreign"),
                                 std::string(good.size(), '\0')}) {
    write(file, bad);
    warnings_.clear();
    EXPECT_EQ(infer(core_.compile_model(network(), "CPU", cached_), kImage()), expected);
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_EQ(read(file), good) << "the model was compiled anew and stored";
  }
}

TEST_F(Cache, ThatCannotBeWritten) {
  write(folder_.string(), "a file where the folder should be");
  EXPECT_FALSE(infer(core_.compile_model(network(), "CPU", cached_), kImage()).empty());
  EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(Cache, ServesSeveralAtOnce) {
  const std::vector<float> expected = infer(core_.compile_model(network(), "CPU"), kImage());
  std::vector<std::vector<float>> results(6);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results)
      threads.emplace_back([&] {
        Core core;
        for (int i = 0; i < 3; ++i) result = infer(core.compile_model(network(), "CPU", cached_), kImage());
      });
  }
  for (const auto& result : results) EXPECT_EQ(result, expected);
  EXPECT_EQ(files().size(), 1U) << "no half-written file stays";
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

}  // namespace
}  // namespace terroir
