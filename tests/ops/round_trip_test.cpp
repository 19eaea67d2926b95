// Every operation, in every form that its cases know: written as IR and read again it is the same. As version 10, too,
// where that version can express it; else the layer is named.
#include <gtest/gtest.h>

#include <set>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "tests/ops/round_trip.hpp"

namespace terroir::test {
namespace {

const ir::OpRegistry& registry() { return ops::builtin_registry(); }

/// These are in round_trip_bodies_test.cpp.
const std::set<std::string> kWithBodies = {"If-8", "Loop-5", "TensorIterator-1"};

TEST(RoundTrip, EveryOperation) {
  std::set<std::string> written;
  for (const Case& c : cases_that_infer()) {
    SCOPED_TRACE(c.where());
    const auto graph = graph_of(c, registry());
    try {
      const ir::ModelText text = ir::write_model(*graph);
      const auto again = read_back(text);
      expect_same(*graph, *again);
      EXPECT_EQ(ir::write_model(*again).xml, text.xml);
    } catch (const Exception& error) {
      ADD_FAILURE() << error.what();
    }
    for (const ir::NodeId id : graph->nodes()) written.insert(graph->node(id).schema->display_name());
  }
  for (const ir::OpSchema* schema : registry().all()) {
    const std::string op = schema->display_name();
    EXPECT_TRUE(written.contains(op) || kWithBodies.contains(op)) << op << " is in no model of this test";
  }
}

TEST(RoundTrip, Version10WhereItCanExpressTheOperation) {
  int same = 0, refused = 0;
  for (const Case& c : cases_that_infer()) {
    SCOPED_TRACE(c.where());
    const auto graph = graph_of(c, registry());
    express_ends(*graph);
    try {
      const auto again = read_back(ir::write_model(*graph, ir::IrVersion::v10));
      EXPECT_EQ(again->ir_version(), 10);
      EXPECT_TRUE(is_expressible(*graph));
      expect_same(*graph, *again);
      ++same;
    } catch (const Exception& error) {
      EXPECT_FALSE(is_expressible(*graph)) << error.what();
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      const std::string text = error.what();
      EXPECT_NE(text.find("version 10"), std::string::npos) << text;
      const bool named = text.find("'" + c.name + "'") != std::string::npos || text.find("'in") != std::string::npos;
      EXPECT_TRUE(named) << text;
      ++refused;
    }
  }
  EXPECT_GT(same, 1000);
  EXPECT_GT(refused, 200);
}

TEST(RoundTrip, Version10RefusesEndsOfOtherTypesByName) {
  const auto error_of = [](element::Type from, element::Type to) -> std::string {
    ir::Graph graph;
    const ir::NodeId x = graph.add(registry().get("Parameter", "opset1"), "x",
                                   ir::make_attributes_of(ir::ParameterAttrs{PartialShape{2}, from}));
    const ir::Value y = convert_value(graph, {x, 0}, to);
    graph.add(registry().get("Result", "opset1"), "y", nullptr, {y});
    ir::infer_graph(graph);
    try {
      ir::write_model(graph, ir::IrVersion::v10);
    } catch (const Exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(element::i64, element::f32), "");
  EXPECT_EQ(error_of(element::boolean, element::i32), "");
  EXPECT_NE(error_of(element::f16, element::f32).find("Parameter 'x'"), std::string::npos);
  const std::string result = error_of(element::f32, element::i64);
  EXPECT_NE(result.find("Result 'y'"), std::string::npos) << result;
  EXPECT_NE(result.find("of type i64 as i32"), std::string::npos) << result;
}

TEST(RoundTrip, Version10RefusesTwoTensorsOfOneName) {
  ir::Graph graph;
  const ir::NodeId x = graph.add(registry().get("Parameter", "opset1"), "x",
                                 ir::make_attributes_of(ir::ParameterAttrs{PartialShape{2}, element::f32}));
  const ir::NodeId y = graph.add(registry().get("ReLU", "opset1"), "y", nullptr, {{x, 0}});
  graph.add(registry().get("Result", "opset1"), "r", nullptr, {{y, 0}});
  ir::infer_graph(graph);
  graph.port({y, 0}).names = {"x"};
  try {
    ir::write_model(graph, ir::IrVersion::v10);
    FAIL() << "written";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace terroir::test
