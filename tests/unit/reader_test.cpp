// Reading of sound models: what the graph looks like.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ir/text/diff.hpp"
#include "ir/text/printer.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

NodeId find(const Graph& graph, const std::string& name) {
  for (NodeId id : graph.nodes())
    if (graph.node(id).name == name) return id;
  ADD_FAILURE() << "no node " << name;
  return NodeId::none;
}
const Node& node(const Graph& graph, const std::string& name) { return graph.node(find(graph, name)); }

TEST(Reader, BuildsAGraph) {
  Read read;
  const auto graph = read(around(relu()));
  EXPECT_EQ(to_text(*graph),
            "graph \"m\" (%Parameter0) -> (%Result2)\n"
            "  %Parameter0 = Parameter-1() {shape=[2,3], element_type=f32} : f32[2,3]\n"
            "  %ReLU1 = ReLU-1(%Parameter0) : f32[2,3]\n"
            "  %Result2 = Result-1(%ReLU1) : f32[2,3]\n");
  EXPECT_EQ(read.warnings, std::vector<std::string>{});
  const Node& middle = node(*graph, "ReLU1");
  EXPECT_EQ(middle.origin.layer_id, 1);
  EXPECT_EQ(middle.origin.line, 4);
  EXPECT_EQ(middle.describe(), "ReLU 'ReLU1' (layer 1, line 4)");
  EXPECT_EQ(graph->ir_version(), 11);
}

TEST(Reader, ReadsEveryKindOfAttribute) {
  Read read;
  const auto graph = read(around(layer(
      1, "toy",  // types are found whatever their case, as in old files
      "count=\" 7 \" scale=\"1e-3\" flag=\"TRUE\" mode=\"Second\" label=\" a,b \" to=\"FP16\" form=\"?,2,1..4,-1,..5\" "
      "steps=\"1, 2,-3\" factors=\"\" words=\"sigmoid, tanh\"",
      port(0, {2, 3}), port(1, {2, 3}))));
  const auto& attrs = node(*graph, "toy1").attrs<ToyAttrs>();
  EXPECT_EQ(attrs.count, 7);
  EXPECT_EQ(attrs.scale, 1e-3);
  EXPECT_TRUE(attrs.flag);
  EXPECT_EQ(attrs.mode, ToyMode::second);
  EXPECT_EQ(attrs.label, " a,b ");
  EXPECT_EQ(attrs.to, element::f16);
  EXPECT_EQ(attrs.form, PartialShape("[?,2,1..4,?,..5]"));
  EXPECT_EQ(attrs.steps, (std::vector<int64_t>{1, 2, -3}));
  EXPECT_EQ(attrs.factors, std::vector<double>{});
  EXPECT_EQ(attrs.words, (std::vector<std::string>{"sigmoid", "tanh"}));
}

TEST(Reader, LeavesDefaultsAndTakesZeroAndOneAsBooleans) {
  Read read;
  const auto graph = read(around(layer(1, "Toy", "count=\"1\" flag=\"1\"", port(0, {2, 3}), port(1, {2, 3}))));
  const auto& attrs = node(*graph, "Toy1").attrs<ToyAttrs>();
  EXPECT_TRUE(attrs.flag);
  EXPECT_EQ(attrs.scale, 0.5);
  EXPECT_EQ(attrs.factors, std::vector<double>{1.0});
  const auto off = read(around(layer(1, "Toy", "count=\"1\" flag=\"0\"", port(0, {2, 3}), port(1, {2, 3}))));
  EXPECT_FALSE(node(*off, "Toy1").attrs<ToyAttrs>().flag);
}

TEST(Reader, ToleratesAttributesThatNeverMeantAnything) {
  Read read;
  const auto graph = read(around(relu("PrimitivesPriority=\"cpu:x\" alt_width=\"8\" auto_broadcast=\"numpy\"")));
  EXPECT_TRUE(to_text(*node(*graph, "ReLU1").attributes).empty());
  EXPECT_TRUE(read.warnings.empty());
}

TEST(Reader, ParameterShapesOfEveryForm) {
  const auto shape_of = [](const std::string& text) {
    Read read;
    const auto graph = read(net(parameter(0, text, {}) + layer(1, "Result", "", port(0, {}), ""), edge(0, 0, 1, 0)));
    EXPECT_TRUE(read.warnings.empty()) << text;
    return graph->port({graph->parameters()[0], 0}).shape;
  };
  EXPECT_EQ(shape_of(""), PartialShape());
  EXPECT_EQ(shape_of("..."), PartialShape::dynamic());
  EXPECT_EQ(shape_of("?, 3 ,1..64,-1,5..,..7"), PartialShape("[?,3,1..64,?,5..,..7]"));
  EXPECT_EQ(shape_of("0"), PartialShape("[0]"));
}

