// Files that are nearly models. Whatever the bytes are, reading gives a graph or a terroir::Exception: no crash, no
// hang, no other exception, and a graph that was read is sound and can be written and read again.
//
// Deterministic: every file follows from its seed, which a failure prints. TERROIR_FUZZ_SEED=n runs that one alone;
// TERROIR_FUZZ_SECONDS=s (default 5) bounds each test's time, TERROIR_FUZZ_ROUNDS=n (default 20000) the number of
// files.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ir/graph/verify.hpp"
#include "ir/text/diff.hpp"
#include "ir/text/printer.hpp"
#include "ir/xml/writer.hpp"
#include "ops/registry.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

struct Model {
  std::string xml, weights;
};

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

Model mutated(const Model& seed_model, Random& random) {
  Model model = seed_model;
  const size_t changes = 1 + random.below(4);
  for (size_t i = 0; i < changes; ++i) mutate_xml(model.xml, random);
  if (random.below(4) == 0) model.weights.resize(random.below(model.weights.size() + 1));
  if (!model.weights.empty() && random.below(4) == 0)
    model.weights[random.below(model.weights.size())] = static_cast<char>(random.next());
  return model;
}

std::unique_ptr<Graph> read_quietly(const Model& model, const OpRegistry& registry) {
  // Exactly as large as the file, in the heap, so that a sanitizer sees a read past the end.
  auto owner = std::shared_ptr<std::byte[]>(new std::byte[model.weights.size()]);
  if (!model.weights.empty()) std::memcpy(owner.get(), model.weights.data(), model.weights.size());
  ReaderOptions options;
  options.on_warning = [](const std::string&) {};
  return read_model_from_memory(model.xml, owner, owner.get(), model.weights.size(), registry, options);
}

/// A sentence about what went wrong, or nothing.
std::string check(const Model& model, const OpRegistry& registry, bool& was_read) {
  std::unique_ptr<Graph> graph;
  was_read = false;
  try {
    graph = read_quietly(model, registry);
  } catch (const Exception& error) {
    return std::string(error.what()).empty() ? "an exception without text" : "";
  } catch (const std::exception& error) {
    return std::string("an exception of another kind: ") + error.what();
  } catch (...) {
    return "an exception of another kind";
  }
  was_read = true;
  for (const std::string& problem : verify(*graph)) return "the graph is not sound: " + problem;
  to_text(*graph);
  try {
    const ModelText text = write_model(*graph);
    const auto again = read_quietly({text.xml, text.weights}, registry);
    std::string difference;
    if (!equal(*graph, *again, &difference)) return "written and read again it differs: " + difference;
  } catch (const Exception& error) {
    // The only graphs that can be read and not written have tensor names that end in a backslash.
    if (error.code() != ErrorCode::unsupported)
      return std::string("it cannot be written and read again: ") + error.what();
  }
  return "";
}

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

void fuzz(const std::vector<Model>& seeds, const OpRegistry& registry) {
  ASSERT_FALSE(seeds.empty());
  bool was_read = false;
  for (size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_EQ(check(seeds[i], registry, was_read), "") << "seed model " << i;
    EXPECT_TRUE(was_read) << "seed model " << i << " must be sound";
  }
  const int64_t only = setting("TERROIR_FUZZ_SEED", -1);
  const int64_t rounds = only >= 0 ? only + 1 : setting("TERROIR_FUZZ_ROUNDS", 20000);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(setting("TERROIR_FUZZ_SECONDS", 5));
  int64_t done = 0, sound = 0;
  for (int64_t seed = std::max<int64_t>(only, 0); seed < rounds; ++seed) {
    if (seed % 64 == 0 && std::chrono::steady_clock::now() > deadline) break;
    Random random(static_cast<uint64_t>(seed));
    const Model model = mutated(seeds[random.below(seeds.size())], random);
    const auto start = std::chrono::steady_clock::now();
    const std::string problem = check(model, registry, was_read);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    ++done;
    sound += was_read ? 1 : 0;
    ASSERT_EQ(problem, "") << "TERROIR_FUZZ_SEED=" << seed << "\n" << model.xml;
    ASSERT_LT(taken.count(), 5.0) << "too slow: TERROIR_FUZZ_SEED=" << seed << "\n" << model.xml;
  }
  std::cout << done << " files, " << sound << " of them models\n";
  EXPECT_TRUE(only >= 0 || sound > 0) << "the changes are too violent to reach the graph";
  EXPECT_TRUE(only >= 0 || sound < done) << "the changes are too mild to be refused";
}

