// TensorIterator, Loop and If: reading of bodies and port maps, and inference through them.
#include <gtest/gtest.h>

#include "ir/graph/infer.hpp"
#include "ir/graph/verify.hpp"
#include "tests/unit/refused_models.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

std::string body(const std::string& layers, const std::string& edges, const std::string& tag = "body") {
  return "<" + tag + "><layers>\n" + layers + "</layers><edges>\n" + edges + "</edges></" + tag + ">";
}

std::string control(int id, const std::string& type, const std::string& opset, const std::string& inputs,
                    const std::string& outputs, const std::string& inside) {
  return "<layer id=\"" + std::to_string(id) + "\" name=\"" + type + "\" type=\"" + type + "\" version=\"" + opset +
         "\"><input>" + inputs + "</input><output>" + outputs + "</output>" + inside + "</layer>\n";
}

const char* const kIteratorPorts =
    "<port_map>"
    "<input external_port_id=\"0\" internal_layer_id=\"10\" axis=\"1\" start=\"0\" end=\"-1\" stride=\"1\" "
    "part_size=\"1\"/>"
    "<input external_port_id=\"1\" internal_layer_id=\"11\"/>"
    "<output external_port_id=\"2\" internal_layer_id=\"13\" axis=\"1\"/>"
    "<output external_port_id=\"3\" internal_layer_id=\"14\"/>"
    "</port_map><back_edges><edge from-layer=\"14\" to-layer=\"11\"/></back_edges>";

/// A running sum over axis 1 of `shape`: state[2,1] += x[2,i]; all sums and the last one are outputs.
std::string iterator(const std::string& shape, const std::string& ports = kIteratorPorts,
                     const std::string& state = "2,1") {
  const std::string inner =
      body(layer(10, "Parameter", "shape=\"2,1\" element_type=\"f32\"", "", "<port id=\"0\"/>") +
               layer(11, "Parameter", "shape=\"" + state + "\" element_type=\"f32\"", "", "<port id=\"0\"/>") +
               layer(12, "Add", "", "<port id=\"0\"/><port id=\"1\"/>", "<port id=\"2\"/>") +
               layer(13, "Result", "", "<port id=\"0\"/>", "") + layer(14, "Result", "", "<port id=\"0\"/>", ""),
           edge(10, 0, 12, 0) + edge(11, 0, 12, 1) + edge(12, 2, 13, 0) + edge(12, 2, 14, 0));
  return net(layer(0, "Parameter", "shape=\"" + shape + "\" element_type=\"f32\"", "", "<port id=\"0\"/>") +
                 layer(1, "Parameter", "shape=\"" + state + "\" element_type=\"f32\"", "", "<port id=\"0\"/>") +
                 control(2, "TensorIterator", "opset1", "<port id=\"0\"/><port id=\"1\"/>",
                         "<port id=\"2\"/><port id=\"3\"/>", ports + inner) +
                 layer(3, "Result", "", "<port id=\"0\"/>", "") + layer(4, "Result", "", "<port id=\"0\"/>", ""),
             edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0) + edge(2, 3, 4, 0));
}

PartialShape output(const Graph& graph, size_t i) { return graph.port({graph.results()[i], 0}).shape; }

