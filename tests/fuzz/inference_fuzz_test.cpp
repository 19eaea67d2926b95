// Models with a few changes, compiled and run on inputs of which some are extreme: whatever they ask for, there are
// results or a terroir::Exception with a text, and no crash, no hang, no other exception, on the CPU device with one
// thread and with two, and on the interpreter.
//
// Deterministic: every model and input follows from its seed, which a failure prints; for the settings see
// changed_model.hpp. Most is found with a sanitizer (preset asan) and TERROIR_FUZZ_SECONDS=600.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <limits>
#include <regex>

#include "ir/xml/writer.hpp"
#include "ops/registry.hpp"
#include "terroir/terroir.hpp"
#include "tests/fuzz/changed_model.hpp"
#include "tests/ops/case_check.hpp"

namespace terroir {
namespace {

using namespace test;

/// The cases of all operations, but for loops, which may run for as long as they are told to.
std::vector<ModelFiles> models_of_cases() {
  std::vector<std::string> errors;
  std::vector<ModelFiles> models;
  for (const Case& one : load_case_files(TERROIR_SOURCE_DIR "/tests/ops", errors)) {
    if (one.error || one.run_error || one.op.starts_with("Loop") || one.op.starts_with("TensorIterator")) continue;
    ir::ModelText text = ir::write_model(*graph_of(one, ops::builtin_registry()));
    models.push_back({std::move(text.xml), std::move(text.weights)});
  }
  EXPECT_TRUE(errors.empty()) << errors.front();
  return models;
}

/// Some constants become inputs: else all would be computed when the model is compiled.
void open_constants(std::string& xml, Random& random) {
  static const std::regex place(" offset=\"[0-9]+\" size=\"[0-9]+\"");
  const std::string constant = "type=\"Const\"";
  int chance = 80;
  for (size_t at = xml.find(constant); at != std::string::npos; at = xml.find(constant, at + 1), chance = 40) {
    if (!random.chance(chance)) continue;
    const size_t end = xml.find("</layer>", at);
    const std::string layer = xml.substr(at, end - at);
    xml.replace(at, end - at, "type=\"Parameter\"" + std::regex_replace(layer.substr(constant.size()), place, ""));
  }
}

template <typename T>
void fill_numbers(Tensor& tensor, Random& random, std::initializer_list<T> extremes) {
  const bool tame = random.chance(70);
  T* const values = tensor.data<T>();
  for (size_t i = 0; i < tensor.get_size(); ++i) {
    const bool extreme = !tame && random.chance(20);
    values[i] = extreme ? *(extremes.begin() + random.below(extremes.size())) : static_cast<T>(random.below(6));
    if (!tame && !extreme && random.chance(20)) values[i] = static_cast<T>(-values[i]);
  }
}

void fill(Tensor& tensor, Random& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const element::Type type = tensor.get_element_type();
  if (type == element::f32) {
    fill_numbers<float>(tensor, random, {kInfinity, -kInfinity, kNan, 1e30f, -1e30f, 1e-40f, -0.0f, 3e9f, 0.5f});
  } else if (type == element::i64) {
    fill_numbers<int64_t>(tensor, random, {-1, INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, 500, -100, 40});
  } else if (type == element::i32) {
    fill_numbers<int32_t>(tensor, random, {-1, INT32_MIN, INT32_MAX, 500, -100, 40});
  } else if (type == element::string) {
    static const std::string kTexts[] = {"", "a", "hello world", "\xff\xfe", "123456789012345678901234567890"};
    for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<std::string>()[i] = kTexts[random.below(5)];
  } else {
    auto* bytes = static_cast<uint8_t*>(tensor.data());
    const bool tame = type == element::boolean || random.chance(50);
    for (size_t i = 0; i < tensor.get_byte_size(); ++i)
      bytes[i] = static_cast<uint8_t>(tame ? random.below(2) : random.below(256));
  }
}

Shape shape_of(const PartialShape& asked, Random& random) {
  Shape shape;
  if (asked.rank().is_dynamic()) {
    for (size_t axes = random.below(5); axes > 0; --axes) shape.push_back(random.below(5));
    return shape;
  }
  for (const Dimension& extent : asked) {
    const int64_t wanted = random.between(0, 5), most = extent.get_max_length();
    const int64_t length = std::max(extent.get_min_length(), wanted);
    shape.push_back(static_cast<size_t>(most < 0 ? length : std::min(most, length)));
  }
  return shape;
}

enum class End { refused, ran };

End run(Core& core, const ModelFiles& model, Random random) {
  constexpr size_t kMostElements = 1 << 20;
  constexpr uint64_t kMostMemory = 256 << 20;
  try {
    Tensor weights(element::u8, {model.weights.size()});
    std::copy(model.weights.begin(), model.weights.end(), static_cast<char*>(weights.data()));
    const auto read = core.read_model(model.xml, weights);
    const auto threads = static_cast<int32_t>(1 + random.below(2));
    CompiledModel compiled =
        random.chance(20) ? core.compile_model(read, "INTERPRETER")
                          : core.compile_model(read, "CPU", inference_num_threads(threads), memory_limit(kMostMemory));
    InferRequest request = compiled.create_infer_request();
    for (int round = 0; round < 2; ++round) {
      for (const auto& input : compiled.inputs()) {
        const element::Type type = input.get_element_type().is_dynamic() ? element::f32 : input.get_element_type();
        const Shape shape = shape_of(input.get_partial_shape(), random);
        double elements = 1;
        for (const size_t extent : shape) elements *= static_cast<double>(extent);
        if (elements > kMostElements) return End::refused;  // by this test
        Tensor tensor(type, shape);
        fill(tensor, random);
        request.set_tensor(input, tensor);
      }
      request.infer();
    }
    return End::ran;
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()), "");
    return End::refused;
  }
}

