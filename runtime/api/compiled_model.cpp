#include "terroir/compiled_model.hpp"

#include <algorithm>
#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/base/short_memory.hpp"
#include "ops/registry.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/parallel/available_threads.hpp"
#include "runtime/plugin/stored_model.hpp"
#include "terroir/layout.hpp"

namespace terroir {

namespace {

constexpr const char* kCompiledModel = "the compiled model";

// Stands for the layer that feeds a Result.
const ir::OpSchema& producer_schema() {
  static const ir::OpSchema schema = [] {
    ir::OpSchema s;
    s.type = "Output";
    s.opset = "terroir";
    s.arity = {0, 0, 1};
    return s;
  }();
  return schema;
}

std::unique_ptr<ir::Graph> make_skeleton(const plugin::CompiledGraph& compiled) {
  auto graph = std::make_unique<ir::Graph>(compiled.name());
  const auto fill = [&](ir::NodeId id, const plugin::PortInfo& info) {
    ir::OutputPort& port = graph->node(id).outputs.at(0);
    port.type = info.type;
    port.shape = info.shape;
    port.names = info.names;
    port.rt_info = info.rt_info;
  };
  for (const plugin::PortInfo& info : compiled.inputs()) {
    ir::ParameterAttrs attrs;
    attrs.element_type = info.type;
    attrs.shape = info.shape;
    fill(graph->add(ops::builtin_registry().get(ir::kParameterType, "opset1"), info.node_name,
                    ir::make_attributes_of(std::move(attrs))),
         info);
  }
  for (const plugin::PortInfo& info : compiled.outputs()) {
    const ir::NodeId producer = graph->add(producer_schema(), info.producer_name, nullptr);
    fill(producer, info);
    const ir::NodeId result =
        graph->add(ops::builtin_registry().get(ir::kResultType, "opset1"), info.node_name, nullptr, {{producer, 0}});
    fill(result, info);
  }
  return graph;
}

}  // namespace

namespace detail {

CompiledState::CompiledState(std::shared_ptr<const plugin::CompiledGraph> compiled, bool from_cache)
    : compiled_(std::move(compiled)),
      from_cache_(from_cache),
      skeleton_(std::make_shared<GraphState>(make_skeleton(*compiled_))),
      streams_(compiled_->config(), compiled_->threading()),
      jobs_(compiled_->threading().streams, compiled_->config().executor) {
  TERROIR_LOG(threads, "'", compiled_->name(), "' on ", compiled_->device(), ": ", streams_.reasons());
  skeleton_->owned = true;
  skeleton_->objects.keep();
}

End CompiledState::find(const std::string& name) const {
  const ir::Graph& graph = *skeleton_->graph;
  for (const bool inputs : {true, false}) {
    const int64_t index = find_port_or_none(graph, inputs, name);
    if (index >= 0) return {inputs, static_cast<size_t>(index)};
  }
  throw_error(ErrorCode::not_found, kCompiledModel, " has no input or output '", name,
              "'; inputs: ", list_ports(graph, true), "; outputs: ", list_ports(graph, false));
}

End CompiledState::find(const Output<const Node>& port) const {
  if (port.get_node() == nullptr) throw_error(ErrorCode::invalid_argument, "the port is empty");
  const ir::Graph& graph = *NodeAccess::state(*port.get_node())->graph;
  const ir::Node& node = NodeAccess::node(*port.get_node());
  const ir::Value value = NodeAccess::value(port);
  for (const bool inputs : {true, false}) {
    const auto& ids = ends(graph, inputs);
    // The end itself; or the value that a Result takes.
    auto found = std::find(ids.begin(), ids.end(), node.id);
    if (found == ids.end() && !inputs) {
      found = std::find_if(ids.begin(), ids.end(), [&](ir::NodeId id) { return graph.node(id).inputs.at(0) == value; });
    }
    if (found == ids.end()) continue;
    const End end{inputs, static_cast<size_t>(found - ids.begin())};
    // A port of another model may stand at the same place by chance, but not under the same name.
    if (end.index < count(inputs) && this->port(end).node_name == graph.node(*found).name) return end;
  }
  for (const std::string& name : NodeAccess::names(port)) {
    for (const bool inputs : {true, false}) {
      const int64_t index = find_port_or_none(*skeleton_->graph, inputs, name);
      if (index >= 0) return {inputs, static_cast<size_t>(index)};
    }
  }
  throw_error(ErrorCode::not_found, port, " is no input or output of ", kCompiledModel,
              "; inputs: ", list_ports(*skeleton_->graph, true), "; outputs: ", list_ports(*skeleton_->graph, false));
}

size_t CompiledState::batch_axis(size_t input, size_t rank) const {
  const Layout layout = layout::get_layout(NodeAccess::port(skeleton_, {skeleton_->graph->parameters().at(input), 0}));
  if (!layout::has_batch(layout)) {
    throw_error(ErrorCode::invalid_argument, "a batch of tensors needs an input whose layout has N, the layout is ",
                layout, "; call layout::set_layout() before compiling");
  }
  const std::int64_t axis =
      layout::batch_idx(layout) + (layout::batch_idx(layout) < 0 ? static_cast<int64_t>(rank) : 0);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) {
    throw_error(ErrorCode::shape_mismatch, "the layout ", layout, " does not fit tensors of rank ", rank);
  }
  return static_cast<size_t>(axis);
}

void CompiledState::add_request(const std::shared_ptr<RequestState>& request) {
  const std::lock_guard lock(mutex_);
  // Not at each request: those that are there would be looked through as often.
  if (requests_.size() == requests_.capacity()) {
    std::erase_if(requests_, [](const auto& known) { return known.expired(); });
    requests_.reserve(2 * requests_.size() + 1);
  }
  requests_.push_back(request);
}

void CompiledState::release_memory() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<RequestState>> requests;  // before the locks, which go first
  std::vector<std::unique_lock<std::mutex>> held;
  for (const auto& known : requests_) {
    auto request = known.lock();
    if (request == nullptr) continue;
    held.push_back(request->hold_idle());
    if (!held.back()) throw Busy("an infer request of the compiled model is running; wait() for it first");
    requests.push_back(std::move(request));
  }
  for (const auto& request : requests) request->release_memory();
}

}  // namespace detail