TEST(ReaderBodies, TensorIterator) {
  Read read;
  const auto graph = read(iterator("2,5"));
  EXPECT_EQ(output(*graph, 0), PartialShape("[2,5]"));
  EXPECT_EQ(output(*graph, 1), PartialShape("[2,1]"));
  const Node& node = graph->node(graph->port({graph->results()[0], 0}).type == element::f32
                                     ? graph->node(graph->results()[0]).inputs[0].node
                                     : NodeId::none);
  ASSERT_EQ(node.bodies.size(), 1U);
  const Body& inner = node.bodies[0];
  EXPECT_EQ(inner.role, "body");
  ASSERT_EQ(inner.ports.inputs.size(), 2U);
  EXPECT_EQ(inner.ports.inputs[0].axis, 1);
  EXPECT_EQ(inner.ports.inputs[0].external_port, 0);
  EXPECT_EQ(inner.graph->node(inner.ports.inputs[0].parameter).name, "Parameter10");
  EXPECT_EQ(inner.ports.inputs[1].axis, std::nullopt);
  ASSERT_EQ(inner.ports.outputs.size(), 2U);
  EXPECT_EQ(inner.ports.outputs[0].external_port, 0);
  EXPECT_EQ(inner.ports.outputs[1].external_port, 1);
  ASSERT_EQ(inner.ports.back_edges.size(), 1U);
  EXPECT_EQ(inner.graph->node(inner.ports.back_edges[0].result).name, "Result14");
  EXPECT_TRUE(verify(*graph).empty());
}

TEST(ReaderBodies, ShapesFollowTheInputs) {
  Read read;
  EXPECT_EQ(output(*read(iterator("2,?")), 0), PartialShape("[2,?]"));
  EXPECT_EQ(output(*read(iterator("...")), 0).rank(), PartialShape::dynamic().rank()) << "rank of the slice is unknown";
  // The graph's input changes after reading: the body is inferred for it on a copy.
  const auto graph = read(iterator("2,5"));
  ParameterAttrs attrs;
  attrs.element_type = element::f32;
  attrs.shape = PartialShape("[2,9]");
  graph->node(graph->parameters()[0]).attributes = make_attributes_of(attrs);
  infer_graph(*graph);
  EXPECT_EQ(output(*graph, 0), PartialShape("[2,9]"));
  attrs.shape = PartialShape("[7,2,4]");
  graph->node(graph->parameters()[0]).attributes = make_attributes_of(attrs);
  infer_graph(*graph);
  EXPECT_EQ(output(*graph, 0), PartialShape::dynamic()) << "the carried value grows from rank 2 to rank 3";
}

TEST(ReaderBodies, CarriedShapesThatChangeBecomeUnknown) {
  Read read;
  // state[1,1] + x[2,1] is [2,1]: its first extent changes between iterations.
  const auto graph = read(iterator("2,5", kIteratorPorts, "1,1"));
  EXPECT_EQ(output(*graph, 1), PartialShape("[2,1]"));
  EXPECT_EQ(output(*graph, 0), PartialShape("[2,5]"));
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ReaderBodies, BadPortMapsAreRefused) {
  const auto with = [](const std::string& from, const std::string& to) {
    return iterator("2,5", changed(kIteratorPorts, from, to));
  };
  expect_unreadable(with("internal_layer_id=\"10\"", "internal_layer_id=\"99\""),
                    "no layer 99 in the body; a Parameter");
  expect_unreadable(with("internal_layer_id=\"10\"", "internal_layer_id=\"13\""),
                    "layer 13 .*Result.*a Parameter is expected");
  expect_unreadable(with("internal_layer_id=\"10\"", "internal_layer_id=\"11\""), "fed by two entries|not fed");
  expect_unreadable(with("external_port_id=\"0\"", "external_port_id=\"8\""), "external_port_id 8 is no input port");
  expect_unreadable(with("<output external_port_id=\"3\"", "<output external_port_id=\"-1\""),
                    "must not be negative, got -1");
  expect_unreadable(with("<output external_port_id=\"3\"", "<output purpose=\"x\" external_port_id=\"3\""),
                    "purpose 'x'");
  expect_unreadable(with("<input external_port_id=\"1\"", "<input purpose=\"x\" external_port_id=\"1\""),
                    "purpose 'x'");
  expect_unreadable(with("from-layer=\"14\"", "from-layer=\"10\""), "a Result is expected");
  expect_unreadable(with("to-layer=\"11\"", "to-layer=\"10\""), "carried by a back edge and cannot be sliced");
  expect_unreadable(with("stride=\"1\"", "stride=\"0\""), "'stride' must not be 0");
  expect_unreadable(with("stride=\"1\"", "stride=\"9\""), "does not cut an axis of 5 into parts");
  expect_unreadable(with("stride=\"1\"", "stride=\"-9223372036854775808\""), "'stride' is out of range");
  expect_unreadable(with("part_size=\"1\"", "part_size=\"0\""), "'part_size' must be positive");
  expect_unreadable(with("axis=\"1\"", "axis=\"2\""), "axis 2 is out of range for rank 2");
  // Sliced inputs that disagree in the number of slices, and a carried value without a beginning.
  expect_unreadable(with("internal_layer_id=\"11\"/>", "internal_layer_id=\"11\" axis=\"1\"/>"), "cannot be sliced");
  expect_unreadable(
      iterator("2,5", changed(changed(kIteratorPorts,
                                      "<back_edges><edge from-layer=\"14\" to-layer=\"11\"/></back_edges>", ""),
                              "internal_layer_id=\"11\"/>", "internal_layer_id=\"11\" axis=\"0\"/>")),
      "the sliced inputs ask for 5 and 2 iterations");
  expect_unreadable(with("axis=\"1\"", "axis=\"1000\""), "'axis' is out of range");
  expect_unreadable(with("<input external_port_id=\"1\" internal_layer_id=\"11\"/>", ""), "Parameter11.* is not fed");
  expect_unreadable(changed(iterator("2,5"), "<port_map>", "<port_map><x/>"), "holds <input> and <output>, found <x>");
}

