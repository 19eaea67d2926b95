#include "tests/ops/case_check.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/support/attribute_setter.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using interpreter::HostTensor;

/// How much the graph of a case tells inference.
enum class Knowledge { all, no_values, no_shapes };

/// Ops of which some inputs must be constants with a rank before the number of outputs can be told.
const std::set<std::string>& ops_that_need_values() {
  static const std::set<std::string> ops = {"VariadicSplit-1"};
  return ops;
}

std::string at(const Case& c, int line) { return c.file + ":" + std::to_string(line) + ": "; }

HostTensor make_tensor(const Case& c, const CaseTensor& written) {
  try {
    const std::vector<std::string>& values = *written.values;
    PartialShape shape = written.shape;
    // The size of a result may depend on data; then the number of values says what the one unknown extent is.
    if (shape.rank().is_static()) {
      int64_t known = 1;
      std::vector<std::ptrdiff_t> unknown;
      for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(shape.size()); ++i)
        if (shape[i].is_static())
          known *= shape[i].get_length();
        else
          unknown.push_back(i);
      if (unknown.size() == 1 && known > 0) shape[unknown[0]] = static_cast<int64_t>(values.size()) / known;
    }
    ir::Dims dims;
    for (const size_t extent : shape.to_shape()) dims.push_back(static_cast<int64_t>(extent));
    if (ir::element_count(dims) != static_cast<int64_t>(values.size()))
      throw_error(ErrorCode::parse_error, values.size(), " values for the shape ", shape);
    HostTensor tensor(written.type, std::move(dims));
    for (size_t i = 0; i < values.size(); ++i) set_element(tensor.writable(), static_cast<int64_t>(i), values[i]);
    return tensor;
  } catch (Exception& error) {
    error.add_context(c.file + ":" + std::to_string(written.line));
    throw;
  }
}

struct OneOpGraph {
  std::unique_ptr<ir::Graph> graph = std::make_unique<ir::Graph>("case");
  ir::NodeId node = ir::NodeId::none;
};

OneOpGraph build(const Case& c, const ir::OpSchema& schema, const ir::OpRegistry& registry, Knowledge knowledge) {
  OneOpGraph built;
  std::vector<ir::Value> operands;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const CaseTensor& input = c.inputs[i];
    const std::string name = "in" + std::to_string(i);
    if (input.values && knowledge == Knowledge::all) {
      auto tensor = std::make_shared<HostTensor>(make_tensor(c, input));
      const ir::TensorView view = tensor->view();
      operands.push_back(
          {built.graph->add_constant(registry.get("Const", "opset1"), name, {view, std::move(tensor)}), 0});
    } else {
      ir::ParameterAttrs attrs;
      attrs.element_type = input.type;
      attrs.shape = knowledge == Knowledge::no_shapes ? PartialShape::dynamic() : input.shape;
      operands.push_back(
          {built.graph->add(registry.get("Parameter", "opset1"), name, ir::make_attributes_of(attrs)), 0});
    }
  }
  auto attributes = schema.make_attributes();
  set_attributes(*attributes, c.attributes);
  built.node = built.graph->add(schema, c.name, std::move(attributes), std::move(operands));
  return built;
}

const std::vector<ir::OutputPort>& infer(OneOpGraph& built) {
  ir::infer_graph(*built.graph);
  return built.graph->node(built.node).outputs;
}

void check_error(const Case& c, OneOpGraph& built, std::vector<std::string>& failures) {
  try {
    infer(built);
  } catch (const Exception& error) {
    if (!std::regex_search(std::string(error.what()), std::regex(*c.error)))
      failures.push_back(at(c, c.line) + "the error is '" + error.what() + "', expected one that matches '" + *c.error +
                         "'");
    return;
  }
  std::string shapes;
  for (const ir::OutputPort& port : built.graph->node(built.node).outputs) shapes += concat(" ", port.type, port.shape);
  failures.push_back(at(c, c.line) + "inference must throw an error that matches '" + *c.error + "', but it gave" +
                     shapes);
}

void check_run_error(const Case& c, OneOpGraph built, const ir::OpRegistry& registry,
                     std::vector<std::string>& failures) {
  const size_t outputs = infer(built).size();
  for (size_t i = 0; i < outputs; ++i)
    built.graph->add(registry.get("Result", "opset1"), "out" + std::to_string(i), nullptr,
                     {{built.node, static_cast<int32_t>(i)}});
  std::vector<HostTensor> tensors;
  std::vector<ir::TensorView> inputs;
  for (const CaseTensor& input : c.inputs) tensors.push_back(make_tensor(c, input));
  for (const HostTensor& tensor : tensors) inputs.push_back(tensor.view());
  try {
    interpreter::run(*built.graph, inputs);
    failures.push_back(at(c, c.line) + "running must throw an error that matches '" + *c.run_error + "'");
  } catch (const Exception& error) {
    if (!std::regex_search(std::string(error.what()), std::regex(*c.run_error)))
      failures.push_back(at(c, c.line) + "the error is '" + error.what() + "', expected one that matches '" +
                         *c.run_error + "'");
  }
}

void check_shapes(const Case& c, const std::vector<ir::OutputPort>& outputs, std::vector<std::string>& failures) {
  if (outputs.size() != c.outputs.size())
    failures.push_back(at(c, c.line) +
                       concat("inference gave ", outputs.size(), " outputs, expected ", c.outputs.size()));
  for (size_t i = 0; i < std::min(outputs.size(), c.outputs.size()); ++i) {
    const CaseTensor& expected = c.outputs[i];
    if (outputs[i].type != expected.type || outputs[i].shape != expected.shape)
      failures.push_back(at(c, expected.line) + concat("inference gave ", outputs[i].type, outputs[i].shape,
                                                       " for output ", i, ", expected ", expected.type,
                                                       expected.shape));
  }
}

