// What the reader says about models that are not sound. Each case names place, layer, expectation and finding.
#include <gtest/gtest.h>

#include "ir/xml/walk.hpp"
#include "tests/unit/refused_models.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

void expect_error(const std::string& xml, const std::string& pattern, ErrorCode code = ErrorCode::parse_error,
                  const std::string& weights = {}) {
  const Exception error = expect_unreadable(xml, pattern, weights);
  EXPECT_EQ(to_string(error.code()), std::string(to_string(code))) << error.what();
}

std::string toy(const std::string& data) { return around(layer(1, "Toy", data, port(0, {2, 3}), port(1, {2, 3}))); }
const char* const kToy = R"(^Toy 'Toy1' \(layer 1, line 4\): )";

TEST(ReaderErrors, NotAModel) {
  expect_error("", "is empty; an IR model");
  expect_error("hello", "is not XML");
  expect_error("models/model.xml", "is not XML.*the path of a file goes without a tensor of weights");
  expect_error("\x08\x07\x12\x07pytorch", "is an ONNX model, not an IR model.*convert it", ErrorCode::unsupported);
  expect_error("\n \n", "is not XML");
  expect_error(std::string("\0\1\2", 3), "is not XML|not well-formed");
  expect_error("<net name=\"m\" version=\"11\">\n<layers>\n<layer", "^line 3: not well-formed XML: .*cut short");
  expect_error("<net>\n</nett>", "^line 2: not well-formed XML");
  expect_error("<html version=\"11\"/>", "^line 1: the root element is <html>, <net>");
  expect_error("<net name=\"m\" version=\"11\"><layers/></net><net/>", "second root element");
}

TEST(ReaderErrors, FilesNamedAsOtherModels) {
  const auto read = [](const std::string& text) { return xml::walk_model(text, "m.onnx", {}); };
  const auto message = [&](const std::string& text) { return caught([&] { read(text); }).message(); };
  EXPECT_EQ(message("").find("'m.onnx' is empty; an IR model"), 0u) << message("");
  for (const char* text : {"\xEF\xBB\xBF", " \r\n\t", "\xEF\xBB\xBF\n"})
    EXPECT_EQ(message(text).find("'m.onnx' is not XML; an IR model"), 0u) << message(text);
  for (const char* text : {"\x08\x07\x12\x07pytorch", "\x12\x07pytorch", "\xEF\xBB", "\n\x12\x07pytorch"})
    EXPECT_EQ(message(text).find("'m.onnx' is an ONNX model"), 0u) << message(text);
  for (const char* before : {"", "\xEF\xBB\xBF", "\n", "\xEF\xBB\xBF \r\n\t"})
    EXPECT_EQ(read(before + net("", "")).name, "m") << before;
}

TEST(ReaderErrors, Version) {
  expect_error("<net name=\"m\"/>", "line 1: <net> has no attribute 'version'");
  expect_error("<net version=\"x\"/>", "attribute 'version' of <net> must be an integer, got 'x'");
  expect_error("<net version=\"7\"/>", "IR version 7 is too old, versions 10 and 11", ErrorCode::unsupported);
  expect_error("<net version=\"12\"/>", "IR version 12 is newer", ErrorCode::unsupported);
}

TEST(ReaderErrors, Container) {
  expect_error("<net version=\"11\"/>", "line 1: <net> has no <layers>");
  expect_error(net("", ""), "the graph has no outputs");
  expect_error(net("<lair/>\n", ""), "line 3: <layers> holds <layer> elements, found <lair>");
  expect_error(net("<layer id=\"0\" name=\"a\" version=\"opset1\"/>\n", ""), "line 3: <layer> has no attribute 'type'");
  expect_error(net("<layer name=\"a\" type=\"ReLU\" version=\"opset1\"/>\n", ""), "line 3: .*no attribute 'id'");
  expect_error(net("<layer id=\"-1\" name=\"a\" type=\"ReLU\" version=\"opset1\"/>\n", ""), "'id'.*not be negative");
  expect_error(net("<layer id=\"0\" type=\"ReLU\" version=\"opset1\"/>\n", ""), "no attribute 'name'");
  expect_error(net("<layer id=\"0\" name=\"a\" type=\"ReLU\"/>\n", ""),
               "layer 0 'a' has no attribute 'version'.*dumps");
  expect_error(net("<layer id=\"0\" name=\"a\" type=\"ReLU\" version=\"opset1\"><data/><data/></layer>\n", ""),
               "line 3: ReLU 'a' .*second <data>");
  expect_error(net(parameter(0) + result(0), ""), "line 4: two layers have the id 0: Parameter.*Result");
  expect_error(net(parameter(0) + result(1), "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\"/>\n"),
               "line 7: <edge> has no attribute 'to-port'");
}