TEST(Reader, KeepsOrderOfInputsAndOutputsAndDropsWhatNobodyNeeds) {
  Read read;
  const auto graph = read(net(result(7) + layer(9, "ReLU", "", port(5, {2, 3}), port(6, {2, 3})) + parameter(4) +
                                  layer(8, "Mystery", "", port(0, {2, 3}), port(1, {2, 3}), "opset99") + result(3) +
                                  parameter(2) + parameter(6),
                              edge(4, 0, 3, 0) + edge(2, 0, 9, 5) + edge(9, 6, 7, 0) + edge(9, 6, 8, 0)));
  EXPECT_EQ(to_text(*graph).substr(0, to_text(*graph).find('\n')),
            "graph \"m\" (%Parameter4, %Parameter2, %Parameter6) -> (%Result7, %Result3)");
  EXPECT_EQ(graph->node_count(), 6U) << "the unknown operation is not needed";
}

TEST(Reader, PortIdsAreMappedByPosition) {
  Read read;
  const auto graph = read(net(
      parameter(0) + layer(1, "Halves", "", port(30, {2, 3}), port(41, {2, 3}) + port(7, {2, 3})) +
          layer(2, "Add", "auto_broadcast=\"numpy\"", port(9, {2, 3}) + port(3, {2, 3}), port(1, {2, 3})) + result(3),
      edge(1, 41, 2, 3) + edge(2, 1, 3, 0) + edge(1, 7, 2, 9) + edge(0, 0, 1, 30)));
  const Node& sum = node(*graph, "Add2");
  const NodeId halves = find(*graph, "Halves1");
  EXPECT_EQ(sum.inputs, (std::vector<Value>{{halves, 1}, {halves, 0}}));
}

TEST(Reader, TensorNamesAndTheirEscapes) {
  Read read;
  const auto graph =
      read(around(layer(1, "ReLU", "", port(0, {2, 3}), port(1, {2, 3}, "names=\"z,a\\,b,z,back\\slash\""))));
  EXPECT_EQ(node(*graph, "ReLU1").outputs[0].names, (std::vector<std::string>{"a,b", "back\\slash", "z"}));
  std::string text = around(relu());
  text.replace(text.find("type=\"Result\""), 0, "output_names=\"o,p\" ");
  const auto of_output = read(text);
  EXPECT_TRUE(node(*of_output, "ReLU1").outputs[0].names.empty());
  EXPECT_EQ(of_output->node(of_output->results().at(0)).outputs[0].names, (std::vector<std::string>{"o", "p"}));
}

TEST(Reader, RuntimeInformationOfLayersPortsAndModels) {
  const std::string info =
      "<rt_info><attribute name=\"layout\" version=\"0\" layout=\"[N,C]\"/>"
      "<user_data name=\"u/v\" value=\"1\" version=\"\"><user_data name=\"w\" value=\"2\" "
      "version=\"\"/></user_data></rt_info>";
  std::string middle = "<layer id=\"1\" name=\"r\" type=\"ReLU\" version=\"opset1\">" + info +
                       "<input><port id=\"0\">" + dims({2, 3}) + info +
                       "</port></input><output><port id=\"1\" precision=\"FP32\">" + dims({2, 3}) + info +
                       "</port></output></layer>\n";
  const RtInfo expected{{"layout", {{"layout", "[N,C]"}, {"version", "0"}}},
                        {"user_data/u\\/v", {{"value", "1"}, {"version", ""}}},
                        {"user_data/u\\/v/w", {{"value", "2"}, {"version", ""}}}};
  Read read;
  const auto graph = read(around(middle, 11,
                                 "<rt_info><Runtime_version value=\"2023.1\"/><conversion><framework value=\"onnx\"/>"
                                 "<info name=\"a key\" value=\"x\"/></conversion></rt_info>"));
  const Node& r = node(*graph, "r");
  EXPECT_EQ(r.rt_info, expected);
  EXPECT_EQ(r.outputs[0].rt_info, expected);
  ASSERT_EQ(r.input_rt_info.size(), 1U);
  EXPECT_EQ(r.input_rt_info[0], expected);
  const RtTree tree{
      "",
      {{"Runtime_version", {"2023.1", {}}}, {"conversion", {"", {{"framework", {"onnx", {}}}, {"a key", {"x", {}}}}}}}};
  EXPECT_EQ(graph->rt_info(), tree);
  const auto old = read(around(middle, 10));
  EXPECT_TRUE(node(*old, "r").rt_info.empty()) << "version 10 has none";
  EXPECT_TRUE(node(*old, "r").outputs[0].rt_info.empty());
}