void check_values(const Case& c, const ir::OpRegistry& registry, OneOpGraph& built,
                  std::vector<std::string>& failures) {
  const ir::OpSchema& result = registry.get("Result", "opset1");
  for (size_t i = 0; i < c.outputs.size(); ++i)
    built.graph->add(result, "out" + std::to_string(i), nullptr, {{built.node, static_cast<int32_t>(i)}});
  const std::vector<HostTensor> outputs = interpreter::run(*built.graph, {});
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!c.outputs[i].values) continue;
    const HostTensor expected = make_tensor(c, c.outputs[i]);
    const Tolerance tolerance = c.tolerance.value_or(default_tolerance(expected.type()));
    std::string text = expected.dims() == outputs[i].dims()
                           ? difference(expected.view(), outputs[i].view(), tolerance)
                           : concat("shape ", outputs[i].dims(), ", expected ", expected.dims());
    if (!text.empty()) failures.push_back(at(c, c.outputs[i].line) + concat("output ", i, " of the reference: ", text));
  }
}

void check_attribute_text(const Case& c, const ir::Node& node, std::vector<std::string>& failures) {
  AttributeTexts texts;
  for (const ir::AttributeText& attribute : ir::to_text(*node.attributes))
    texts.emplace_back(attribute.name, attribute.value);
  auto again = node.schema->make_attributes();
  set_attributes(*again, texts);
  if (!ir::equal(*node.attributes, *again))
    failures.push_back(at(c, c.line) + "the attributes are not the same after printing and reading them");
}

void check_less_knowledge(const Case& c, OneOpGraph built, const char* what, std::vector<std::string>& failures) {
  try {
    const auto& outputs = infer(built);
    if (outputs.size() != c.outputs.size())
      failures.push_back(at(c, c.line) + concat("with ", what, " inference gave ", outputs.size(), " outputs"));
    for (size_t i = 0; i < std::min(outputs.size(), c.outputs.size()); ++i)
      if (!outputs[i].type.compatible(c.outputs[i].type) || !outputs[i].shape.compatible(c.outputs[i].shape))
        failures.push_back(at(c, c.outputs[i].line) +
                           concat("with ", what, " inference gave ", outputs[i].type, outputs[i].shape, " for output ",
                                  i, ", which contradicts ", c.outputs[i].type, c.outputs[i].shape));
  } catch (const Exception& error) {
    failures.push_back(at(c, c.line) + "with " + what + " inference refused: " + error.what());
  }
}

const ir::OpSchema& schema_of(const Case& c, const ir::OpRegistry& registry) {
  const size_t dash = c.op.rfind('-');
  const std::string set = c.op.substr(dash + 1);
  const bool numbered = std::isdigit(static_cast<unsigned char>(set.empty() ? '\0' : set.front())) != 0;
  const ir::OpSchema& schema = registry.get(c.op.substr(0, dash), numbered ? "opset" + set : set);
  if (schema.display_name() != c.op)
    throw_error(ErrorCode::not_found, c.where(), ": there is no ", c.op, "; the nearest is ", schema.display_name());
  return schema;
}

}  // namespace

std::vector<std::string> check_case(const Case& c, const ir::OpRegistry& registry) {
  std::vector<std::string> failures;
  try {
    const ir::OpSchema& schema = schema_of(c, registry);
    OneOpGraph built = build(c, schema, registry, Knowledge::all);
    if (c.error) {
      check_error(c, built, failures);
      return failures;
    }
    if (c.run_error) {
      check_run_error(c, build(c, schema, registry, Knowledge::no_values), registry, failures);
      return failures;
    }
    check_shapes(c, infer(built), failures);
    check_attribute_text(c, built.graph->node(built.node), failures);
    if (c.has_values() && failures.empty()) check_values(c, registry, built, failures);
    if (!ops_that_need_values().contains(c.op)) {
      check_less_knowledge(c, build(c, schema, registry, Knowledge::no_values), "unknown values", failures);
      check_less_knowledge(c, build(c, schema, registry, Knowledge::no_shapes), "unknown ranks", failures);
    }
  } catch (const std::exception& error) {
    failures.push_back(at(c, c.line) + error.what());
  }
  return failures;
}

std::unique_ptr<ir::Graph> graph_of(const Case& c, const ir::OpRegistry& registry) {
  OneOpGraph built = build(c, schema_of(c, registry), registry, Knowledge::all);
  const size_t outputs = infer(built).size();
  if (built.graph->node(built.node).is(ir::kResultType)) return std::move(built.graph);
  for (size_t i = 0; i < outputs; ++i)
    built.graph->add(registry.get("Result", "opset1"), "out" + std::to_string(i), nullptr,
                     {{built.node, static_cast<int32_t>(i)}});
  ir::infer_graph(*built.graph);
  return std::move(built.graph);
}

std::vector<Case> load_case_files(const std::string& folder, std::vector<std::string>& errors) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cases") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Case> all;
  std::set<std::string> names;
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    try {
      for (Case& c : parse_cases(text.str(), path.filename().string())) {
        if (!names.insert(c.op + '.' + c.name).second)
          errors.push_back(c.where() + ": another file has a case '" + c.name + "' of " + c.op + " already");
        else
          all.push_back(std::move(c));
      }
    } catch (const Exception& error) {
      errors.emplace_back(error.what());
    }
  }
  return all;
}

}  // namespace terroir::test
