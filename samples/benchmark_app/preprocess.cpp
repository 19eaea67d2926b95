#include "benchmark_app/preprocess.hpp"

#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>

#include <terroir/preprocess.hpp>

#include "benchmark_app/per_input.hpp"
#include "common/report.hpp"

namespace benchmark_app {
namespace {

using terroir::element::Type;

/// By index; none: as in the model.
using Types = std::map<size_t, Type>;

Type parse_type(const std::string& text, const std::string& option) {
  try {
    const Type type(text);
    if (type.is_static()) return type;
  } catch (const terroir::Exception&) {  // said below
  }
  throw std::runtime_error(option + ": '" + text + "' is no element type; u8, i32, i64, f16, bf16 and f32 are some");
}

std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::optional<size_t> find_port(const Ports& ports, const std::string& name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (is_called(ports[i], name)) return i;
  }
  return std::nullopt;
}

/// "data:u8, prob:f16": names may have colons themselves, types have none.
void parse_port_types(const std::string& text, const Ports& inputs, const Ports& outputs, Types& in, Types& out) {
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string entry = without_blanks(text.substr(at, comma - at));
    at = comma + 1;
    const size_t colon = entry.rfind(':');
    if (colon == std::string::npos) {
      throw std::runtime_error("--iop: '" + entry + "' is not written as name:type");
    }
    const std::string name = entry.substr(0, colon);
    const Type type = parse_type(without_blanks(entry.substr(colon + 1)), "--iop");
    if (const auto i = find_port(inputs, name)) {
      in[*i] = type;
    } else if (const auto o = find_port(outputs, name)) {
      out[*o] = type;
    } else {
      throw std::runtime_error("--iop: the model has no input or output '" + name + "'");
    }
  }
}

std::vector<float> parse_numbers(const std::string& text, const std::string& option) {
  std::vector<float> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = without_blanks(text.substr(at, comma - at));
    char* end = nullptr;
    numbers.push_back(std::strtof(word.c_str(), &end));
    if (word.empty() || *end != '\0') throw std::runtime_error(option + ": '" + text + "' is no list of numbers");
    at = comma + 1;
  }
  return numbers;
}

/// Numbers per channel for the inputs that are images and are named, or all of them. Images without a value have none.
std::map<size_t, std::vector<float>> per_channel(const std::string& text, const Ports& ports,
                                                 const std::vector<Input>& inputs, const std::string& option) {
  std::map<size_t, std::vector<float>> result;
  const bool is_for_all = !text.empty() && text.front() == '[';
  for (const auto& [i, values] : one_per_input(text, ports, option)) {
    if (is_for_all && !inputs[i].is_image()) continue;
    result.emplace(i, parse_numbers(values, option));
  }
  if (!text.empty() && result.empty()) throw std::runtime_error(option + ": no input is an image; --layout says which");
  return result;
}

}  // namespace

void add_preprocessing(const std::shared_ptr<terroir::Model>& model, const std::vector<Input>& inputs,
                       const Options& options) {
  const Ports in_ports = std::as_const(*model).inputs(), out_ports = std::as_const(*model).outputs();
  Types in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!options.input_type.empty()) {
      in[i] = parse_type(options.input_type, "--ip");
    } else if (inputs[i].is_image()) {
      in[i] = terroir::element::u8;
    }
  }
  for (size_t i = 0; i < out_ports.size() && !options.output_type.empty(); ++i) {
    out[i] = parse_type(options.output_type, "--op");
  }
  parse_port_types(options.port_types, in_ports, out_ports, in, out);
  const auto means = per_channel(options.mean_values, in_ports, inputs, "--mean_values");
  const auto scales = per_channel(options.scale_values, in_ports, inputs, "--scale_values");

  terroir::preprocess::PrePostProcessor processor(model);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const auto type = in.find(i); type != in.end()) processor.input(i).tensor().set_element_type(type->second);
    if (!inputs[i].layout.empty()) processor.input(i).model().set_layout(inputs[i].layout);
    const auto mean = means.find(i), scale = scales.find(i);
    auto& steps = processor.input(i).preprocess();
    if (mean != means.end() || scale != scales.end()) steps.convert_element_type(terroir::element::f32);
    if (mean != means.end()) steps.mean(mean->second);
    if (scale != scales.end()) steps.scale(scale->second);
  }
  for (const auto& [i, type] : out) processor.output(i).tensor().set_element_type(type);
  processor.build();
}

}  // namespace benchmark_app