TEST(Reader, MetaDataOfOldFilesBecomesRuntimeInformation) {
  Read read;
  const auto graph = read(around(relu(), 10,
                                 "<meta_data><MO_version value=\"2021.4\"/><cli_parameters><input value=\"x\"/>"
                                 "<unset unset_cli_parameters=\"a, b\"/></cli_parameters></meta_data>"
                                 "<quantization_parameters><config>c</config></quantization_parameters>"));
  const RtTree tree{"",
                    {{"MO_version", {"2021.4", {}}},
                     {"conversion_parameters", {"", {{"input", {"x", {}}}, {"unset", {"a, b", {}}}}}},
                     {"optimization", {"", {{"config", {"c", {}}}}}}}};
  EXPECT_EQ(graph->rt_info(), tree);
}

TEST(Reader, StateLayersAreKept) {
  Read read;
  const auto graph =
      read(net(parameter(0) + layer(1, "ReadValue", "variable_id=\"v\"", port(0, {2, 3}), port(1, {2, 3}), "opset6") +
                   layer(2, "ReLU", "", port(0, {2, 3}), port(1, {2, 3})) +
                   layer(3, "Assign", "variable_id=\"v\"", port(0, {2, 3}), port(1, {2, 3}), "opset6") + result(4),
               edge(0, 0, 1, 0) + edge(1, 1, 4, 0) + edge(1, 1, 2, 0) + edge(2, 1, 3, 0)));
  EXPECT_EQ(graph->sinks().size(), 1U);
  EXPECT_EQ(graph->node_count(), 5U);
}

TEST(Reader, OperationsThatFilesPlaceInTheWrongSet) {
  Read read;
  EXPECT_EQ(node(*read(around(layer(1, "MVN", "", port(0, {2, 3}), port(1, {2, 3}), "opset1"))), "MVN1").schema->opset,
            "opset2");
  EXPECT_EQ(node(*read(around(layer(1, "GRUCell", "", port(0, {2, 3}), port(1, {2, 3}), "experimental"))), "GRUCell1")
                .schema->opset,
            "opset3");
  EXPECT_EQ(
      node(*read(around(layer(1, "ReLU", "", port(0, {2, 3}), port(1, {2, 3}), "opset8"))), "ReLU1").schema->opset,
      "opset1");
}

TEST(Reader, DeclaredTypesAndShapesThatContradictAreAWarningOrAnError) {
  const std::string model = around(layer(1, "ReLU", "", port(0, {2, 3}), port(1, {2, 4})));
  Read read;
  const auto graph = read(model);
  EXPECT_EQ(node(*graph, "ReLU1").outputs[0].shape, PartialShape("[2,3]"));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings[0],
            "ReLU 'ReLU1' (layer 1, line 4): output 0 is declared as f32[2,4], but inferred as f32[2,3]; the "
            "declaration is ignored");
  read.strict = true;
  try {
    read(model);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_STREQ(error.what(),
                 "ReLU 'ReLU1' (layer 1, line 4): output 0 is declared as f32[2,4], but inferred as f32[2,3]");
  }
  try {
    read(around(layer(1, "ReLU", "", port(0, {2, 3}), port(1, {2, 3}, "", "I32"))));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::type_mismatch);
  }
  // Unknown extents, and ports without dimensions, contradict nothing.
  EXPECT_NO_THROW(read(around(layer(1, "ReLU", "", port(0, {2, 3}), port(1, {-1, 3})))));
  EXPECT_NO_THROW(read(around(layer(1, "ReLU", "", port(0, {2, 3}), port(1, {})))));
}

TEST(Reader, AttributesThatNoOperationAsksForAreIgnoredWithOneWarning) {
  const auto with_data = [](const std::string& relu, const std::string& toy) {
    return net(parameter(0) + layer(1, "ReLU", relu, port(0, {2, 3}), port(1, {2, 3})) +
                   layer(2, "Toy", toy, port(0, {2, 3}), port(1, {2, 3})) + result(3),
               edge(0, 0, 1, 0) + edge(1, 1, 2, 0) + edge(2, 1, 3, 0));
  };
  Read read;
  auto graph = read(with_data("what=\"1\"", "count=\"1\""));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings[0],
            "ReLU 'ReLU1' (layer 1, line 4): attribute 'what' = '1' is unknown to ReLU-1 and ignored");

  read.warnings.clear();
  // 'counts' is no slip where 'count' is given.
  graph = read(with_data("what=\"1\" why=\"2\"", "count=\"3\" counts=\"1\""));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings[0],
            "ReLU 'ReLU1' (layer 1, line 4): attribute 'what' = '1' is unknown to ReLU-1 and ignored, as are 2 more in "
            "this model");
  EXPECT_NE(to_text(*graph).find("count=3"), std::string::npos) << to_text(*graph);

  read.strict = true;
  try {
    read(with_data("what=\"1\"", "count=\"1\""));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::parse_error);
    EXPECT_STREQ(error.what(), "ReLU 'ReLU1' (layer 1, line 4): unknown attribute 'what' = '1' of ReLU-1; it has none");
  }
}