TEST(ReaderErrors, Ports) {
  const auto with_port = [](const std::string& text) {
    return around("<layer id=\"1\" name=\"r\" type=\"ReLU\" version=\"opset1\"><input>" + port(0, {2, 3}) +
                  "</input><output>" + text + "</output></layer>\n");
  };
  expect_error(with_port("<port id=\"1\" precision=\"FP32\"><dim>x</dim></port>"), "line 4: <dim> must be .*got 'x'");
  expect_error(with_port("<port id=\"1\" precision=\"FP32\"><dim>-2</dim></port>"), "<dim> must be .*got '-2'");
  expect_error(with_port("<port id=\"1\" precision=\"FP33\"/>"),
               R"(ReLU 'r' \(layer 1, line 4\): output port 1: unknown element type 'FP33')",
               ErrorCode::invalid_argument);
  expect_error(with_port(port(1, {2, 3}) + port(1, {2, 3})), "two output ports with the id 1");
  expect_error(with_port(port(1, std::vector<int>(65, 1))), "a port of 65 dimensions; at most 64");
  expect_error(with_port(port(1, {2, 3}) + port(2, {2, 3})), "ReLU-1 has 1 outputs, the file gives it 2 output ports");
}

TEST(ReaderErrors, Edges) {
  const std::string layers = parameter(0) + relu() + result(2);
  expect_error(net(layers, edge(0, 0, 1, 0) + edge(1, 1, 5, 0)), "line 9: the edge .*there is no layer 5 .*'to-layer'");
  expect_error(net(layers, edge(7, 0, 1, 0) + edge(1, 1, 2, 0)), "line 8: .*there is no layer 7 .*'from-layer'");
  expect_error(net(layers, edge(0, 4, 1, 0)), "Parameter 'Parameter0' .*has no output port 4; its output ports: 0");
  expect_error(net(layers, edge(0, 0, 1, 3)), "ReLU 'ReLU1' .*has no input port 3; its input ports: 0");
  expect_error(net(layers, edge(0, 0, 1, 0) + edge(0, 0, 1, 0) + edge(1, 1, 2, 0)),
               "line 9: input port 0 of ReLU 'ReLU1' .*is fed twice: by Parameter");
  expect_error(net(layers, edge(1, 1, 2, 0)), R"(line 4: input port 0 of ReLU 'ReLU1' \(layer 1, line 4\) is not fed)");
  expect_error(net(layers, edge(0, 0, 1, 0)), "input port 0 of Result 'Result2' .* is not fed");
}

TEST(ReaderErrors, ResultsFeedNothing) {
  const std::string end = layer(1, "Result", "", port(0, {2, 3}), port(1, {2, 3}));
  expect_error(net(parameter(0) + end + result(2), edge(0, 0, 1, 0) + edge(1, 1, 2, 0)),
               "line 9: the edge to Result 'Result2' .*: Result 'Result1' .*is an end of the model");
}

TEST(ReaderErrors, Cycle) {
  const auto add = [](int id) { return layer(id, "Add", "", port(0, {2, 3}) + port(1, {2, 3}), port(2, {2, 3})); };
  expect_error(net(parameter(0) + add(1) + add(2) + result(3),
                   edge(0, 0, 1, 0) + edge(2, 2, 1, 1) + edge(0, 0, 2, 0) + edge(1, 2, 2, 1) + edge(2, 2, 3, 0)),
               "cycl.*Add1.*Add2|cycl.*Add2.*Add1", ErrorCode::invalid_argument);
}

