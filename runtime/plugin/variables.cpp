#include "runtime/plugin/variables.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "runtime/parallel/float_control.hpp"

namespace terroir::plugin {
namespace {

/// A value and its memory, which is kept while it is large enough.
class KeptValue {
 public:
  void* make(element::Type type, const ir::Dims& dims) {
    const size_t bytes = ir::byte_size(type, ir::element_count(dims));
    if (!buffer_.data() || buffer_.size() < bytes) buffer_ = AlignedBuffer(bytes);
    view_ = {type, dims, buffer_.data()};
    return buffer_.data();
  }
  const ir::TensorView& view() const { return view_; }

 private:
  AlignedBuffer buffer_;
  ir::TensorView view_;
};

class Outputs final : public OutputBinder {
 public:
  /// Outputs from `own` on go to the given values.
  Outputs(OutputBinder* users, size_t own, std::span<KeptValue* const> values)
      : users_(users), own_(own), values_(values) {}
  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    return index < own_ ? users_->bind(index, type, dims) : values_[index - own_]->make(type, dims);
  }

 private:
  OutputBinder* users_;
  size_t own_;
  std::span<KeptValue* const> values_;
};

using Compiled = std::shared_ptr<const CompiledGraph>;

class Request final : public RequestState {
 public:
  Request(const LiftedGraph& lifted, const CompiledGraph& compiled, std::span<const Compiled> initial_values)
      : lifted_(lifted),
        request_(compiled.create_request()),
        present_(lifted.variables.size()),
        next_(lifted.variables.size()),
        known_(lifted.variables.size(), false),
        ready_(known_) {
    for (const LiftedGraph::Variable& variable : lifted.variables) infos_.push_back(variable.info);
    for (const Compiled& graph : initial_values) initial_requests_.push_back(graph->create_request());
  }

  void infer(std::span<const ir::TensorView> inputs, OutputBinder& outputs, const RunContext& context) override {
    computed_ = false;
    if (!initialise(inputs, context)) return;
    inputs_.assign(inputs.begin(), inputs.end());
    inputs_.resize(lifted_.graph->parameters().size());
    targets_.resize(lifted_.graph->results().size() - lifted_.outputs);
    for (size_t i = 0; i < lifted_.variables.size(); ++i) {
      const LiftedGraph::Variable& variable = lifted_.variables[i];
      if (variable.input != LiftedGraph::kNone) inputs_[variable.input] = present_[i].view();
      if (variable.output != LiftedGraph::kNone) targets_[variable.output - lifted_.outputs] = &next_[i];
    }
    Outputs all(&outputs, lifted_.outputs, targets_);
    request_->infer(inputs_, all, context);
    computed_ = !context.cancelled.load(std::memory_order_relaxed);
  }

  void commit() override {
    if (!std::exchange(computed_, false)) return;
    for (size_t i = 0; i < lifted_.variables.size(); ++i) {
      if (lifted_.variables[i].output != LiftedGraph::kNone) std::swap(present_[i], next_[i]);
      known_[i] = true;
    }
  }

  std::vector<ProfilingInfo> profiling() const override { return request_->profiling(); }

  const std::vector<VariableInfo>& variables() const override { return infos_; }

  ir::TensorView variable(size_t index) override {
    if (!known_[index]) make_zeros(index);
    return present_[index].view();
  }

  void set_variable(size_t index, const ir::TensorView& value) override {
    void* to = present_[index].make(value.type, value.dims);
    if (value.bytes() > 0) std::memcpy(to, value.data, value.bytes());
    known_[index] = true;
  }

  void reset_variable(size_t index) override { known_[index] = false; }

  void release_memory() override {
    request_->release_memory();
    for (const auto& request : initial_requests_) request->release_memory();
    next_ = std::vector<KeptValue>(next_.size());
    initial_.clear();
  }

 private:
  /// Makes all present values ready; commit() makes them known. False when cancelled meanwhile.
  bool initialise(std::span<const ir::TensorView> inputs, const RunContext& context) {
    if (std::find(known_.begin(), known_.end(), false) == known_.end()) return true;
    ready_ = known_;
    for (size_t i = 0; i < lifted_.initial_values.size(); ++i)
      if (!compute_initial_values(i, inputs, context)) return false;
    for (size_t i = 0; i < ready_.size(); ++i)
      if (!ready_[i]) make_zeros(i);
    return true;
  }