detail::CompiledState& CompiledModel::state() const {
  if (state_ == nullptr) throw_error(ErrorCode::invalid_argument, "the compiled model is empty");
  return *state_;
}

namespace {
std::vector<Output<const Node>> end_ports(const detail::CompiledState& state, bool inputs) {
  std::vector<Output<const Node>> ports;
  for (const ir::NodeId id : detail::ends(*state.skeleton()->graph, inputs)) {
    ports.emplace_back(detail::NodeAccess::port(state.skeleton(), {id, 0}));
  }
  return ports;
}
Output<const Node> end_port(const detail::CompiledState& state, bool inputs, size_t index) {
  detail::check_index(*state.skeleton()->graph, inputs, index, kCompiledModel);
  return detail::NodeAccess::port(state.skeleton(), {detail::ends(*state.skeleton()->graph, inputs)[index], 0});
}
Output<const Node> only_port(const detail::CompiledState& state, bool inputs) {
  detail::check_single(*state.skeleton()->graph, inputs, kCompiledModel);
  return end_port(state, inputs, 0);
}
Output<const Node> named_port(const detail::CompiledState& state, bool inputs, const std::string& name) {
  return end_port(state, inputs, detail::find_port(*state.skeleton()->graph, inputs, name, kCompiledModel));
}
}  // namespace

std::vector<Output<const Node>> CompiledModel::inputs() const { return end_ports(state(), true); }
Output<const Node> CompiledModel::input() const { return only_port(state(), true); }
Output<const Node> CompiledModel::input(size_t index) const { return end_port(state(), true, index); }
Output<const Node> CompiledModel::input(const std::string& name) const { return named_port(state(), true, name); }
std::vector<Output<const Node>> CompiledModel::outputs() const { return end_ports(state(), false); }
Output<const Node> CompiledModel::output() const { return only_port(state(), false); }
Output<const Node> CompiledModel::output(size_t index) const { return end_port(state(), false, index); }
Output<const Node> CompiledModel::output(const std::string& name) const { return named_port(state(), false, name); }

InferRequest CompiledModel::create_infer_request() {
  InferRequest made;
  with_memory_for("for a request of the model", state().compiled().name(), [&] {
    const auto request = std::make_shared<detail::RequestState>(state_);
    state_->add_request(request);
    made = detail::RuntimeAccess::make(detail::RequestState::owned_by_handles(request));
  });
  return made;
}

void CompiledModel::set_property(const AnyMap& properties) {
  with_memory_for("to set properties of the model", state().compiled().name(),
                  [&] { state().compiled().set_property(properties); });
}
void CompiledModel::release_memory() { state().release_memory(); }

Any CompiledModel::get_property(const std::string& name) const {
  if (name == loaded_from_cache.name()) return state().from_cache();
  return state().compiled().get_property(name);
}

void CompiledModel::export_model(std::ostream& stream) const {
  const plugin::CompiledGraph& compiled = state().compiled();
  with_memory_for("to export the model", compiled.name(), [&] {
    plugin::ArchiveWriter archive;
    plugin::store_compiled(compiled, archive);
    const parallel::Arena arena(parallel::available_threads());
    plugin::write_encrypted(
        archive, compiled.config().encryption,
        [&stream](std::span<const std::string_view> parts) {
          for (const std::string_view part : parts)
            if (!stream.write(part.data(), static_cast<std::streamsize>(part.size())))
              throw_error(ErrorCode::file_not_found, "the compiled model cannot be written: the stream failed");
        },
        arena);
  });
  if (!stream.flush())
    throw_error(ErrorCode::file_not_found, "the compiled model cannot be written: the stream failed");
}

std::shared_ptr<const Model> CompiledModel::get_runtime_model() const {
  return detail::ModelAccess::make(state().compiled().runtime_graph());
}

}  // namespace terroir