TEST(ReaderBodies, EachOutputIsSetOnce) {
  const std::string first = "<output external_port_id=\"2\" internal_layer_id=\"13\" axis=\"1\"/>";
  expect_unreadable(iterator("2,5", changed(kIteratorPorts, first, "")),
                    "^TensorIterator 'TensorIterator' \\(layer 2, line 5\\): output 0 is not set by the body: map a "
                    "Result to it");
  expect_unreadable(
      iterator("2,5", changed(kIteratorPorts, "<output external_port_id=\"3\"", "<output external_port_id=\"2\"")),
      "^TensorIterator 'TensorIterator' .*output 0 is set twice by the body: map one Result to it");
}

TEST(ReaderBodies, BodiesMustBeThereAndAreRead) {
  expect_unreadable(changed(changed(iterator("2,5"), "<body>", "<booty>"), "</body>", "</booty>"),
                    "a port map for <body>, which is missing");
  expect_unreadable(changed(changed(iterator("2,5"), "<body>", "<then_body>"), "</body>", "</then_body>"),
                    "cannot have a <then_body>");
  expect_unreadable(
      changed(iterator("2,5"), "type=\"Add\"", "type=\"Odd\""),
      R"(^TensorIterator 'TensorIterator' \(layer 2, line 5\): Odd 'Add12' \(layer 12, line 8\): unknown operation)");
}

TEST(ReaderBodies, NumberIsLimited) {
  std::string inside;
  for (int i = 0; i < 20; ++i) inside += "<port_map" + std::to_string(i) + "/>";
  expect_unreadable(net(control(0, "TensorIterator", "opset1", "", "", inside), ""), "line 3: .*too many bodies");
}

TEST(ReaderBodies, NestingIsLimited) {
  std::string inside = body(result(1), "");
  for (int i = 0; i < 200; ++i) inside = body(control(0, "TensorIterator", "opset1", "", "", inside), "");
  expect_unreadable(net(control(0, "TensorIterator", "opset1", "", "", inside), ""), "bodies nest deeper than 64");
}

