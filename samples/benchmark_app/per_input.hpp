// Options that say something for each input: "data[1,3,64,64],mask[1,8]".
#pragma once

#include <map>
#include <string>
#include <vector>

#include <terroir/terroir.hpp>

namespace benchmark_app {

using Ports = std::vector<terroir::Output<const terroir::Node>>;

/// Whether this is the name of the port's tensor or of its layer.
bool is_called(const terroir::Output<const terroir::Node>& port, const std::string& name);

/// Index of the port of this name. Throws std::runtime_error that lists the names there are.
size_t port_index(const Ports& ports, const std::string& name, const std::string& option);

/// What stands in brackets for each input, by index; "[...]" without a name is for all of them, and several brackets
/// after one name are several values. Throws std::runtime_error that names the option: another text, an input that
/// does not exist or is named twice.
std::map<size_t, std::vector<std::string>> per_input(const std::string& text, const Ports& inputs,
                                                     const std::string& option);

/// The same for options with one value per input.
std::map<size_t, std::string> one_per_input(const std::string& text, const Ports& inputs, const std::string& option);

}  // namespace benchmark_app
