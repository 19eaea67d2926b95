#include "benchmark_app/per_input.hpp"

#include <stdexcept>

#include "common/report.hpp"

namespace benchmark_app {

bool is_called(const terroir::Output<const terroir::Node>& port, const std::string& name) {
  return port.get_names().count(name) != 0 || port.get_node()->get_friendly_name() == name;
}

size_t port_index(const Ports& ports, const std::string& name, const std::string& option) {
  std::string known;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (is_called(ports[i], name)) return i;
    known += (known.empty() ? "" : ", ") + samples::name(ports[i]);
  }
  throw std::runtime_error(option + ": the model has no input '" + name + "'; its inputs are " + known);
}

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text) {
  throw std::runtime_error(option + ": '" + text + "' is not written as [...] or name[...],name[...]");
}

/// "name[a][b]" at `at`, which moves behind it and the comma after it.
std::pair<std::string, std::vector<std::string>> next_entry(const std::string& text, size_t& at,
                                                            const std::string& option) {
  size_t open = text.find('[', at);
  if (open == std::string::npos) refuse(option, text);
  std::pair<std::string, std::vector<std::string>> entry(text.substr(at, open - at), {});
  while (open < text.size() && text[open] == '[') {
    const size_t close = text.find(']', open);
    if (close == std::string::npos) refuse(option, text);
    entry.second.push_back(text.substr(open + 1, close - open - 1));
    open = close + 1;
  }
  if (open < text.size() && (text[open] != ',' || open + 1 == text.size())) refuse(option, text);
  at = open + 1;
  return entry;
}

}  // namespace

std::map<size_t, std::vector<std::string>> per_input(const std::string& text, const Ports& inputs,
                                                     const std::string& option) {
  std::map<size_t, std::vector<std::string>> result;
  std::vector<std::string> for_all;
  for (size_t at = 0; at < text.size();) {
    const auto [name, values] = next_entry(text, at, option);
    const std::string whom = name.empty() ? "all inputs" : "the input '" + name + "'";
    const bool is_new =
        name.empty() ? for_all.empty() : result.emplace(port_index(inputs, name, option), values).second;
    if (!is_new) throw std::runtime_error(option + ": '" + text + "' names " + whom + " twice");
    if (name.empty()) for_all = values;
  }
  for (size_t i = 0; !for_all.empty() && i < inputs.size(); ++i) result.emplace(i, for_all);
  return result;
}

std::map<size_t, std::string> one_per_input(const std::string& text, const Ports& inputs, const std::string& option) {
  std::map<size_t, std::string> result;
  for (const auto& [i, values] : per_input(text, inputs, option)) {
    if (values.size() != 1) {
      throw std::runtime_error(option + ": '" + text + "' gives the input '" + samples::name(inputs[i]) + "' " +
                               std::to_string(values.size()) + " values; it can have one");
    }
    result.emplace(i, values.front());
  }
  return result;
}

}  // namespace benchmark_app
