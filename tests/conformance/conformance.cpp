#include "tests/conformance/conformance.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/conformance/open_order.hpp"
#include "tests/conformance/sixteen_bits.hpp"
#include "tests/support/device.hpp"
#include "tests/support/npy.hpp"

namespace terroir::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw_error(ErrorCode::file_not_found, path.string(), " cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

fs::path numbered(const fs::path& folder, const char* stem, size_t index) {
  return folder / (stem + std::to_string(index) + ".npy");
}

/// The schema of the operation a folder "Type-N" is named after, or null.
const ir::OpSchema* schema_of(const std::string& operation) {
  const size_t dash = operation.rfind('-');
  if (dash == std::string::npos) return nullptr;
  const auto* schema = ops::builtin_registry().find(operation.substr(0, dash), "opset" + operation.substr(dash + 1));
  return schema && schema->display_name() == operation ? schema : nullptr;
}

/// What the case's tolerance says; where the operation computes nothing, only a constant may round into the type.
Tolerance tolerance_of(const fs::path& folder, element::Type type, const CaseRules& rules) {
  const ir::OpSchema* schema = schema_of(folder.parent_path().filename().string());
  const bool exact = schema && schema->accuracy == ir::Accuracy::exact;
  return exact ? default_tolerance(type) : rules.tolerance;
}

std::string compare_output(const HostTensor& expected, const HostTensor& actual, const plugin::PortInfo& port,
                           Tolerance tolerance, int64_t compared) {
  // A file may be flat where the model leaves the shape open.
  if (port.shape.is_static() && expected.type().bitwidth() >= 8 && expected.dims() != actual.dims())
    return concat("shape ", actual.dims(), ", expected ", expected.dims());
  return difference(expected.view(), actual.view(), tolerance, compared > 0 ? compared : -1);
}

/// Whether the extent of the value says how many outputs a node has.
bool counts_outputs(const ir::Graph& graph, ir::Value value) {
  const auto& uses = graph.uses(value);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const ir::Use& use) { return use.input == 2 && graph.node(use.node).is("VariadicSplit"); });
}

void forget_extents(ir::Graph& graph) {
  for (const ir::NodeId id : graph.parameters()) {
    if (counts_outputs(graph, {id, 0})) continue;
    ir::Node& parameter = graph.node(id);
    auto attrs = parameter.attrs<ir::ParameterAttrs>();
    attrs.shape = PartialShape::dynamic(attrs.shape.rank());
    parameter.attributes = ir::make_attributes_of(std::move(attrs));
  }
  ir::infer_graph(graph);
}

std::shared_ptr<const ir::Graph> read_variant(const fs::path& xml, Variant variant) {
  std::unique_ptr<ir::Graph> graph = ir::read_model(xml.string(), {}, ops::builtin_registry());
  if (variant == Variant::rewritten) return cpu::rewrite_portable(*graph);
  if (variant == Variant::dynamic) forget_extents(*graph);
  return graph;
}

}  // namespace

CaseRules read_rules(const fs::path& file) {
  std::map<std::string, std::string> entries;
  std::istringstream lines(text_of(file));
  for (std::string key, value; lines >> key >> value;) entries[key] = value;
  for (const char* key : {"rtol", "atol", "compare"})
    if (!entries.contains(key)) throw_error(ErrorCode::parse_error, file.string(), " has no line '", key, "'");
  constexpr double kCountsAsEqual = 1e-4;
  CaseRules rules;
  rules.tolerance.relative = std::max(0.0, std::stod(entries["rtol"]));
  rules.tolerance.absolute = std::stod(entries["atol"]);
  if (rules.tolerance.absolute < 0) rules.tolerance.absolute = kCountsAsEqual;
  rules.compared = std::stoll(entries["compare"]);
  return rules;
}