/// counter-controlled sum: Loop over (trip, condition, x).
std::string loop(const std::string& trip, const std::string& condition, bool runs_through) {
  const std::string ports =
      "<port_map><input external_port_id=\"-1\" internal_layer_id=\"20\" purpose=\"current_iteration\"/>"
      "<input external_port_id=\"2\" internal_layer_id=\"21\"/>"
      "<output external_port_id=\"-1\" internal_layer_id=\"24\" purpose=\"execution_condition\"/>"
      "<output external_port_id=\"3\" internal_layer_id=\"25\" axis=\"0\"/></port_map>"
      "<back_edges><edge from-layer=\"25\" to-layer=\"21\"/></back_edges>";
  const std::string scalar = "<port id=\"0\"/>";
  const std::string goes_on =
      runs_through ? layer(22, "Const", "element_type=\"boolean\" shape=\"\" offset=\"8\" size=\"1\"", "", scalar)
                   : layer(22, "Parameter", "shape=\"\" element_type=\"boolean\"", "", scalar);
  const std::string inner =
      body(layer(20, "Parameter", "shape=\"\" element_type=\"i64\"", "", scalar) + parameter(21, "1,3", {1, 3}) +
               goes_on + layer(23, "ReLU", "", port(0, {1, 3}), port(1, {1, 3})) + layer(24, "Result", "", scalar, "") +
               result(25, {1, 3}),
           edge(22, 0, 24, 0) + edge(21, 0, 23, 0) + edge(23, 1, 25, 0));
  const std::string more = runs_through ? "" : "<input external_port_id=\"1\" internal_layer_id=\"22\"/>";
  return net(trip + condition + parameter(2, "1,3", {1, 3}) +
                 control(3, "Loop", "opset5", "<port id=\"0\"/><port id=\"1\"/><port id=\"2\"/>", port(3, {-1, 3}),
                         changed(ports, "<port_map>", "<port_map>" + more) + inner) +
                 result(4, {-1, 3}),
             edge(0, 0, 3, 0) + edge(1, 0, 3, 1) + edge(2, 0, 3, 2) + edge(3, 3, 4, 0));
}

TEST(ReaderBodies, LoopCountsItsIterationsWhereTheyAreKnown) {
  const std::string weights = bytes_of<int64_t>({6}) + std::string("\1\0", 2);
  const std::string scalar = "<port id=\"0\"/>";
  const std::string known = layer(0, "Const", "element_type=\"i64\" shape=\"\" offset=\"0\" size=\"8\"", "", scalar);
  const std::string unknown = layer(0, "Parameter", "shape=\"\" element_type=\"i64\"", "", scalar);
  const std::string yes = layer(1, "Const", "element_type=\"boolean\" shape=\"\" offset=\"8\" size=\"1\"", "", scalar);
  const std::string no = layer(1, "Const", "element_type=\"boolean\" shape=\"\" offset=\"9\" size=\"1\"", "", scalar);
  Read read;
  EXPECT_EQ(output(*read(loop(known, yes, true), weights), 0), PartialShape("[6,3]"));
  EXPECT_EQ(output(*read(loop(known, yes, false), weights), 0), PartialShape("[1..6,3]"));
  EXPECT_EQ(output(*read(loop(unknown, yes, true), weights), 0), PartialShape("[?,3]"));
  EXPECT_EQ(output(*read(loop(known, no, true), weights), 0), PartialShape("[0,3]"));
  EXPECT_TRUE(read.warnings.empty());
  const std::string real = layer(0, "Parameter", "shape=\"\" element_type=\"f32\"", "", scalar);
  expect_unreadable(loop(real, layer(1, "Parameter", "shape=\"\" element_type=\"boolean\"", "", scalar), false),
                    "Loop 'Loop' .*trip count must be i32 or i64, got f32");
}