TEST(ReaderV10, PresentsTypesAndNamesOfOldFiles) {
  Read read;
  const std::string half = layer(0, "Parameter", "shape=\"2\" element_type=\"f16\"", "", port(0, {2}, "", "FP16"));
  const std::string longs = layer(1, "Parameter", "shape=\"2\" element_type=\"i64\"", "", port(0, {2}, "", "I64"));
  const std::string layers =
      half + longs + layer(2, "ReLU", "", port(0, {2}, "", "FP16"), port(1, {2}, "", "FP16")) +
      layer(3, "Halves", "", port(0, {2}, "", "I64"), port(4, {2}, "", "I64") + port(5, {2}, "", "I64")) +
      layer(4, "Result", "", port(0, {2}), "") + layer(5, "Result", "", port(0, {2}), "");
  const std::string edges = edge(0, 0, 2, 0) + edge(1, 0, 3, 0) + edge(2, 1, 4, 0) + edge(3, 5, 5, 0);
  const auto graph = read(net(layers, edges, 10));
  EXPECT_EQ(to_text(*graph),
            "graph \"m\" (%Parameter0, %Parameter1) -> (%Result4, %Result5)\n"
            "  %Parameter0 = Parameter-1() {shape=[2], element_type=f32} : f32[2] \"Parameter0\"\n"
            "  %Parameter1 = Parameter-1() {shape=[2], element_type=i64} : i64[2] \"Parameter1\"\n"
            "  %Halves3 = Halves-1(%Parameter1) : i64[2], i64[2]\n"
            "  %Parameter0/as_f16 = Convert-1(%Parameter0) {destination_type=f16} : f16[2]\n"
            "  %ReLU2 = ReLU-1(%Parameter0/as_f16) : f16[2]\n"
            "  %ReLU2/as_f32 = Convert-1(%ReLU2) {destination_type=f32} : f32[2] \"ReLU2\"\n"
            "  %Result4 = Result-1(%ReLU2/as_f32) : f32[2]\n"
            "  %Halves3/as_i32 = Convert-1(%Halves3.1) {destination_type=i32} : i32[2] \"Halves3.5\"\n"
            "  %Result5 = Result-1(%Halves3/as_i32) : i32[2]\n");
  EXPECT_EQ(graph->ir_version(), 10);
  const auto same = read(net(layers, edges, 11));
  EXPECT_EQ(node(*same, "Parameter0").outputs[0].type, element::f16) << "version 11 keeps types";
  EXPECT_TRUE(node(*same, "Parameter0").outputs[0].names.empty());
}