std::vector<Model> toy_seeds() {
  std::vector<Model> seeds;
  seeds.push_back({around(relu()), ""});
  seeds.push_back(
      {around(relu(), 10,
              "<pre-process reference-layer-name=\"Parameter0\"><channel id=\"0\"><mean value=\"1\"/></channel>"
              "<channel id=\"1\"><mean value=\"2\"/></channel><channel id=\"2\"><mean value=\"2\"/></channel>"
              "</pre-process>"),
       ""});
  seeds.push_back(
      {around(
           layer(1, "Toy",
                 "count=\"7\" scale=\"1e-3\" flag=\"true\" mode=\"second\" label=\"a,b\" to=\"f16\" form=\"?,2,1..4\" "
                 "steps=\"1, 2,-3\" factors=\"0.5\" words=\"sigmoid, tanh\"",
                 port(0, {2, 3}), port(1, {2, 3}, "names=\"a,b\\,c\"")),
           11,
           "<rt_info><Runtime_version value=\"2023.1\"/><a><b value=\"c\"/><info name=\"d e\" "
           "value=\"f\"/></a></rt_info>"),
       ""});
  seeds.push_back(
      {net(layer(0, "Const", "element_type=\"f32\" shape=\"2,3\" offset=\"0\" size=\"24\"", "", port(0, {2, 3})) +
               layer(1, "Const", "element_type=\"u4\" shape=\"5\" offset=\"24\" size=\"3\"", "",
                     port(0, {5}, "", "U4")) +
               layer(2, "Const", "element_type=\"string\" shape=\"2\" offset=\"27\" size=\"19\"", "",
                     port(0, {2}, "", "STRING")) +
               parameter(3) +
               layer(4, "Add", "auto_broadcast=\"numpy\"", port(0, {2, 3}) + port(1, {2, 3}), port(2, {2, 3})) +
               result(5) + layer(6, "Result", "", port(0, {5}, "", "U4"), "") +
               layer(7, "Result", "", port(0, {2}, "", "STRING"), "") +
               layer(8, "Assign", "variable_id=\"v\"", port(0, {2, 3}), port(1, {2, 3}), "opset6"),
           edge(0, 0, 4, 0) + edge(3, 0, 4, 1) + edge(4, 2, 5, 0) + edge(1, 0, 6, 0) + edge(2, 0, 7, 0) +
               edge(4, 2, 8, 0)),
       std::string(27, '\1') + bytes_of<int32_t>({2, 0, 1, 3}) + "abc"});
  const std::string branch = "<layers>" + parameter(0) + relu() + result(2) + "</layers><edges>" + edge(0, 0, 1, 0) +
                             edge(1, 1, 2, 0) + "</edges>";
  const std::string ports =
      "<input external_port_id=\"1\" internal_layer_id=\"0\"/><output external_port_id=\"2\" internal_layer_id=\"2\"/>";
  seeds.push_back({net(layer(0, "Parameter", "shape=\"\" element_type=\"boolean\"", "",
                             "<port id=\"0\" precision=\"BOOL\"></port>") +
                           parameter(1) +
                           "<layer id=\"2\" name=\"If\" type=\"If\" version=\"opset8\"><input><port id=\"0\"></port>" +
                           port(1, {2, 3}) + "</input><output>" + port(2, {2, 3}) + "</output><then_port_map>" + ports +
                           "</then_port_map><else_port_map>" + ports + "</else_port_map><then_body>" + branch +
                           "</then_body><else_body>" + branch + "</else_body></layer>\n" + result(3),
                       edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0)),
                   ""});
  seeds.push_back({net(parameter(0) + parameter(1, "2,1", {2, 1}) +
                           "<layer id=\"2\" name=\"t\" type=\"TensorIterator\" version=\"opset1\"><input>" +
                           port(0, {2, 3}) + port(1, {2, 1}) + "</input><output>" + port(2, {2, 3}) +
                           "</output><port_map><input external_port_id=\"0\" internal_layer_id=\"0\" axis=\"1\" "
                           "start=\"0\" end=\"-1\" "
                           "stride=\"1\" part_size=\"1\"/><input external_port_id=\"1\" internal_layer_id=\"1\"/>"
                           "<output external_port_id=\"2\" internal_layer_id=\"3\" axis=\"1\"/></port_map>"
                           "<back_edges><edge from-layer=\"3\" to-layer=\"1\"/></back_edges><body><layers>" +
                           parameter(0, "2,1", {2, 1}) + parameter(1, "2,1", {2, 1}) +
                           layer(2, "Add", "", port(0, {2, 1}) + port(1, {2, 1}), port(2, {2, 1})) + result(3, {2, 1}) +
                           "</layers><edges>" + edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0) +
                           "</edges></body></layer>\n" + result(3),
                       edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0)),
                   ""});
  return seeds;
}

TEST(ReaderFuzz, ToyModels) { fuzz(toy_seeds(), toy_registry()); }

/// The library's own operations, so that attributes, validation and inference of every op meet nonsense, too.
TEST(ReaderFuzz, OperationsOfTheLibrary) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(TERROIR_SHARED_DIR) / "conformance";
  if (!fs::exists(folder)) GTEST_SKIP() << "no shared conformance models: set TERROIR_SHARED_DIR";
  constexpr uintmax_t kMostBytes = 16384;
  constexpr int kPerOp = 3;
  const auto content = [](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::vector<fs::path> ops;
  for (const auto& op : fs::directory_iterator(folder))
    if (op.is_directory()) ops.push_back(op.path());
  std::sort(ops.begin(), ops.end());
  std::vector<Model> seeds;
  for (const fs::path& op : ops) {
    std::vector<fs::path> cases;
    for (const auto& entry : fs::directory_iterator(op)) cases.push_back(entry.path());
    std::sort(cases.begin(), cases.end());
    int taken = 0;
    for (const fs::path& folder_of_case : cases) {
      const fs::path xml = folder_of_case / "model.xml", bin = folder_of_case / "model.bin";
      if (taken == kPerOp || !fs::exists(bin) || fs::file_size(xml) > kMostBytes || fs::file_size(bin) > kMostBytes)
        continue;
      Model model{content(xml), content(bin)};
      try {
        read_quietly(model, ops::builtin_registry());
      } catch (const Exception&) {
        continue;  // an operation still to come
      }
      seeds.push_back(std::move(model));
      ++taken;
    }
  }
  fuzz(seeds, ops::builtin_registry());
}

}  // namespace
}  // namespace terroir::ir
