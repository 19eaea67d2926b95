// read(write(g)) == g, for models made by hand and for the shared ones; files appear whole or not at all.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ir/graph/infer.hpp"
#include "ir/text/diff.hpp"
#include "ir/text/printer.hpp"
#include "ir/xml/writer.hpp"
#include "ops/registry.hpp"
#include "tests/unit/toy_models.hpp"
#include "tests/unit/toy_nodes.hpp"

namespace terroir::ir {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::unique_ptr<Graph> read_back(const ModelText& text, const OpRegistry& registry, ReaderOptions options = {}) {
  auto owner = std::make_shared<std::string>(text.weights);
  return read_model_from_memory(text.xml, owner, reinterpret_cast<const std::byte*>(owner->data()), owner->size(),
                                registry, options);
}

/// Written and read again it is the same, written once more it is the same text.
void expect_round_trip(const Graph& graph, const OpRegistry& registry = toy_registry()) {
  const ModelText text = write_model(graph);
  ReaderOptions strict;
  strict.strict = true;
  strict.on_warning = [](const std::string& warning) { ADD_FAILURE() << warning; };
  const auto again = read_back(text, registry, strict);
  std::string difference;
  EXPECT_TRUE(equal(graph, *again, &difference)) << difference;
  const ModelText second = write_model(*again);
  EXPECT_EQ(second.xml, text.xml);
  EXPECT_EQ(second.weights, text.weights);
}

TEST(Writer, KeepsNamesAttributesAndRuntimeInformation) {
  Graph graph("a <model> & \"more\"");
  const NodeId x = parameter_node(graph, "x\t\n'y", "[?,3,1..64,..5,7..]");
  ToyAttrs attrs;
  attrs.count = INT64_MIN;
  attrs.scale = 0.1;
  attrs.mode = ToyMode::second;
  attrs.label = " <tab\t> \r\n \x01 \xC3\xA9 ";
  attrs.to = element::u1;
  attrs.form = PartialShape::dynamic();
  attrs.steps = {};
  attrs.factors = {};
  attrs.words = {"sigmoid", "tanh"};
  const NodeId toy = graph.add(schema("Toy"), "toy", make_attributes_of(attrs), {{x, 0}, {x, 0}});
  graph.node(toy).outputs[0].names = {"", "a,b", "back\\slash", "c"};
  graph.node(toy).outputs[0].names.erase(graph.node(toy).outputs[0].names.begin());
  graph.node(toy).rt_info["fused_names"] = {{"value", "a,b"}, {"version", "0"}};
  graph.node(toy).rt_info["user_data/a\\/b"] = {{"value", "1"}, {"version", ""}};
  graph.node(toy).rt_info["user_data/a\\/b/c"] = {{"value", "2"}, {"version", ""}};
  graph.node(toy).outputs[0].rt_info["layout"] = {{"layout", "[N,C,...]"}};
  graph.node(toy).input_rt_info = {{}, {{"x", {}}}};
  graph.add(schema("Result"), "", nullptr, {{toy, 0}});
  graph.rt_info().children = {{"MO_version", {"x", {}}}, {"a b", {"", {{"info", {"v", {}}}, {"k", {"", {}}}}}}};
  infer_graph(graph);
  expect_round_trip(graph);
}

TEST(Writer, KeepsOrderOfInputsOutputsAndStates) {
  Graph graph;
  const NodeId a = parameter_node(graph, "a", "[2]");
  const NodeId deep = graph.add(schema("ReLU"), "deep", nullptr, {{a, 0}});
  const NodeId deeper = graph.add(schema("ReLU"), "deeper", nullptr, {{deep, 0}});
  graph.add(schema("Result"), "first", nullptr, {{deeper, 0}});
  graph.add(schema("Result"), "second", nullptr, {{a, 0}});
  const auto variable = [](const char* id) { return make_attributes_of(ToyVariableAttrs{id}); };
  graph.add(schema("Assign"), "late", variable("v"), {{deeper, 0}});
  graph.add(schema("Assign"), "soon", variable("w"), {{a, 0}});
  parameter_node(graph, "unused", "[2]");
  const NodeId b = parameter_node(graph, "b", "[2]");
  graph.add(schema("Result"), "third", nullptr, {{b, 0}});
  infer_graph(graph);
  expect_round_trip(graph);
}

TEST(Writer, StoresConstantsOfEveryTypeAndEqualOnesOnce) {
  Graph graph;
  const auto add = [&](Constant value) {
    const NodeId id = graph.add_constant(schema("Const"), "c", std::move(value));
    graph.add(schema("Result"), "r", nullptr, {{id, 0}});
  };
  add(constant<uint8_t>(element::u8, {3}, {1, 2, 3}));
  add(constant<float>(element::f32, {}, {-0.0F}));
  add(constant<double>(element::f64, {1, 2}, {1, 2}));
  add(constant<int64_t>(element::i64, {40}, std::vector<int64_t>(40, 7)));
  add(constant<int64_t>(element::i64, {40}, std::vector<int64_t>(40, 7)));
  add(constant<uint8_t>(element::i4, {3}, {0x21, 0x03}));
  add(constant<uint8_t>(element::u1, {9}, {0xFF, 0x80}));
  add(constant<uint8_t>(element::boolean, {2}, {1, 0}));
  add(constant<std::string>(element::string, {2, 1}, {"", "text\0more"}));
  add(constant<std::string>(element::string, {0}, {}));
  add(constant<float>(element::f32, {0, 3}, {}));
  add(constant<uint8_t>(element::f8e4m3, {2}, {1, 255}));
  infer_graph(graph);
  expect_round_trip(graph);
  const ModelText text = write_model(graph);
  const size_t first = text.weights.find(bytes_of<int64_t>(std::vector<int64_t>(40, 7)));
  EXPECT_EQ(first % 64, 0U);
  EXPECT_EQ(text.weights.find(bytes_of<int64_t>(std::vector<int64_t>(40, 7)), first + 1), std::string::npos);
  EXPECT_LT(text.weights.size(), 64U + 320U + 64U + 128U);
}

TEST(Writer, StoresNibblesAsTheModelsReleaseDid) {
  Graph graph;
  const NodeId id = graph.add_constant(schema("Const"), "c", constant<uint8_t>(element::u4, {2}, {0x21}));
  graph.add(schema("Result"), "r", nullptr, {{id, 0}});
  graph.rt_info().children = {{"Runtime_version", {"2023.0", {}}}};
  infer_graph(graph);
  EXPECT_EQ(write_model(graph).weights, "\x12");
  expect_round_trip(graph);
}

TEST(Writer, RefusesWhatFilesCannotHold) {
  const auto attempt = [](auto change) {
    Graph graph;
    const NodeId x = parameter_node(graph, "x", "[2]");
    graph.add(schema("Result"), "r", nullptr, {{x, 0}});
    infer_graph(graph);
    change(graph, graph.node(x));
    return write_model(graph);
  };
  EXPECT_NO_THROW(attempt([](Graph&, Node&) {}));
  EXPECT_THROW(attempt([](Graph&, Node& x) { x.name = std::string("a\0b", 3); }), Exception);
  EXPECT_THROW(attempt([](Graph&, Node& x) { x.outputs[0].names = {"a\\"}; }), Exception);
  EXPECT_THROW(attempt([](Graph&, Node& x) { x.rt_info["a"]["b c"] = "d"; }), Exception);
}

TEST(Writer, KeepsBodies) {
  const fs::path shared = TERROIR_SHARED_DIR;
  int count = 0;
  for (const char* op : {"TensorIterator-1", "Loop-5", "If-8"}) {
    const fs::path folder = shared / "conformance" / op;
    if (!fs::exists(folder)) GTEST_SKIP() << "no shared conformance models in " << folder;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::unique_ptr<Graph> graph;
      try {
        graph = read_model((entry.path() / "model.xml").string(), "", ops::builtin_registry());
      } catch (const Exception& error) {
        ASSERT_NE(error.code(), ErrorCode::parse_error) << error.what();
        continue;
      }
      SCOPED_TRACE(entry.path().string());
      expect_round_trip(*graph, ops::builtin_registry());
      ++count;
    }
  }
  EXPECT_GT(count, 0);
}

