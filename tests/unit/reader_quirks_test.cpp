// What files of old releases write differently from the operation pages, read with the real operations.
#include <gtest/gtest.h>

#include "ir/schema/attributes.hpp"
#include "ops/registry.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

std::unique_ptr<Graph> read(const std::string& xml) {
  ReaderOptions options;
  options.on_warning = [](const std::string& text) { ADD_FAILURE() << text; };
  return read_model_from_memory(xml, nullptr, nullptr, 0, ops::builtin_registry(), options);
}

/// Parameters of the given "type[shape]" texts -> one layer -> a Result per output.
struct OneLayer {
  std::string type, opset, data;
  std::vector<std::string> inputs;
  int outputs = 1;
  bool skips_a_port = false;  // behind the third, as where an input was not written

  std::string xml() const {
    std::string layers, edges, ports, outs;
    const int id = static_cast<int>(inputs.size());
    for (int i = 0; i < id; ++i) {
      const std::string& text = inputs[static_cast<size_t>(i)];
      const size_t bracket = text.find('[');
      const std::string element = text.substr(0, bracket), shape = text.substr(bracket + 1, text.size() - bracket - 2);
      layers +=
          layer(i, "Parameter", "shape=\"" + shape + "\" element_type=\"" + element + "\"", "", "<port id=\"0\"/>");
      const int port = i < 3 || !skips_a_port ? i : i + 1;
      ports += "<port id=\"" + std::to_string(port) + "\"/>";
      edges += edge(i, 0, id, port);
    }
    for (int i = 0; i < outputs; ++i) {
      outs += "<port id=\"" + std::to_string(100 + i) + "\"/>";
      edges += edge(id, 100 + i, id + 1 + i, 0);
    }
    layers += layer(id, type, data, ports, outs, opset);
    for (int i = 0; i < outputs; ++i) layers += layer(id + 1 + i, "Result", "", "<port id=\"0\"/>", "");
    return net(layers, edges);
  }
};

/// "Type-N name=value ..." of the layer, as it was understood.
std::string understood(const OneLayer& one) {
  const auto graph = read(one.xml());
  const Node& node = graph->node(graph->node(graph->results().at(0)).inputs.at(0).node);
  std::string text = node.schema->display_name();
  for (const AttributeText& attribute : to_text(*node.attributes)) text += " " + attribute.name + "=" + attribute.value;
  return text;
}

TEST(Quirks, TypesAreFoundWhateverTheirCaseAndInAnySetThatHasThem) {
  EXPECT_EQ(understood({"relu", "opset8", "", {"f32[2]"}}), "ReLU-1");
  EXPECT_EQ(understood({"SOFTMAX", "opset16", "axis=\"0\"", {"f32[2]"}}), "SoftMax-8 axis=0");
  EXPECT_EQ(understood({"Softmax", "opset7", "axis=\"0\"", {"f32[2]"}}), "SoftMax-1 axis=0");
  EXPECT_EQ(understood({"PRelu", "opset1", "", {"f32[2]", "f32[1]"}}), "PReLU-1");
  EXPECT_EQ(
      understood({"LogicalXor", "opset1", "auto_broadcast=\"numpy\"", {"boolean[2]", "boolean[2]"}}).substr(0, 12),
      "LogicalXor-2");
  EXPECT_EQ(understood({"Xor", "opset1", "auto_broadcast=\"numpy\"", {"boolean[2]", "boolean[2]"}}).substr(0, 5),
            "Xor-1");
}

TEST(Quirks, OperationsThatFilesPlaceInSetsWithoutThem) {
  EXPECT_EQ(
      understood(
          {"MVN", "opset1", "eps=\"1e-9\" across_channels=\"false\" normalize_variance=\"true\"", {"f32[1,2,3,3]"}})
          .substr(0, 5),
      "MVN-2");
  EXPECT_EQ(understood({"ReorgYolo", "opset1", "stride=\"2\"", {"f32[1,4,4,4]"}}), "ReorgYolo-2 stride=2");
  EXPECT_EQ(understood({"ROIPooling",
                        "opset1",
                        "pooled_h=\"2\" pooled_w=\"2\" spatial_scale=\"0.5\" method=\"max\"",
                        {"f32[1,2,8,8]", "f32[3,5]"}})
                .substr(0, 12),
            "ROIPooling-2");
  const std::vector<std::string> cell = {"f32[1,2]", "f32[1,3]", "f32[9,2]", "f32[9,3]", "f32[9]"};
  for (const char* set : {"experimental", "extension"}) {
    EXPECT_EQ(understood({"GRUCell", set, "hidden_size=\"3\"", cell}).substr(0, 9), "GRUCell-3") << set;
    EXPECT_EQ(
        understood({"RNNCell", set, "hidden_size=\"3\"", {"f32[1,2]", "f32[1,3]", "f32[3,2]", "f32[3,3]", "f32[3]"}})
            .substr(0, 9),
        "RNNCell-1")
        << set;
    EXPECT_EQ(understood({"ExperimentalDetectronTopKROIs", set, "max_rois=\"7\"", {"f32[9,4]", "f32[9]"}}),
              "ExperimentalDetectronTopKROIs-6 max_rois=7")
        << set;
  }
}

