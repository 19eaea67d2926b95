// Steps of an output.
#include <algorithm>
#include <ostream>

#include "ir/base/error.hpp"
#include "runtime/api/preprocess_color.hpp"
#include "runtime/api/preprocess_state.hpp"

namespace terroir::preprocess::detail {

using terroir::detail::GraphState;
using terroir::detail::NodeAccess;

std::string describe(const Output<Node>& value, const Layout& layout, ColorFormat color) {
  return concat(value.get_partial_shape(), ", ", layout.empty() ? "<no layout>" : layout.to_string(), ", ",
                value.get_element_type(), color == ColorFormat::UNDEFINED ? "" : ", ",
                color == ColorFormat::UNDEFINED ? "" : name_of(color));
}

void run_steps(const std::vector<Step>& steps, const char* kind, Flow& flow, std::ostream* log) {
  if (log != nullptr && !steps.empty()) *log << "    " << kind << " (" << steps.size() << "):\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto now = [&] { return describe(flow.values.front(), flow.layout, flow.color); };
    if (log != nullptr) *log << "      " << steps[i].text << ": (" << now() << ')';
    with_context([&] { return concat("step ", i + 1, ", ", steps[i].text); }, [&] { steps[i].apply(flow); });
    if (log != nullptr) *log << " -> (" << now() << ")\n";
  }
}

namespace {

bool another_result_reads(const ir::Graph& graph, ir::Value value, ir::NodeId result) {
  const auto& uses = graph.uses(value);
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    return use.node != result && graph.node(use.node).is(ir::kResultType);
  });
}

/// The tensor names become the output's own, so that it is found as before. A layer of the file without tensor names
/// was found by its own name.
void keep_names(ir::Graph& graph, ir::NodeId result) {
  auto& own = graph.port({result, 0}).names;
  const ir::Value from = graph.node(result).inputs.at(0);
  const ir::Node& source = graph.node(from.node);
  if (source.is(ir::kParameterType)) return;  // what it is called else is the input's
  ir::OutputPort& port = graph.port(from);
  const bool is_shared = another_result_reads(graph, from, result);
  if (!is_shared) port.rt_info.erase("layout");
  if (!own.empty()) return;
  own = port.names;
  if (own.empty()) own = {source.outputs.size() == 1 ? source.name : concat(source.name, ".", from.output)};
  if (!is_shared) port.names.clear();
}

void log_model(std::ostream& log, const std::vector<std::string>& names, const std::string& model) {
  log << "Output ";
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (!names.empty()) log << '"' << text << '"';
  log << ":\n    Model's data tensor: " << model << '\n';
}

}  // namespace

void add_steps(const std::shared_ptr<GraphState>& state, ir::NodeId result, OutputInfo& info, std::ostream* log) {
  const TensorInfo& tensor = InfoAccess::info(info.tensor());
  const TensorInfo& model = InfoAccess::info(info.model());
  const PostSteps& steps = InfoAccess::steps(info.postprocess());
  const ir::Value source = state->graph->node(result).inputs.at(0);
  const Output<Node> output = NodeAccess::port(state, {result, 0});

  Flow flow;
  flow.values = {NodeAccess::port(state, source)};
  flow.layout = model.layout.value_or(layout::get_layout(output));
  flow.color = model.color;
  flow.target_layout = tensor.layout.value_or(Layout());
  flow.target_type = tensor.type.value_or(element::dynamic);
  flow.name = state->graph->node(source.node).name;

  const bool changes = !steps.steps.empty() || (tensor.layout && *tensor.layout != flow.layout) ||
                       (tensor.type && *tensor.type != output.get_element_type());
  if (!changes) log = nullptr;
  if (log != nullptr) log_model(*log, NodeAccess::names(output), describe(output, flow.layout));
  run_steps(steps.steps, "Post-processing steps", flow, log);
  run_steps(implicit_steps(flow), "Post-processing implicit steps", flow, log);
  if (log != nullptr) *log << "    User's output tensor: " << describe(flow.values.front(), flow.layout) << '\n';

  const Output<Node>& last = flow.values.front();
  const ir::Value value{NodeAccess::id(*last.get_node()), static_cast<int32_t>(last.get_index())};
  if (value != source) {
    const bool is_input = state->graph->node(source.node).is(ir::kParameterType);  // whose information it is then
    const RTMap known = is_input ? RTMap() : std::as_const(output).get_rt_info();
    ir::Graph& graph = state->writable();
    keep_names(graph, result);
    graph.set_input({result, 0}, value);
    graph.port({result, 0}).type = last.get_element_type();
    graph.port({result, 0}).shape = last.get_partial_shape();
    graph.port({result, 0}).declared.reset();
    for (const auto& [key, what] : known) {
      if (key != "layout") Output<Node>(output).get_rt_info().emplace(key, what);
    }
  }
  // The layout of a tensor that is also an input is that of the input.
  if (!flow.layout.empty() && !state->graph->node(value.node).is(ir::kParameterType)) {
    layout::set_layout(output, flow.layout);
  }
}

}  // namespace terroir::preprocess::detail
