// If, Loop and TensorIterator around every operation, in every form that its cases know: written as IR, version 11 and
// where it can express them version 10, and read again they are the same; a second round writes the same text.
#include <gtest/gtest.h>

#include <map>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "tests/ops/round_trip.hpp"
#include "tests/support/body_ports.hpp"

namespace terroir::test {
namespace {

const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset16"); }

/// A model whose one operation has the graph as its body; the operation's inputs are those of the model, and so are
/// the outputs.
class Around {
 public:
  explicit Around(const ir::Graph& inner) : inner_(inner) {}

  std::unique_ptr<ir::Graph> choice() {
    inputs_ = {parameter("condition", element::boolean, PartialShape{})};
    feed(inner_.clone());
    std::vector<ir::Body> bodies;
    bodies.push_back({"then_body", inner_.clone(), ports_});
    bodies.push_back({"else_body", inner_.clone(), ports_});
    return with("If", std::move(bodies));
  }

  std::unique_ptr<ir::Graph> loop() {
    inputs_ = {parameter("trips", element::i64, PartialShape{}),
               parameter("goes_on", element::boolean, PartialShape{})};
    std::unique_ptr<ir::Graph> body = inner_.clone();
    const ir::NodeId counter = parameter_of(*body, "iteration", element::i64, PartialShape{1});
    feed(std::move(body));
    ports_.inputs.push_back(fed(-1, {counter, 0}));
    ports_.inputs.back().current_iteration = true;
    auto flag = std::make_shared<AlignedBuffer>(1);
    *static_cast<uint8_t*>(flag->data()) = 1;
    const ir::NodeId truth =
        body_->add_constant(builtin("Const"), "truth", {{element::boolean, {}, flag->data()}, flag});
    const ir::NodeId condition = body_->add(builtin("Result"), "goes_on", nullptr, {{truth, 0}});
    ports_.outputs.push_back(given(-1, condition));
    ports_.outputs.back().execution_condition = true;
    return with_body("Loop");
  }

  /// Over slices of two inputs, forwards and backwards; the last part and all of them come out, one is carried.
  std::unique_ptr<ir::Graph> iterator() {
    std::unique_ptr<ir::Graph> body = inner_.clone();
    const ir::NodeId part = parameter_of(*body, "part", element::f32, PartialShape{2, 1});
    const ir::NodeId carried = parameter_of(*body, "carried", element::f32, PartialShape{2, 1});
    const ir::NodeId last = body->add(builtin("Result"), "last", nullptr, {{part, 0}});
    const ir::NodeId next = body->add(builtin("Result"), "next", nullptr, {{carried, 0}});
    const std::vector<ir::NodeId> own = inner_.results();
    feed(std::move(body));
    const auto outputs = static_cast<int64_t>(own.size());
    const auto first = static_cast<int64_t>(inputs_.size());
    inputs_.push_back(parameter("parts", element::f32, PartialShape{2, 6}));
    inputs_.push_back(parameter("start", element::f32, PartialShape{2, 1}));
    ports_.inputs.push_back(sliced(first, {part, 0}, 1, -1, 1));
    ports_.inputs.push_back(fed(first + 1, {carried, 0}));
    ports_.outputs.push_back(given(outputs, next));
    ports_.outputs.push_back(joined(outputs + 1, last, 1, 1, 1));
    ports_.back_edges = {{last, carried}};
    return with_body("TensorIterator");
  }

 private:
  static ir::NodeId parameter_of(ir::Graph& graph, const std::string& name, element::Type type,
                                 const PartialShape& shape) {
    return graph.add(builtin("Parameter"), name, ir::make_attributes_of(ir::ParameterAttrs{shape, type}));
  }
  ir::Value parameter(const std::string& name, element::Type type, const PartialShape& shape) {
    return {parameter_of(*outer_, name, type, shape), 0};
  }

  /// An outer input for each parameter of the wrapped graph, an output for each of its results.
  void feed(std::unique_ptr<ir::Graph> body) {
    body_ = std::move(body);
    for (const ir::NodeId id : inner_.parameters()) {
      const auto& attrs = inner_.node(id).attrs<ir::ParameterAttrs>();
      ports_.inputs.push_back(fed(static_cast<int64_t>(inputs_.size()), {id, 0}));
      inputs_.push_back(parameter("x" + std::to_string(inputs_.size()), attrs.element_type, attrs.shape));
    }
    for (const ir::NodeId id : inner_.results())
      ports_.outputs.push_back(given(static_cast<int64_t>(ports_.outputs.size()), id));
  }

  std::unique_ptr<ir::Graph> with_body(const char* type) {
    ir::infer_graph(*body_);
    std::vector<ir::Body> bodies;
    bodies.push_back({"body", std::move(body_), ports_});
    return with(type, std::move(bodies));
  }

  std::unique_ptr<ir::Graph> with(const char* type, std::vector<ir::Body> bodies) {
    const ir::OpSchema& schema = builtin(type);
    const ir::NodeId id = outer_->add(schema, "control", schema.make_attributes(), inputs_);
    outer_->node(id).bodies = std::move(bodies);
    ir::infer_graph(*outer_);
    const size_t outputs = outer_->node(id).outputs.size();
    for (size_t i = 0; i < outputs; ++i)
      outer_->add(builtin("Result"), "y" + std::to_string(i), nullptr, {{id, static_cast<int32_t>(i)}});
    ir::infer_graph(*outer_);
    return std::move(outer_);
  }

  const ir::Graph& inner_;
  std::unique_ptr<ir::Graph> outer_ = std::make_unique<ir::Graph>("outer"), body_;
  std::vector<ir::Value> inputs_;
  ir::BodyPortMap ports_;
};

void expect_two_rounds(const ir::Graph& graph, ir::IrVersion version) {
  const ir::ModelText text = ir::write_model(graph, version);
  const auto again = read_back(text);
  expect_same(graph, *again);
  const ir::ModelText second = ir::write_model(*again, version);
  EXPECT_EQ(second.xml, text.xml);
  EXPECT_EQ(second.weights, text.weights);
}

TEST(RoundTripOfBodies, EveryOperationWithinThem) {
  std::map<std::string, int> seen;  // by operation, in turn within If, Loop and TensorIterator
  int refused = 0;
  for (const Case& c : cases_that_infer()) {
    const int turn = seen[c.op]++;
    SCOPED_TRACE(c.where() + " in form " + std::to_string(turn % 3));
    const auto inner = graph_of(c, ops::builtin_registry());
    Around around(*inner);
    const auto graph = turn % 3 == 0 ? around.choice() : turn % 3 == 1 ? around.loop() : around.iterator();
    try {
      expect_two_rounds(*graph, ir::IrVersion::v11);
    } catch (const Exception& error) {
      ADD_FAILURE() << error.what();
    }
    express_ends(*graph);
    try {
      expect_two_rounds(*graph, ir::IrVersion::v10);
      EXPECT_TRUE(is_expressible(*graph));
    } catch (const Exception& error) {
      EXPECT_FALSE(is_expressible(*graph)) << error.what();
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
  for (const auto& [op, count] : seen) EXPECT_GE(count, 3) << op << " was not within each of them";
}

}  // namespace
}  // namespace terroir::test