TEST(ReaderErrors, Operations) {
  expect_error(
      around(layer(1, "Rely", "", port(0, {2, 3}), port(1, {2, 3}))),
      R"(^Rely 'Rely1' \(layer 1, line 4\): unknown operation 'Rely' of 'opset1'; the nearest known one is 'ReLU')",
      ErrorCode::unsupported);
  expect_error(around(layer(1, "Assign", "variable_id=\"v\"", port(0, {2, 3}), port(1, {2, 3}), "opset3")),
               "operation 'Assign' is not in 'opset3'; it is known in opset6", ErrorCode::unsupported);
  expect_error(around(layer(1, "Refuse", "", port(0, {2, 3}), port(1, {2, 3}))),
               R"(^Refuse 'Refuse1' \(layer 1, line 4\): refused: \[2,3\])", ErrorCode::invalid_argument);
  expect_error(around(layer(1, "Add", "", port(0, {2, 3}), port(1, {2, 3}))), "Add 'Add1'.*Add-1 takes 2 inputs, got 1",
               ErrorCode::invalid_argument);
  expect_error(around(layer(1, "Halves", "", port(0, {2, 3}), port(1, {2, 3}) + port(2, {2, 3}) + port(3, {2, 3}))),
               "Halves 'Halves1'.*Halves-1 has 2 outputs here, the file gives it 3");
}

TEST(ReaderErrors, Attributes) {
  expect_error(toy("scale=\"1\""), std::string(kToy) + "required attribute 'count' of Toy-1 is missing");
  expect_error(toy("counts=\"1\""), "required attribute 'count'.*is 'counts' meant to be it");
  expect_error(
      toy("count=\"1\" scala=\"2\""),
      std::string(kToy) + "unknown attribute 'scala' = '2' of Toy-1, did you mean 'scale'.*it has: count, scale");
  expect_error(toy("count=\"1\" count=\"2\""), "attribute 'count' is given twice");
  expect_error(toy("count=\"\""), "'count' must be an integer, got ''");
  expect_error(toy("count=\"1.5\""), "'count' must be an integer, got '1.5'");
  expect_error(toy("count=\"99999999999999999999\""), "'count' must be an integer");
  expect_error(toy("count=\"1\" scale=\"big\""), "'scale' must be a number, got 'big'");
  expect_error(toy("count=\"1\" flag=\"yes\""), "'flag' must be true or false, got 'yes'");
  expect_error(toy("count=\"1\" mode=\"secnd\""),
               "'mode' must be one of first, second, got 'secnd', did you mean 'second'");
  expect_error(toy("count=\"1\" to=\"f31\""), "attribute 'to': unknown element type 'f31'",
               ErrorCode::invalid_argument);
  expect_error(toy("count=\"1\" form=\"1,...\""), "'form' must be a shape .*got '1,...'");
  expect_error(toy("count=\"1\" form=\"1,,2\""), "'form' must be a shape");
  expect_error(toy("count=\"1\" form=\"5..2\""), "'form' must be a shape");
  expect_error(toy("count=\"1\" steps=\"1,,2\""), "'steps' must be integers separated by commas, got '1,,2'");
  expect_error(toy("count=\"1\" steps=\"1,2,\""), "'steps' must be integers");
  expect_error(toy("count=\"1\" steps=\"[1,2]\""), "'steps' must be integers");
  expect_error(toy("count=\"1\" factors=\"1;2\""), "'factors' must be numbers");
  expect_error(toy("count=\"1\" words=\"a,,b\""), "'words' must be words");
}