struct Tally {
  int same = 0, refused = 0;
};

void round_trip_file(const fs::path& path, Tally& tally) {
  SCOPED_TRACE(path.string());
  std::unique_ptr<Graph> graph;
  try {
    ReaderOptions options;
    options.on_warning = [](const std::string&) {};
    graph = read_model(path.string(), "", ops::builtin_registry(), options);
  } catch (const Exception& error) {
    // What an operation cannot do (yet) is no matter of reader and writer; the conformance tests tell.
    EXPECT_NE(error.code(), ErrorCode::parse_error) << error.what();
    ++tally.refused;
    return;
  }
  expect_round_trip(*graph, ops::builtin_registry());
  ++tally.same;
}

TEST(WriterShared, RealModelsComeBackAsTheyWere) {
  const fs::path folder = fs::path(TERROIR_SHARED_DIR) / "models";
  if (!fs::exists(folder)) GTEST_SKIP() << "no shared models: set TERROIR_SHARED_DIR";
  Tally tally;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".xml") round_trip_file(entry.path(), tally);
  EXPECT_GE(tally.same, 3) << tally.refused << " refused";
}

TEST(WriterShared, EveryTenthConformanceModelComesBackAsItWas) {
  const fs::path folder = fs::path(TERROIR_SHARED_DIR) / "conformance";
  if (!fs::exists(folder)) GTEST_SKIP() << "no shared conformance models: set TERROIR_SHARED_DIR";
  std::vector<fs::path> models;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename() == "model.xml") models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  Tally tally;
  for (size_t i = 0; i < models.size(); i += 10) round_trip_file(models[i], tally);
  EXPECT_GT(tally.same, 0);
  RecordProperty("same", tally.same);
  RecordProperty("refused", tally.refused);
  std::cout << tally.same << " models came back as they were, " << tally.refused
            << " were refused by their operations\n";
}

class WriterFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("terroir_writer_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const NodeId c = graph_.add_constant(schema("Const"), "c", constant<float>(element::f32, {2}, {1, 2}));
    graph_.add(schema("Result"), "r", nullptr, {{c, 0}});
    infer_graph(graph_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
  Graph graph_{"m"};
};

TEST_F(WriterFiles, WritesAPairThatReadsBack) {
  const std::string xml = (folder_ / "model.xml").string();
  write_model(graph_, xml);
  EXPECT_EQ(files(), (std::vector<std::string>{"model.bin", "model.xml"}));
  std::string difference;
  auto again = read_model(xml, "", toy_registry());
  EXPECT_TRUE(equal(graph_, *again, &difference)) << difference;
  // Over its own files: the mapping of the old ones stays.
  EXPECT_NO_THROW(write_model(*again, xml));
  EXPECT_TRUE(equal(graph_, *again, &difference)) << difference;
  EXPECT_TRUE(equal(graph_, *read_model(xml, "", toy_registry()), &difference)) << difference;
}

TEST_F(WriterFiles, LeavesNothingHalfWritten) {
  const fs::path xml = folder_ / "model.xml", bin = folder_ / "model.bin";
  std::ofstream(xml) << "before";
  graph_.node(graph_.results()[0]).name = std::string("\0", 1);
  EXPECT_THROW(write_model(graph_, xml.string()), Exception);
  EXPECT_EQ(files(), std::vector<std::string>{"model.xml"});
  std::string content;
  std::ifstream(xml) >> content;
  EXPECT_EQ(content, "before");
  EXPECT_THROW(write_model(graph_, (folder_ / "none" / "model.xml").string()), Exception);
  EXPECT_THROW(write_model(graph_, xml.string(), xml.string()), Exception);
  graph_.node(graph_.results()[0]).name = "r";
  fs::create_directories(bin / "inside");  // a folder in the way
  EXPECT_THROW(write_model(graph_, xml.string()), Exception);
  EXPECT_EQ(files(), (std::vector<std::string>{"model.bin", "model.xml"}));
}

}  // namespace
}  // namespace terroir::ir
