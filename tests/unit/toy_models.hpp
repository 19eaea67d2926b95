#pragma once
// IR files as text for tests of the reader. Every line feed counts: errors name lines.
#include <cstring>
#include <string>
#include <vector>

#include "ir/xml/reader.hpp"
#include "tests/unit/toy_ops.hpp"

namespace terroir::test {

/// <net> on line 1, <layers> on line 2, the first layer on line 3.
inline std::string net(const std::string& layers, const std::string& edges, int version = 11,
                       const std::string& rest = {}) {
  return "<net name=\"m\" version=\"" + std::to_string(version) + "\">\n<layers>\n" + layers + "</layers>\n<edges>\n" +
         edges + "</edges>\n" + rest + "</net>\n";
}

inline std::string dims(const std::vector<int>& extents) {
  std::string text;
  for (const int extent : extents) text += "<dim>" + std::to_string(extent) + "</dim>";
  return text;
}

inline std::string port(int id, const std::vector<int>& extents, const std::string& more = {},
                        const std::string& precision = "FP32") {
  return "<port id=\"" + std::to_string(id) + "\" precision=\"" + precision + "\" " + more + ">" + dims(extents) +
         "</port>";
}

/// One line.
inline std::string layer(int id, const std::string& type, const std::string& data, const std::string& inputs,
                         const std::string& outputs, const std::string& opset = "opset1") {
  return "<layer id=\"" + std::to_string(id) + "\" name=\"" + type + std::to_string(id) + "\" type=\"" + type +
         "\" version=\"" + opset + "\">" + (data.empty() ? "" : "<data " + data + "/>") +
         (inputs.empty() ? "" : "<input>" + inputs + "</input>") +
         (outputs.empty() ? "" : "<output>" + outputs + "</output>") + "</layer>\n";
}

inline std::string edge(int from, int from_port, int to, int to_port) {
  const auto attribute = [](const char* name, int value) {
    return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
  };
  return "<edge" + attribute("from-layer", from) + attribute("from-port", from_port) + attribute("to-layer", to) +
         attribute("to-port", to_port) + "/>\n";
}

inline std::string parameter(int id, const std::string& shape = "2,3", const std::vector<int>& port_dims = {2, 3}) {
  return layer(id, "Parameter", "shape=\"" + shape + "\" element_type=\"f32\"", "", port(0, port_dims));
}
inline std::string result(int id, const std::vector<int>& port_dims = {2, 3}) {
  return layer(id, "Result", "", port(0, port_dims), "");
}

/// Parameter 0 -> `middle` (layer 1, input port 0, output port 1) -> Result 2; the middle layer is on line 4.
inline std::string around(const std::string& middle, int version = 11, const std::string& rest = {}) {
  return net(parameter(0) + middle + result(2), edge(0, 0, 1, 0) + edge(1, 1, 2, 0), version, rest);
}
inline std::string relu(const std::string& data = {}) {
  return layer(1, "ReLU", data, port(0, {2, 3}), port(1, {2, 3}));
}

struct Read {
  std::vector<std::string> warnings;
  bool strict = false;

  std::unique_ptr<ir::Graph> operator()(const std::string& xml, const std::string& weights = {}) {
    ir::ReaderOptions options;
    options.strict = strict;
    options.on_warning = [this](const std::string& text) { warnings.push_back(text); };
    // A copy of exactly that size in the heap, so that a sanitizer sees reads past its end.
    auto owner = std::shared_ptr<std::byte[]>(new std::byte[weights.size()]);
    if (!weights.empty()) std::memcpy(owner.get(), weights.data(), weights.size());
    return ir::read_model_from_memory(xml, owner, owner.get(), weights.size(), toy_registry(), options);
  }
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace terroir::test
