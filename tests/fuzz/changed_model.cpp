#include "tests/fuzz/changed_model.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace terroir::test {
namespace {

namespace fs = std::filesystem;

/// Values that have broken readers before.
constexpr std::string_view kValues[] = {"",
                                        "0",
                                        "1",
                                        "-1",
                                        "-2",
                                        "2",
                                        "3",
                                        "7",
                                        "64",
                                        "65",
                                        "255",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "-2147483648",
                                        "4294967296",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551615",
                                        "99999999999999999999",
                                        "1.5",
                                        "nan",
                                        "inf",
                                        "-inf",
                                        "1e308",
                                        "1e999",
                                        "true",
                                        "false",
                                        "?",
                                        "...",
                                        "1..3",
                                        "3..1",
                                        "..",
                                        "-1,-1",
                                        "1,2",
                                        "1,,2",
                                        ",",
                                        "1,2,3,4,5,6,7,8",
                                        "2,3",
                                        "0,0",
                                        "9223372036854775807,9223372036854775807",
                                        "4611686018427387904,2",
                                        "f32",
                                        "i64",
                                        "i4",
                                        "u1",
                                        "f16",
                                        "bf16",
                                        "string",
                                        "boolean",
                                        "dynamic",
                                        "nf4",
                                        "FP32",
                                        "Result",
                                        "Parameter",
                                        "Const",
                                        "Assign",
                                        "If",
                                        "Loop",
                                        "TensorIterator",
                                        "ShapeOf",
                                        "Reshape",
                                        "Concat",
                                        "opset1",
                                        "opset8",
                                        "opset15",
                                        "experimental",
                                        "&amp;",
                                        "&#0;",
                                        "&lt;",
                                        "\\,",
                                        "x\\",
                                        "\xff\xfe",
                                        "same_upper",
                                        "valid",
                                        "numpy",
                                        "pdpd",
                                        "none"};

struct Span {
  size_t begin = 0, size = 0;
};

/// All spans between `open` and the next `close`, delimiters excluded or included.
std::vector<Span> spans(const std::string& text, std::string_view open, std::string_view close, bool inclusive) {
  std::vector<Span> found;
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
    const size_t end = text.find(close, at + open.size());
    if (end == std::string::npos) break;
    if (inclusive)
      found.push_back({at, end + close.size() - at});
    else
      found.push_back({at + open.size(), end - at - open.size()});
  }
  return found;
}

Span pick(const std::vector<Span>& all, Random& random) { return all.empty() ? Span{} : all[random.below(all.size())]; }

void mutate_xml(std::string& xml, Random& random) {
  const auto attributes = [&] { return pick(spans(xml, "=\"", "\"", false), random); };
  const auto element = [&] {
    static constexpr std::pair<const char*, const char*> kElements[] = {
        {"<layer ", "</layer>"}, {"<edge ", "/>"},        {"<port ", "</port>"},     {"<dim>", "</dim>"},
        {"<data ", "/>"},        {"<input>", "</input>"}, {"<output>", "</output>"}, {"<body>", "</body>"}};
    const auto [open, close] = kElements[random.below(std::size(kElements))];
    return pick(spans(xml, open, close, true), random);
  };
  switch (random.below(10)) {
    case 0: {  // a byte
      if (!xml.empty()) xml[random.below(xml.size())] = static_cast<char>(random.next());
      break;
    }
    case 1: {  // cut short
      if (random.below(8) == 0) xml.resize(random.below(xml.size() + 1));
      break;
    }
    case 2:
    case 3:
    case 4: {  // another value
      const Span span = attributes();
      xml.replace(span.begin, span.size, kValues[random.below(std::size(kValues))]);
      break;
    }
    case 5: {  // the value of another attribute
      const Span from = attributes(), to = attributes();
      const std::string value = xml.substr(from.begin, from.size);
      xml.replace(to.begin, to.size, value);
      break;
    }
    case 6: {  // an element less
      const Span span = element();
      xml.erase(span.begin, span.size);
      break;
    }
    case 7: {  // an element twice
      const Span span = element();
      xml.insert(span.begin, xml.substr(span.begin, span.size));
      break;
    }
    case 8: {  // an element elsewhere
      const Span from = element(), to = element();
      const std::string moved = xml.substr(from.begin, from.size);
      xml.replace(to.begin, to.size, moved);
      break;
    }
    default: {  // one digit more or less
      const Span span = attributes();
      if (span.size > 0) xml[span.begin + random.below(span.size)] = static_cast<char>('0' + random.below(10));
      break;
    }
  }
}

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

ModelFiles mutated(const ModelFiles& seed_model, Random& random) {
  ModelFiles model = seed_model;
  const size_t changes = 1 + random.below(4);
  for (size_t i = 0; i < changes; ++i) mutate_xml(model.xml, random);
  if (random.below(4) == 0) model.weights.resize(random.below(model.weights.size() + 1));
  if (!model.weights.empty() && random.below(4) == 0)
    model.weights[random.below(model.weights.size())] = static_cast<char>(random.next());
  return model;
}

bool is_single_round() { return std::getenv("TERROIR_FUZZ_SEED") != nullptr; }

int64_t for_each_round(const std::function<bool(int64_t seed)>& round) {
  const int64_t only = setting("TERROIR_FUZZ_SEED", -1);
  const int64_t rounds = only >= 0 ? only + 1 : setting("TERROIR_FUZZ_ROUNDS", 20000);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(setting("TERROIR_FUZZ_SECONDS", 5));
  int64_t done = 0;
  for (int64_t seed = std::max<int64_t>(only, 0); seed < rounds; ++seed, ++done)
    if ((seed % 16 == 0 && std::chrono::steady_clock::now() > deadline) || !round(seed)) break;
  return done;
}

std::vector<ModelFiles> conformance_models(size_t per_operation) {
  constexpr uintmax_t kMostBytes = 16384;
  const fs::path folder = fs::path(TERROIR_SHARED_DIR) / "conformance";
  std::vector<ModelFiles> models;
  if (!fs::exists(folder)) return models;
  for (const fs::path& op : folders_in(folder)) {
    size_t taken = 0;
    for (const fs::path& example : folders_in(op)) {
      const fs::path xml = example / "model.xml", bin = example / "model.bin";
      if (taken == per_operation || !fs::exists(bin) || fs::file_size(xml) > kMostBytes ||
          fs::file_size(bin) > kMostBytes)
        continue;
      models.push_back({content(xml), content(bin)});
      ++taken;
    }
  }
  return models;
}

}  // namespace terroir::test