/// If(condition, x) with ReLU in the then branch and x[else_shape] in the other.
std::string choice(const std::string& condition, const std::string& first_output,
                   const std::string& else_type = "ReLU") {
  const auto branch = [](const std::string& tag, const std::string& type) {
    return body(parameter(0, "2,3") +
                    layer(1, type, type == "Toy" ? "count=\"1\"" : "", port(0, {2, 3}), "<port id=\"1\"/>") +
                    layer(2, "Result", "", "<port id=\"0\"/>", ""),
                edge(0, 0, 1, 0) + edge(1, 1, 2, 0), tag);
  };
  const auto ports = [&](const std::string& tag) {
    return "<" + tag + "><input external_port_id=\"1\" internal_layer_id=\"0\"/><output external_port_id=\"" +
           first_output + "\" internal_layer_id=\"2\"/></" + tag + ">";
  };
  return net(condition + parameter(1) +
                 control(2, "If", "opset8", "<port id=\"0\"/><port id=\"1\"/>", "<port id=\"2\"/>",
                         ports("then_port_map") + ports("else_port_map") + branch("then_body", "ReLU") +
                             branch("else_body", else_type)) +
                 layer(3, "Result", "", "<port id=\"0\"/>", ""),
             edge(0, 0, 2, 0) + edge(1, 0, 2, 1) + edge(2, 2, 3, 0));
}

TEST(ReaderBodies, IfTakesBothNumberingsOfOutputs) {
  const std::string unknown = layer(0, "Parameter", "shape=\"\" element_type=\"boolean\"", "", "<port id=\"0\"/>");
  Read read;
  for (const char* first : {"2", "0"}) {
    const auto graph = read(choice(unknown, first));
    EXPECT_EQ(output(*graph, 0), PartialShape("[2,3]"));
    EXPECT_TRUE(verify(*graph).empty());
  }
  const std::string real = layer(0, "Parameter", "shape=\"\" element_type=\"f32\"", "", "<port id=\"0\"/>");
  expect_unreadable(choice(real, "2"), "the condition must be boolean, got f32");
  expect_unreadable(
      changed(choice(unknown, "2"), "<output external_port_id=\"2\" internal_layer_id=\"2\"/></else", "</else"),
      "then branch has 1 outputs, the else branch 0");
}

TEST(ReaderBodies, ParametersAreOfTheTypeThatTheyAreFedWith) {
  const std::string unknown = layer(0, "Parameter", "shape=\"\" element_type=\"boolean\"", "", "<port id=\"0\"/>");
  std::string model = choice(unknown, "2");
  const std::string type = "element_type=\"f32\"";
  model.replace(model.rfind(type), type.size(), "element_type=\"i64\"");
  expect_unreadable(model, "input 1 is of type f32, but Parameter 'Parameter0' .*of type i64: put a Convert");
}

TEST(ReaderBodies, IfGeneralisesWhatItsBranchesDisagreeIn) {
  const std::string unknown = layer(0, "Parameter", "shape=\"\" element_type=\"boolean\"", "", "<port id=\"0\"/>");
  std::string model = choice(unknown, "2", "Wide");
  // A branch of another shape: the constant [2,4].
  const std::string wide = layer(1, "Wide", "", port(0, {2, 3}), "<port id=\"1\"/>");
  model =
      changed(model, wide,
              layer(1, "Const", "element_type=\"f32\" shape=\"2,4\" offset=\"0\" size=\"32\"", "", "<port id=\"1\"/>"));
  model = changed(model, "</edges></then_body>", "</edges></then_body>");
  const size_t at = model.rfind(edge(0, 0, 1, 0));
  ASSERT_NE(at, std::string::npos);
  const size_t inner = model.rfind(edge(0, 0, 1, 0), model.find("</else_body>"));
  model.erase(inner, edge(0, 0, 1, 0).size());
  Read read;
  EXPECT_EQ(output(*read(model, std::string(32, '\0')), 0), PartialShape("[2,?]"));
  const std::string yes =
      layer(0, "Const", "element_type=\"boolean\" shape=\"\" offset=\"0\" size=\"1\"", "", "<port id=\"0\"/>");
  model = changed(model, unknown, yes);
  EXPECT_EQ(output(*read(model, std::string(32, '\1')), 0), PartialShape("[2,3]")) << "the then branch is certain";
  EXPECT_EQ(output(*read(model, std::string(32, '\0')), 0), PartialShape("[2,4]")) << "the else branch is certain";
}

}  // namespace
}  // namespace terroir::ir