  bool compute_initial_values(size_t index, std::span<const ir::TensorView> inputs, const RunContext& context) {
    const LiftedGraph::InitialValues& values = lifted_.initial_values[index];
    if (std::all_of(values.gives.begin(), values.gives.end(), [&](size_t i) { return ready_[i]; })) return true;
    inputs_.assign(inputs.begin(), inputs.end());
    for (const size_t i : values.reads) {
      if (!ready_[i]) make_zeros(i);
      inputs_.push_back(present_[i].view());
    }
    initial_.resize(std::max(initial_.size(), values.gives.size()));
    std::vector<KeptValue*> targets;
    for (size_t i = 0; i < values.gives.size(); ++i) targets.push_back(&initial_[i]);
    Outputs outputs(nullptr, 0, targets);
    initial_requests_[index]->infer(inputs_, outputs, context);
    if (context.cancelled.load(std::memory_order_relaxed)) return false;
    for (size_t i = 0; i < values.gives.size(); ++i) {
      const size_t to = values.gives[i];
      if (ready_[to]) continue;
      std::swap(present_[to], initial_[i]);
      ready_[to] = true;
    }
    return true;
  }

  void make_zeros(size_t index) {
    const VariableInfo& info = infos_[index];
    const PartialShape& shape = lifted_.variables[index].declared;
    ir::Dims dims;
    if (shape.rank().is_static())
      for (const Dimension& extent : shape) dims.push_back(extent.get_min_length());
    void* data = present_[index].make(info.type.is_dynamic() ? element::f32 : info.type, dims);
    if (present_[index].view().bytes() > 0) std::memset(data, 0, present_[index].view().bytes());
  }

  const LiftedGraph& lifted_;
  std::unique_ptr<RequestState> request_;
  std::vector<std::unique_ptr<RequestState>> initial_requests_;
  std::vector<VariableInfo> infos_;
  // By variable. A value is known when it was set or assigned; else the next inference starts with its initial value.
  std::vector<KeptValue> present_, next_;
  std::vector<bool> known_, ready_;  // ready: also those whose initial values the inference that runs has computed
  bool computed_ = false;            // next_, and not committed
  std::vector<KeptValue> initial_;
  std::vector<ir::TensorView> inputs_;
  std::vector<KeptValue*> targets_;
};

class WithVariables final : public CompiledGraph {
 public:
  WithVariables(std::shared_ptr<const ir::Graph> graph, LiftedGraph lifted, Compiled compiled,
                std::vector<Compiled> initial_values)
      : CompiledGraph(*compiled, lifted.inputs, lifted.outputs),
        graph_(std::move(graph)),
        lifted_(std::move(lifted)),
        compiled_(std::move(compiled)),
        initial_values_(std::move(initial_values)) {}

  std::unique_ptr<RequestState> create_request() const override {
    return std::make_unique<Request>(lifted_, *compiled_, initial_values_);
  }
  std::unique_ptr<ir::Graph> runtime_graph() const override { return compiled_->runtime_graph(); }
  const ir::Graph* source() const override { return graph_.get(); }
  Footprint footprint() const override {
    Footprint all = compiled_->footprint();
    for (const Compiled& graph : initial_values_) {
      const Footprint initial = graph->footprint();
      all = {all.weights + initial.weights, all.packed + initial.packed,
             all.arena_per_request + initial.arena_per_request};
    }
    return all;
  }

 private:
  const std::shared_ptr<const ir::Graph> graph_;
  const LiftedGraph lifted_;
  Compiled compiled_;
  std::vector<Compiled> initial_values_;
};

}  // namespace

std::shared_ptr<const CompiledGraph> compile_with_variables(const Plugin& plugin,
                                                            std::shared_ptr<const ir::Graph> graph,
                                                            const Config& config) {
  // Constants are folded alike whatever the calling thread has set.
  const parallel::FloatControlScope control(parallel::FloatControl(parallel::Denormals::kept));
  const std::vector<ir::NodeId> nodes = graph->nodes();
  const auto holds_state = [](const ir::Graph& in, auto&& self) -> bool {
    for (ir::NodeId id : in.nodes()) {
      if (needs_state(in.node(id))) return true;
      for (const ir::Body& body : in.node(id).bodies)
        if (self(*body.graph, self)) return true;
    }
    return false;
  };
  if (!holds_state(*graph, holds_state)) return plugin.compile(std::move(graph), config);
  LiftedGraph lifted = lift_variables(*graph);
  auto compiled = plugin.compile(lifted.graph, config);
  std::vector<Compiled> initial_values;
  for (const LiftedGraph::InitialValues& values : lifted.initial_values)
    initial_values.push_back(plugin.compile(values.graph, config));
  return std::make_shared<WithVariables>(std::move(graph), std::move(lifted), std::move(compiled),
                                         std::move(initial_values));
}

}  // namespace terroir::plugin
