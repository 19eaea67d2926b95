// Files that are nearly models. Whatever the bytes are, reading gives a graph or a terroir::Exception: no crash, no
// hang, no other exception, and a graph that was read is sound and can be written and read again.
//
// Deterministic: every file follows from its seed, which a failure prints; for the settings see changed_model.hpp.
#include <gtest/gtest.h>

#include <chrono>

#include "ir/graph/verify.hpp"
#include "ir/text/diff.hpp"
#include "ir/text/printer.hpp"
#include "ir/xml/writer.hpp"
#include "ops/registry.hpp"
#include "tests/fuzz/changed_model.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

std::unique_ptr<Graph> read_quietly(const ModelFiles& model, const OpRegistry& registry) {
  // Exactly as large as the file, in the heap, so that a sanitizer sees a read past the end.
  auto owner = std::shared_ptr<std::byte[]>(new std::byte[model.weights.size()]);
  if (!model.weights.empty()) std::memcpy(owner.get(), model.weights.data(), model.weights.size());
  ReaderOptions options;
  options.on_warning = [](const std::string&) {};
  return read_model_from_memory(model.xml, owner, owner.get(), model.weights.size(), registry, options);
}

/// A sentence about what went wrong, or nothing.
std::string check(const ModelFiles& model, const OpRegistry& registry, bool& was_read) {
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

void fuzz(const std::vector<ModelFiles>& seeds, const OpRegistry& registry) {
  ASSERT_FALSE(seeds.empty());
  bool was_read = false;
  for (size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_EQ(check(seeds[i], registry, was_read), "") << "seed model " << i;
    EXPECT_TRUE(was_read) << "seed model " << i << " must be sound";
  }
  int64_t sound = 0;
  const int64_t done = for_each_round([&](int64_t seed) {
    Random random(static_cast<uint64_t>(seed));
    const ModelFiles model = mutated(seeds[random.below(seeds.size())], random);
    const auto start = std::chrono::steady_clock::now();
    const std::string problem = check(model, registry, was_read);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    sound += was_read ? 1 : 0;
    EXPECT_EQ(problem, "") << "TERROIR_FUZZ_SEED=" << seed << "\n" << model.xml;
    EXPECT_LT(taken.count(), 5.0) << "too slow: TERROIR_FUZZ_SEED=" << seed << "\n" << model.xml;
    return !testing::Test::HasFailure();
  });
  std::cout << done << " files, " << sound << " of them models\n";
  EXPECT_TRUE(is_single_round() || sound > 0) << "the changes are too violent to reach the graph";
  EXPECT_TRUE(is_single_round() || sound < done) << "the changes are too mild to be refused";
}

std::vector<ModelFiles> toy_seeds() {
  std::vector<ModelFiles> seeds;
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
  std::vector<ModelFiles> seeds;
  for (ModelFiles& model : conformance_models(3)) {
    try {
      read_quietly(model, ops::builtin_registry());
    } catch (const Exception&) {
      continue;  // refused as it is
    }
    seeds.push_back(std::move(model));
  }
  if (seeds.empty()) GTEST_SKIP() << "no shared conformance models: set TERROIR_SHARED_DIR";
  fuzz(seeds, ops::builtin_registry());
}

}  // namespace
}  // namespace terroir::ir