TEST(Quirks, SpellingsOfAttributesThatDifferFromThePages) {
  const std::vector<std::string> boxes = {"f32[1,6,4]", "f32[1,2,6]"};
  for (const char* name : {"sort_result", "sort_result_type"}) {
    const std::string data = std::string(name) + "=\"classid\"";
    EXPECT_NE(understood({"MatrixNms", "opset8", data, boxes, 3}).find(" sort_result_type=classid"), std::string::npos);
    EXPECT_NE(understood({"MulticlassNms", "opset8", data, boxes, 3}).find(" sort_result_type=classid"),
              std::string::npos);
  }
  EXPECT_NE(understood({"AvgPool",
                        "opset1",
                        "kernel=\"2,2\" strides=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\" exclude-pad=\"true\"",
                        {"f32[1,1,4,4]"}})
                .find(" exclude-pad=true"),
            std::string::npos);
  EXPECT_EQ(understood({"Gelu", "opset7", "approximation_mode=\"TANH\"", {"f32[2]"}}),
            understood({"Gelu", "opset7", "approximation_mode=\"tanh\"", {"f32[2]"}}));
  EXPECT_NE(understood({"MVN",
                        "opset6",
                        "normalize_variance=\"true\" eps=\"1e-5\" eps_mode=\"INSIDE_SQRT\"",
                        {"f32[2,3]", "i64[1]"}}),
            understood({"MVN",
                        "opset6",
                        "normalize_variance=\"true\" eps=\"1e-5\" eps_mode=\"outside_sqrt\"",
                        {"f32[2,3]", "i64[1]"}}));
  EXPECT_NE(understood({"Add",
                        "opset1",
                        "auto_broadcast=\"pdpd\" auto_broadcast.auto_broadcast_axis=\"1\"",
                        {"f32[2,3,4]", "f32[3]"}})
                .find("auto_broadcast_axis=1"),
            std::string::npos);
  EXPECT_EQ(understood({"Convert", "opset1", "destination_type=\"FP16\"", {"f32[2]"}}),
            "Convert-1 destination_type=f16");
}

TEST(Quirks, PortNumbersOfLstmCellSkipTheInputThatWasNotWritten) {
  OneLayer cell{"LSTMCell",
                "opset1",
                "hidden_size=\"3\"",
                {"f32[1,2]", "f32[1,3]", "f32[1,3]", "f32[12,2]", "f32[12,3]", "f32[12]"},
                2,
                true};
  const auto graph = read(cell.xml());
  const Node& node = graph->node(graph->node(graph->results().at(0)).inputs.at(0).node);
  EXPECT_EQ(node.schema->display_name(), "LSTMCell-1");
  ASSERT_EQ(node.inputs.size(), 6u);
  EXPECT_EQ(graph->node(node.inputs[5].node).name, "Parameter5");
  EXPECT_EQ(graph->port({node.id, 1}).shape, (PartialShape{1, 3}));
}

TEST(Quirks, PadsBesideAutoPadMeanNothing) {
  const auto shape_of = [](const char* pads) {
    const auto graph = read(OneLayer{
        "Convolution",
        "opset1",
        std::string("strides=\"1,1\" dilations=\"1,1\" auto_pad=\"same_upper\" ") + pads,
        {"f32[1,3,7,7]",
         "f32[4,3,3,3]"}}.xml());
    return graph->port({graph->results()[0], 0}).shape;
  };
  EXPECT_EQ(shape_of("pads_begin=\"0,0\" pads_end=\"0,0\""), (PartialShape{1, 4, 7, 7}));
  EXPECT_EQ(shape_of("pads_begin=\"5,5\" pads_end=\"5,5\""), (PartialShape{1, 4, 7, 7}));
}

TEST(Quirks, PartsOfALayerComeInAnyOrder) {
  std::string xml = OneLayer{"ReLU", "opset1", "", {"f32[2,3]"}}.xml();
  const std::string input = "<input><port id=\"0\"/></input>", output = "<output><port id=\"100\"/></output>";
  const size_t at = xml.find(input + output);
  ASSERT_NE(at, std::string::npos);
  xml.replace(at, input.size() + output.size(), output + input);
  const auto graph = read(xml);
  EXPECT_EQ(graph->port({graph->results()[0], 0}).shape, (PartialShape{2, 3}));
}

TEST(Quirks, RuntimeInformationOfVersion10IsNotRead) {
  for (const int version : {10, 11}) {
    const auto graph = read_model_from_memory(
        around(layer(1, "ReLU", "", port(0, {2, 3}),
                     "<port id=\"1\" precision=\"FP32\"><dim>2</dim><dim>3</dim><rt_info><attribute name=\"layout\" "
                     "version=\"0\" layout=\"[N,C]\"/></rt_info></port>"),
               version),
        nullptr, nullptr, 0, ops::builtin_registry(), {});
    const Node& relu = graph->node(graph->node(graph->results()[0]).inputs[0].node);
    EXPECT_EQ(relu.outputs[0].rt_info.size(), version == 10 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace terroir::ir