TEST(ReaderV10, RefusesInputsAndOutputsOfOneName) {
  Read read;
  const auto named_relu = [](int id, const std::string& names) {
    return layer(id, "ReLU", "", port(0, {2, 3}), port(1, {2, 3}, "names=\"" + names + "\""));
  };
  const auto refusal = [&](const std::string& model) -> std::string {
    try {
      read(model);
    } catch (const Exception& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return {};
  };
  const std::string one_layer = edge(0, 0, 1, 0) + edge(1, 1, 2, 0);
  const std::string as_a_layer = refusal(net(parameter(0) + named_relu(1, "Parameter0") + result(2), one_layer, 10));
  EXPECT_NE(as_a_layer.find("'Parameter0' names two tensors"), std::string::npos) << as_a_layer;

  const auto named_input = [](int id) {
    return layer(id, "Parameter", "shape=\"2,3\" element_type=\"f32\"", "", port(0, {2, 3}, "names=\"same\""));
  };
  const std::string two_inputs =
      named_input(0) + named_input(1) + named_relu(2, "a") + named_relu(3, "b") + result(4) + result(5);
  const std::string two_edges = edge(0, 0, 2, 0) + edge(1, 0, 3, 0) + edge(2, 1, 4, 0) + edge(3, 1, 5, 0);
  const std::string as_tensors = refusal(net(two_inputs, two_edges, 10));
  EXPECT_NE(as_tensors.find("'same' names two tensors"), std::string::npos) << as_tensors;
  EXPECT_EQ(refusal(net(two_inputs, two_edges, 11)), "");

  // Nobody asks for tensors within a model by name.
  EXPECT_EQ(refusal(net(parameter(0) + named_relu(1, "Parameter0") + named_relu(2, "a") + result(3),
                        edge(0, 0, 1, 0) + edge(1, 1, 2, 0) + edge(2, 1, 3, 0), 10)),
            "");
}

TEST(ReaderPreProcess, MeanValuesBecomeASubtraction) {
  Read read;
  const auto model = [](const std::string& channels) {
    return around(
        relu(), 10,
        "<pre-process mean-precision=\"FP32\" reference-layer-name=\"Parameter0\">" + channels + "</pre-process>");
  };
  const std::string means =
      "<channel id=\"1\"><mean value=\"2.5\"/></channel><channel id=\"0\"><mean value=\"1\"/></channel>"
      "<channel id=\"2\"><mean value=\"-3\"/></channel>";
  const auto graph = read(model(means));
  const Node& difference = graph->node(node(*graph, "ReLU1").inputs[0].node);
  EXPECT_TRUE(difference.is("Subtract"));
  EXPECT_EQ(graph->node(difference.inputs[0].node).name, "Parameter0");
  const Constant* mean = constant_of(*graph, difference.inputs[1]);
  ASSERT_NE(mean, nullptr);
  EXPECT_EQ(to_reals(mean->view), (std::vector<double>{1, 2.5, -3}));
  EXPECT_EQ(mean->view.dims, (Dims{1, 3}));
  EXPECT_THROW(read(model("<channel id=\"0\"><mean value=\"1\"/></channel>")), Exception) << "three channels";
  EXPECT_THROW(read(model(means + "<channel id=\"0\"><mean value=\"1\"/></channel>")), Exception);
  try {
    read(model("<channel id=\"0\"><mean offset=\"0\" size=\"8\"/></channel><channel id=\"1\"/><channel id=\"2\"/>"));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  }
}

TEST(Reader, DeepGraphsDoNotExhaustTheStack) {
  constexpr int kDepth = 100000;
  std::string layers = parameter(0), edges;
  for (int i = 1; i <= kDepth; ++i) {
    layers += layer(i, "ReLU", "", port(0, {2, 3}), port(1, {2, 3}));
    edges += edge(i - 1, i == 1 ? 0 : 1, i, 0);
  }
  layers += result(kDepth + 1);
  edges += edge(kDepth, 1, kDepth + 1, 0);
  Read read;
  EXPECT_EQ(read(net(layers, edges))->node_count(), static_cast<size_t>(kDepth) + 2);
}

TEST(ReaderFiles, FindsTheWeightsBesideTheModelAndNamesTheFileInErrors) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_reader_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto xml = folder / "model.xml", bin = folder / "model.bin", other = folder / "other.bin";
  const std::string text = net(
      layer(0, "Const", "element_type=\"f32\" shape=\"2\" offset=\"0\" size=\"8\"", "", port(0, {2})) + result(1, {2}),
      edge(0, 0, 1, 0));
  std::ofstream(xml) << text;
  std::ofstream(bin) << bytes_of<float>({1, 2});
  std::ofstream(other) << bytes_of<float>({3, 4});
  const auto first = [&](const std::string& weights) {
    const auto graph = read_model(xml.string(), weights, toy_registry());
    return to_reals(node(*graph, "Const0").constant->view);
  };
  EXPECT_EQ(first(""), (std::vector<double>{1, 2}));
  EXPECT_EQ(first(other.string()), (std::vector<double>{3, 4}));
  const auto message = [&](const std::string& weights) -> std::string {
    try {
      first(weights);
    } catch (const Exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message((folder / "none.bin").string()).find("none.bin"), std::string::npos);
  std::filesystem::remove(bin);
  const std::string missing = message("");
  EXPECT_NE(missing.find("Const 'Const0' (layer 0, " + xml.string() + ":3)"), std::string::npos) << missing;
  EXPECT_NE(missing.find("needs 8 bytes of weights"), std::string::npos) << missing;
  EXPECT_NE(missing.find("model.bin"), std::string::npos) << missing;
  std::ofstream(xml) << around(relu());
  EXPECT_NO_THROW(read_model(xml.string(), "", toy_registry())) << "no constant needs weights";
  std::filesystem::remove_all(folder);
  EXPECT_THROW(read_model(xml.string(), "", toy_registry()), Exception);
}

}  // namespace
}  // namespace terroir::ir