std::vector<std::string> unknown_operations(const fs::path& xml) {
  static const std::regex layer(R"rx(<layer\b[^>]*>)rx");
  static const std::regex type(R"rx(\btype="([^"]*)")rx");
  static const std::regex version(R"rx(\bversion="([^"]*)")rx");
  const std::string text = text_of(xml);
  std::set<std::string> unknown;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), layer); at != std::sregex_iterator(); ++at) {
    const std::string tag = at->str();
    std::smatch found_type, found_version;
    if (!std::regex_search(tag, found_type, type) || !std::regex_search(tag, found_version, version)) continue;
    const auto* schema = ops::builtin_registry().find(found_type.str(1), found_version.str(1));
    static const std::set<std::string_view> without_reference = {"Const", "Parameter", "If", "Loop", "TensorIterator"};
    const bool runs = schema && (schema->reference || without_reference.contains(schema->type));
    if (!runs) unknown.insert(found_type.str(1) + "-" + std::to_string(ir::opset_number(found_version.str(1))));
  }
  return {unknown.begin(), unknown.end()};
}

CaseResult run_case(const fs::path& folder, const std::string& device, Variant variant) {
  try {
    const CaseRules rules = read_rules(folder / "case.txt");
    // The expected values are those of reference tests, which compute in the types of the model.
    plugin::Config config;
    if (device == "INTERPRETER") config.inference_precision = element::f16;
    const std::shared_ptr<const ir::Graph> graph = read_variant(folder / "model.xml", variant);
    DeviceModel model(graph, device, config);
    if (variant == Variant::stored) model = model.stored_and_loaded();
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < model.inputs().size(); ++i) {
      HostTensor input = read_npy(numbered(folder, "in", i), model.inputs()[i].type);
      const PartialShape shape = ir::to_shape(input.dims());
      if (!model.inputs()[i].shape.compatible(shape))
        return {concat("input ", i, " has the shape ", shape, " for ", model.inputs()[i].shape)};
      inputs.push_back(std::move(input));
    }
    const std::vector<HostTensor> outputs = model.infer(inputs);
    if (!fs::exists(numbered(folder, "out", 0))) return {"there is no expected output"};
    if (fs::exists(numbered(folder, "out", outputs.size())))
      return {concat("the model has ", outputs.size(), " outputs, but more are expected")};
    // What may differ follows from the model as its file has it, not from what became of it.
    const std::shared_ptr<const ir::Graph> as_read =
        variant == Variant::as_read ? graph : read_variant(folder / "model.xml", Variant::as_read);
    std::vector<HostTensor> expected;
    for (size_t i = 0; i < outputs.size(); ++i)
      expected.push_back(read_npy(numbered(folder, "out", i), outputs[i].type()));
    if (const auto open = open_orders(*as_read); !open.empty()) {
      std::string text;
      for (const OpenOrder& order : open) text += top_k_difference(order, inputs.at(0), expected, outputs);
      return {text};
    }
    std::optional<SixteenBitSpread> spread;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tolerance tolerance = tolerance_of(folder, outputs[i].type(), rules);
      const std::string text = compare_output(expected[i], outputs[i], model.outputs()[i], tolerance, rules.compared);
      if (text.empty()) continue;
      if (!spread && has_sixteen_bit_results(*as_read)) spread.emplace(*as_read, inputs, expected);
      if (!spread || !spread->explains(i, outputs[i], tolerance, rules.compared))
        return {concat("output ", i, ": ", text)};
    }
    return {{}, spread.has_value()};
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

std::map<std::string, std::string> read_exclusions(const fs::path& file) {
  std::map<std::string, std::string> exclusions;
  std::istringstream lines(text_of(file));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const size_t blank = line.find(' ');
    const size_t reason = line.find_first_not_of(' ', blank);
    if (blank == std::string::npos || reason == std::string::npos)
      throw_error(ErrorCode::parse_error, file.string(), ": '", line, "' gives no reason");
    if (!exclusions.emplace(line.substr(0, blank), line.substr(reason)).second)
      throw_error(ErrorCode::parse_error, file.string(), ": ", line.substr(0, blank), " is listed twice");
  }
  return exclusions;
}

}  // namespace terroir::test