TEST(ReaderErrors, Constants) {
  const auto constant = [](const std::string& data) {
    return net(layer(0, "Const", data, "", port(0, {2})) + result(1, {2}), edge(0, 0, 1, 0));
  };
  const std::string where = R"(^Const 'Const0' \(layer 0, line 3\): )";
  const std::string eight = bytes_of<float>({1, 2});
  expect_error(constant("element_type=\"f32\" shape=\"2\" size=\"8\""),
               where + "required attribute 'offset' is missing");
  expect_error(constant("element_type=\"f32\" shape=\"2\" offset=\"0\""),
               where + "required attribute 'size' is missing");
  expect_error(constant("element_type=\"f32\" offset=\"0\" size=\"8\""), where + "required attribute 'shape'");
  expect_error(constant("element_type=\"f32\" shape=\"2\" offset=\"-1\" size=\"8\""),
               "'offset' must be a number of bytes, got '-1'");
  expect_error(constant("element_type=\"f32\" shape=\"2\" offset=\"0\" size=\"18446744073709551615\""),
               "'size' must be a number of bytes");
  expect_error(constant("element_type=\"f32\" shape=\"2\" offset=\"1\" size=\"8\""),
               where + "needs 8 bytes at offset 1, but the weights buffer has 8 bytes; is it cut short",
               ErrorCode::parse_error, eight);
  expect_error(constant("element_type=\"f32\" shape=\"2\" offset=\"9223372036854775807\" size=\"8\""),
               "needs 8 bytes at offset 9223372036854775807", ErrorCode::parse_error, eight);
  expect_error(constant("element_type=\"f32\" shape=\"3\" offset=\"0\" size=\"8\""),
               R"('size' is 8 bytes, but f32 of shape \[3\] needs 12)", ErrorCode::parse_error, eight);
  expect_error(constant("element_type=\"f32\" shape=\"1\" offset=\"0\" size=\"8\""), "'size' is 8 bytes.*needs 4",
               ErrorCode::parse_error, eight);
  expect_error(constant("element_type=\"i4\" shape=\"3\" offset=\"0\" size=\"1\""), "i4 of shape .* needs 2",
               ErrorCode::parse_error, eight);
  expect_error(constant("element_type=\"f32\" shape=\"?\" offset=\"0\" size=\"8\""),
               "'shape' of a constant must be known");
  expect_error(constant("element_type=\"dynamic\" shape=\"2\" offset=\"0\" size=\"8\""), "dynamic element type");
  expect_error(constant("element_type=\"f32\" shape=\"4611686018427387904,4\" offset=\"0\" size=\"8\""),
               "does not fit 64 bits", ErrorCode::out_of_memory);
  expect_error(constant("element_type=\"f32\" shape=\"4611686018427387904\" offset=\"0\" size=\"8\""),
               "does not fit 64 bits", ErrorCode::out_of_memory);
  expect_error(net(parameter(0) +
                       layer(1, "Const", "element_type=\"f32\" shape=\"2\" offset=\"0\" size=\"8\"", port(0, {2, 3}),
                             port(1, {2})) +
                       result(2),
                   edge(0, 0, 1, 0) + edge(1, 1, 2, 0)),
               "a constant has no inputs, found 1", ErrorCode::parse_error, eight);
}

TEST(ReaderErrors, StringConstants) {
  const auto read = [](const std::string& blob, int count, const std::string& pattern) {
    expect_error(net(layer(0, "Const",
                           "element_type=\"string\" shape=\"" + std::to_string(count) + "\" offset=\"0\" size=\"" +
                               std::to_string(blob.size()) + "\"",
                           "", port(0, {count}, "", "STRING")) +
                         result(1, {count}),
                     edge(0, 0, 1, 0)),
                 pattern, ErrorCode::parse_error, blob);
  };
  read("", 1, "ends after 0 bytes, within its table");
  read(bytes_of<int32_t>({2, 0, 0, 0}), 1, R"(holds 2 strings, its shape \[1\] asks for 1)");
  read(bytes_of<int32_t>({-1}), 1, "negative entry -1");
  read(bytes_of<int32_t>({1000, 0}), 1000, "too short for 1000 strings");
  read(bytes_of<int32_t>({1, 1, 1}) + "a", 1, "first string must begin at 0, found 1");
  read(bytes_of<int32_t>({1, 0, 5}) + "a", 1, "string 0 ends at 5, expected from 0 to 1");
  read(bytes_of<int32_t>({2, 0, 1, 0}) + "a", 2, "string 1 ends at 0, expected from 1 to 1");
  read(bytes_of<int32_t>({1, 0, 1}) + "ab", 1, "has 14 bytes, its strings need 13");
}

TEST(ReaderErrors, RuntimeInformation) {
  const std::string twice =
      "<rt_info><attribute name=\"a\" version=\"0\"/><attribute name=\"a\" version=\"0\"/></rt_info>";
  expect_error(around("<layer id=\"1\" name=\"r\" type=\"ReLU\" version=\"opset1\">" + twice + "<input>" +
                      port(0, {2, 3}) + "</input><output>" + port(1, {2, 3}) + "</output></layer>\n"),
               "line 4: <rt_info> has two entries named 'a'");
  std::string deep, end;
  for (int i = 0; i < 200; ++i) {
    deep += "<k>";
    end += "</k>";
  }
  expect_error(around(relu(), 11, "<rt_info>" + deep + end + "</rt_info>"), "<rt_info> nests deeper than 64");
}

}  // namespace
}  // namespace terroir::ir