/// Requests for more memory fail while this lives, as they do where a machine has no more.
class LittleMemory {
 public:
  LittleMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these reserve much more than they use
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit little{rlim_t{2} << 30, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &little);
#endif
  }
  ~LittleMemory() {
    if (before_.rlim_cur != 0) ::setrlimit(RLIMIT_AS, &before_);
  }

 private:
  rlimit before_{};
};

/// Names the seed of a model that does not end and ends the process.
class HangAlarm {
 public:
  explicit HangAlarm(int64_t seed) {
    constexpr unsigned kSeconds = 120;
    seed_ = seed;
    std::signal(SIGALRM, [](int) {
      const std::string text =
          "hangs: TERROIR_FUZZ_SEED=" + std::to_string(seed_) + "\n";  // in vain if it hangs in malloc
      static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()) == 0);
      std::_Exit(1);
    });
    ::alarm(kSeconds);
  }
  ~HangAlarm() { ::alarm(0); }

 private:
  static inline volatile int64_t seed_ = 0;
};

void fuzz(const std::vector<ModelFiles>& seeds) {
  const LittleMemory little;
  Core core;
  int64_t ran = 0;
  const int64_t done = for_each_round([&](int64_t seed) {
    Random random(static_cast<uint64_t>(seed));
    ModelFiles model = seeds[random.below(seeds.size())];
    open_constants(model.xml, random);
    if (!random.chance(30)) model = mutated(model, random);
    const HangAlarm alarm(seed);
    EXPECT_NO_THROW(ran += run(core, model, random) == End::ran) << "TERROIR_FUZZ_SEED=" << seed << "\n" << model.xml;
    return !testing::Test::HasFailure();
  });
  std::cout << done << " models, " << ran << " of them ran\n";
  EXPECT_TRUE(is_single_round() || ran > 0) << "the changes are too violent to run anything";
  EXPECT_TRUE(is_single_round() || ran < done) << "the changes are too mild to be refused";
}

TEST(InferenceFuzz, CasesOfAllOperations) { fuzz(models_of_cases()); }

TEST(InferenceFuzz, ConformanceModels) {
  std::vector<ModelFiles> seeds = conformance_models(8);
  if (seeds.empty()) GTEST_SKIP() << "no shared conformance models: set TERROIR_SHARED_DIR";
  std::erase_if(seeds, [](const ModelFiles& model) {
    return model.xml.find("type=\"Loop\"") != std::string::npos ||
           model.xml.find("type=\"TensorIterator\"") != std::string::npos;
  });
  fuzz(seeds);
}

}  // namespace
}  // namespace terroir
