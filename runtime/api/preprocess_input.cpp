// Steps of an input.
#include <algorithm>
#include <ostream>

#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "runtime/api/layout_axes.hpp"
#include "runtime/api/preprocess_color.hpp"
#include "runtime/api/preprocess_state.hpp"

namespace terroir::preprocess::detail {

using terroir::detail::GraphState;
using terroir::detail::LaidOutShape;
using terroir::detail::NodeAccess;

namespace {

/// The layout that the program's layout becomes by the steps.
Layout after_conversions(Layout layout, const PreSteps& steps) {
  for (const auto& conversion : steps.conversions) {
    if (const auto* explicit_layout = std::get_if<Layout>(&conversion)) {
      layout = *explicit_layout;
    } else {
      layout = terroir::detail::transposed(layout, std::get<std::vector<uint64_t>>(conversion));
    }
  }
  return layout;
}

/// The shape and layout that become those of the model by the transpositions among the steps.
LaidOutShape before_conversions(LaidOutShape model, const PreSteps& steps) {
  for (auto it = steps.conversions.rbegin(); it != steps.conversions.rend(); ++it) {
    const auto* order = std::get_if<std::vector<uint64_t>>(&*it);
    if (order == nullptr) continue;
    const auto back = terroir::detail::inverse_order(*order);
    model = {terroir::detail::transposed(model.shape, back), terroir::detail::transposed(model.layout, back)};
  }
  return model;
}

/// What the program gives, all planes together, and the layout of the model. `model` has the shape of the model's input
/// and the layout it says itself.
struct Sides {
  LaidOutShape user;
  Layout model_layout;
};

Sides sides_of(const LaidOutShape& model, const TensorInfo& tensor, const TensorInfo& model_info,
               const PreSteps& steps) {
  Sides sides;
  Layout user_layout = tensor.layout.value_or(tensor.color == ColorFormat::UNDEFINED ? Layout() : Layout("NHWC"));
  sides.model_layout = model_info.layout.value_or(model.layout);
  if (sides.model_layout.empty() && tensor.layout) sides.model_layout = after_conversions(user_layout, steps);
  const LaidOutShape meant{model.shape, sides.model_layout};
  if (!user_layout.empty() && !sides.model_layout.empty() && user_layout != sides.model_layout) {
    // Shapes that are given count themselves, and so layouts may differ in ways that say nothing about them.
    if (!tensor.shape) {
      sides.user = terroir::detail::without_axes(meant, user_layout);
      const auto order = terroir::detail::order_between(sides.user.layout, user_layout, sides.user.shape.rank());
      if (!order.empty()) sides.user.shape = terroir::detail::transposed(sides.user.shape, order);
    }
  } else {
    sides.user = before_conversions(meant, steps);
    if (user_layout.empty()) user_layout = sides.user.layout;
  }
  sides.user.layout = user_layout;
  if (tensor.shape) sides.user.shape = *tensor.shape;
  if (tensor.spatial) {
    PartialShape& shape = sides.user.shape;
    shape[terroir::detail::axis_of(user_layout, "H", shape)] = tensor.spatial->height;
    shape[terroir::detail::axis_of(user_layout, "W", shape)] = tensor.spatial->width;
  }
  return sides;
}

void set_parameter(ir::Node& node, const element::Type& type, const PartialShape& shape) {
  ir::ParameterAttrs attrs;
  attrs.element_type = type;
  attrs.shape = shape;
  node.attributes = ir::make_attributes_of(std::move(attrs));
  ir::OutputPort& port = node.outputs.at(0);
  port.type = type;
  port.shape = shape;
  port.declared.reset();
}

void require_new_names(const ir::Graph& graph, const std::vector<std::string>& names) {
  for (const ir::NodeId id : graph.nodes()) {
    for (const ir::OutputPort& port : graph.node(id).outputs) {
      for (const std::string& name : names) {
        if (!std::binary_search(port.names.begin(), port.names.end(), name)) continue;
        throw_error(ErrorCode::invalid_argument, "the model has a tensor '", name,
                    "' already; give other sub-names to set_color_format()");
      }
    }
  }
}

/// What `from` is becomes what `to` is, its readers included; `to` has none before, `from` none afterwards.
void move_parameter(ir::Graph& graph, ir::NodeId from, ir::NodeId to) {
  const std::vector<ir::Use> readers = graph.uses({from, 0});
  for (const ir::Use& reader : readers) graph.set_input(reader, {to, 0});
  ir::Node &source = graph.node(from), &target = graph.node(to);
  std::swap(source.name, target.name);
  std::swap(source.attributes, target.attributes);
  std::swap(source.outputs, target.outputs);
  std::swap(source.rt_info, target.rt_info);
  std::swap(source.origin, target.origin);
}

/// A new input at `index`. A graph has its Parameters in the order of their addition, so those behind move to the next
/// node.
ir::NodeId insert_parameter(ir::Graph& graph, size_t index) {
  const ir::NodeId last = graph.add(ops::builtin_registry().get(ir::kParameterType, "opset1"), "",
                                    ir::make_attributes_of(ir::ParameterAttrs{}));
  graph.node(last).outputs.resize(1);
  const auto& parameters = graph.parameters();
  for (size_t i = parameters.size() - 1; i > index; --i) move_parameter(graph, parameters[i - 1], parameters[i]);
  return parameters[index];
}

/// Makes the Parameter the first plane, adds Parameters for the others, and returns their ports.
std::vector<Output<Node>> make_planes(const std::shared_ptr<GraphState>& state, size_t input, const element::Type& type,
                                      const LaidOutShape& image, const TensorInfo& tensor) {
  ir::Graph& graph = state->writable();
  const ir::NodeId first = graph.parameters()[input];
  const std::string name = graph.node(first).name;
  const std::vector<std::string> names = graph.port({first, 0}).names;
  const size_t count = planes_of(tensor.color);
  std::vector<Output<Node>> planes;
  for (size_t plane = 0; plane < count; ++plane) {
    const ir::NodeId id = plane == 0 ? first : insert_parameter(graph, input + plane);
    ir::Node& node = graph.node(id);
    set_parameter(node, type, plane_shape(tensor.color, plane, image.shape, image.layout));
    if (count > 1) {
      const bool named = !tensor.sub_names.empty();
      const std::string suffix = "/" + (named ? tensor.sub_names[plane] : "plane_" + std::to_string(plane));
      std::vector<std::string> own;
      if (named) {
        for (const std::string& whole : names) own.push_back(whole + suffix);
      }
      require_new_names(graph, own);
      std::sort(own.begin(), own.end());
      node.name = name + suffix;
      node.outputs[0].names = own;
    }
    planes.push_back(NodeAccess::port(state, {id, 0}));
    if (!image.layout.empty()) layout::set_layout(planes.back(), image.layout);
  }
  return planes;
}

void log_sides(std::ostream& log, const std::vector<Output<Node>>& planes, const Flow& flow,
               const std::vector<std::string>& names, const std::string& model) {
  log << "Input ";
  if (!names.empty()) log << '"' << names.front() << '"';
  if (flow.color != ColorFormat::UNDEFINED) log << " (color " << name_of(flow.color) << ')';
  log << ":\n";
  if (planes.size() == 1) {
    log << "    User's input tensor: " << describe(planes[0], flow.layout) << '\n';
  } else {
    log << "    " << planes.size() << " user's tensors expected for each plane:\n";
    for (size_t i = 0; i < planes.size(); ++i) {
      log << "       " << i << ": " << (planes[i].get_names().empty() ? "" : planes[i].get_any_name() + " ")
          << describe(planes[i], flow.layout) << '\n';
    }
  }
  log << "    Model's expected tensor: " << model << '\n';
}

void require_result(const Flow& flow) {
  if (flow.values.size() != 1 || (flow.color != ColorFormat::UNDEFINED && flow.color != ColorFormat::RGB &&
                                  flow.color != ColorFormat::BGR && flow.color != ColorFormat::GRAY)) {
    throw_error(ErrorCode::invalid_argument, "the model's input would be an image in ", name_of(flow.color),
                "; add a step convert_color() to RGB, BGR or GRAY");
  }
  const PartialShape shape = flow.values.front().get_partial_shape();
  if (!shape.compatible(flow.model_shape)) {
    throw_error(ErrorCode::shape_mismatch, "the steps end in the shape ", shape, ", the model's input has ",
                flow.model_shape, "; a step such as resize(), crop() or convert_layout() is missing, or one too many");
  }
}

}  // namespace

size_t add_steps(const std::shared_ptr<GraphState>& state, size_t index, InputInfo& info, std::ostream* log) {
  const ir::NodeId parameter = state->graph->parameters()[index];
  const TensorInfo& tensor = InfoAccess::info(info.tensor());
  const PreSteps& steps = InfoAccess::steps(info.preprocess());
  const Output<Node> input = NodeAccess::port(state, {parameter, 0});
  const std::vector<std::string> names = state->graph->port({parameter, 0}).names;
  const Layout said = layout::get_layout(input);
  const LaidOutShape model{input.get_partial_shape(), said};
  const Sides sides = sides_of(model, tensor, InfoAccess::info(info.model()), steps);

  Flow flow;
  flow.layout = sides.user.layout;
  flow.color = tensor.color;
  flow.target_layout = sides.model_layout;
  flow.target_type = input.get_element_type();
  flow.model_shape = model.shape;
  flow.name = state->graph->node(parameter).name;
  const std::string model_text = describe(input, flow.target_layout);
  const std::vector<ir::Use> readers = state->graph->uses({parameter, 0});
  flow.values = make_planes(state, index, tensor.type.value_or(flow.target_type), sides.user, tensor);

  const size_t planes = flow.values.size();
  const bool changes = planes > 1 || flow.values[0].get_partial_shape() != model.shape || said != flow.target_layout ||
                       flow.values[0].get_element_type() != flow.target_type || !steps.steps.empty();
  if (!changes) log = nullptr;
  if (log != nullptr) log_sides(*log, flow.values, flow, names, model_text);
  run_steps(steps.steps, "Pre-processing steps", flow, log);
  if (flow.values.size() == 1) run_steps(implicit_steps(flow), "Implicit pre-processing steps", flow, log);
  require_result(flow);

  const Output<Node>& last = flow.values.front();
  const ir::Value value{NodeAccess::id(*last.get_node()), static_cast<int32_t>(last.get_index())};
  for (const ir::Use& reader : readers) state->writable().set_input(reader, value);
  return planes;
}

}  // namespace terroir::preprocess::detail
