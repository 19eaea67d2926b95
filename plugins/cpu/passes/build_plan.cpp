#include "plugins/cpu/passes/build_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/graph/order.hpp"
#include "plugins/cpu/passes/explain_steps.hpp"
#include "plugins/cpu/passes/placement.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(const ir::Graph& graph, const Decisions& decisions, Isa isa, WeightsCache& weights, int threads)
      : graph_(graph),
        decisions_(decisions),
        isa_(isa),
        weights_(weights),
        threads_(threads),
        order_(ir::topological_order(graph)),
        placement_(std::make_unique<Placement>(graph, decisions, order_, isa)) {}

  std::unique_ptr<Plan> build() {
    for (ir::NodeId id : order_) {
      const size_t before = plan_->steps.size();
      scratch_.push_back(add_step(graph_.node(id)));
      describe(graph_.node(id), plan_->steps.size() > before ? static_cast<int32_t>(before) : -1);
    }
    placement_->place_in_arena(scratch_);
    save_memory();
    plan_->constants = placement_->take_constants();
    plan_->texts = placement_->texts();
    plan_->arena_bytes = placement_->arena_bytes();
    plan_->packed_bytes = asked_for_.bytes();
    for (size_t i = 0; i < plan_->steps.size(); ++i) bind_step(contexts_[i], plan_->steps[i]);
    finish();
    return std::move(plan_);
  }

 private:
  const Decision& decision(const ir::Node& node) const { return decisions_.at(node.id); }

  TensorDesc desc(ir::Value value) const {
    const ir::OutputPort& port = graph_.port(value);
    return {port.type, ir::to_dims(port.shape.to_shape()), layout_of(decisions_, value)};
  }

  /// Gives what scratch the step wants; no step: none.
  ScratchNeed add_step(const ir::Node& node) {
    const Decision& decided = decision(node);
    if (node.constant || node.is(ir::kParameterType) || decided.choice.view_of >= 0) return {};
    if (!decided.choice.pieces.empty() || placement_->has_no_step(node)) return {};
    if (node.schema->type == kReorderType && ir::constant_of(graph_, node.inputs[0])) return {};  // done already
    if (node.is(ir::kResultType) && !placement_->result_is_copy(result_index(node))) return {};
    NodeContext context = make_context(graph_, node, isa_, weights_);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (decided.choice.inputs[i]) context.inputs[i].layout = *decided.choice.inputs[i];
    for (size_t i = 0; i < node.outputs.size(); ++i) context.outputs[i].layout = decided.choice.outputs[i];
    Step step;
    const AskedFor asked_for;
    step.executor = decided.impl->create(context, decided.choice);
    note_packed(node, asked_for.constants());
    step.name = node.name;
    step.type = node.schema->type;
    step.kernel = step.executor->kernel_name();
    step.layouts = context.outputs.empty() ? "" : context.outputs[0].layout.name();
    step.origin_names = node.origin_names;
    step.where = node.describe();
    step.is_reference = step.kernel.starts_with("ref:");
    if (step.is_reference)
      TERROIR_LOG(dispatch, step.where, ": slow: runs on its reference kernel, one thread",
                  decided.rejected.empty() ? "" : "; " + decided.rejected);
    const ScratchNeed scratch = with_context([&] { return step.where; }, [&] { return need_of(*step.executor); });
    plan_->steps.push_back(std::move(step));
    contexts_.push_back(std::move(context));
    return scratch;
  }

  ScratchNeed need_of(const Executor& executor) const {
    return {executor.scratch_bytes(threads_), executor.slot_need(threads_)};
  }

  /// A model should run in 1.3 times the memory of its weights and 25 MB. Measured: of these the program takes so much,
  /// and each node of the graph.
  size_t room() const {
    constexpr size_t kBeside = 25'000'000, kProgram = 10'400'000, kNode = 8'000;
    size_t weights = 0, taken = kProgram + order_.size() * kNode + asked_for_.bytes();
    for (ir::NodeId id : order_) {
      const ir::Node& node = graph_.node(id);
      if (node.constant) weights += node.constant->view.bytes();
      if (node.is(ir::kParameterType)) taken += desc({id, 0}).bytes();
      if (node.is(ir::kResultType)) taken += desc(node.inputs[0]).bytes();
    }
    const size_t all = weights + weights / 10 * 3 + kBeside;
    return all - std::min(all, taken);
  }

  /// Lets steps that most of the arena is for do with less, which takes them more time, until it is small enough or no
  /// smaller: first those that can with less scratch, then those that can with the memory of their inputs.
  void save_memory() {
    constexpr size_t kLargeArena = size_t{4} << 20;
    constexpr size_t kLeastShare = 16;
    const size_t before = placement_->arena_bytes(), room = std::max(this->room(), kLargeArena);
    if (before <= room) return;
    std::set<ir::NodeId> changed, overwriting;
    for (Placement::Busiest busiest; (busiest = placement_->busiest(scratch_)).bytes > room;) {
      NodeContext* const context = context_of(busiest.node);
      if (!context) break;
      const LayoutChoice& choice = decisions_.at(busiest.node).choice;
      if (context->lean < choice.lean) {
        ++context->lean;
      } else if (choice.overwrite.input >= 0 && overwriting.insert(busiest.node).second) {
        auto next = std::make_unique<Placement>(graph_, decisions_, order_, isa_, overwriting);
        if (!next->overwrites(busiest.node) || !next->has_steps_of(*placement_)) break;
        context->overwrites_input = true;
        placement_ = std::move(next);
      } else {
        break;
      }
      changed.insert(busiest.node);
      create_again(*context);
    }
    placement_->place_in_arena(scratch_, room);
    if (placement_->arena_bytes() <= std::max(room, before - before / kLeastShare)) return;
    // Not for so little.
    for (ir::NodeId id : changed) {
      NodeContext& context = *context_of(id);
      context.lean = 0;
      context.overwrites_input = false;
      create_again(context);
    }
    placement_ = std::make_unique<Placement>(graph_, decisions_, order_, isa_);
    placement_->place_in_arena(scratch_);
  }

  /// Of a node that has a step; else null.
  NodeContext* context_of(ir::NodeId id) {
    const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                    [id](const NodeContext& context) { return context.node.id == id; });
    return found != contexts_.end() ? &*found : nullptr;
  }

  void create_again(const NodeContext& context) {
    const ir::NodeId id = context.node.id;
    Step& step = plan_->steps[static_cast<size_t>(&context - contexts_.data())];
    step.executor = decisions_.at(id).impl->create(context, decisions_.at(id).choice);
    step.kernel = step.executor->kernel_name();
    scratch_[static_cast<size_t>(std::find(order_.begin(), order_.end(), id) - order_.begin())] =
        need_of(*step.executor);
  }

  /// Says where the step's memory lies, once that is known.
  void bind_step(const NodeContext& context, Step& step) {
    const ir::Node& node = context.node;
    const LayoutChoice& choice = decision(node).choice;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool read =
          choice.inputs[i].has_value() && !placement_->joined_in_place({node.id, static_cast<int32_t>(i)});
      step.inputs.push_back(read ? placement_->slot(node.inputs[i]) : Slot{});
      if (read && context.constants[i])
        plan_->constants.push_back({context.constants[i]->owner, context.inputs[i].bytes()});
      if (const Slot& slot = step.inputs.back(); slot.kind == Slot::Kind::constant)
        read_constants_[slot.pointer] = std::max(read_constants_[slot.pointer], context.inputs[i].bytes());
      if (read && !context.constants[i]) step.bytes += context.inputs[i].bytes();
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::Value value{node.id, static_cast<int32_t>(i)};
      step.outputs.push_back(node.is(ir::kResultType)
                                 ? Slot{Slot::Kind::model_output, static_cast<int32_t>(result_index(node)), 0, nullptr}
                                 : placement_->slot(value));
      step.bytes += context.outputs[i].bytes();
    }
    if (!choice.joins.empty()) step.bytes = 2 * copied_bytes(step, context);
    const ScratchPlace scratch = placement_->scratch(node.id);
    step.scratch_offset = scratch.shared;
    step.slots_offset = scratch.slots;
    step.slot_stride = scratch.stride;
  }

  size_t result_index(const ir::Node& node) const { return static_cast<size_t>(position(graph_.results(), node.id)); }

  /// What it does is told by the step, if it has one.
  void describe(const ir::Node& node, int32_t step) {
    if (node.constant || (node.schema->type == kReorderType && ir::constant_of(graph_, node.inputs[0]))) return;
    PlannedNode planned{node.name, node.schema->type, node.origin_names, {}, {}, step, -1};
    if (node.is(ir::kParameterType)) planned.end = position(graph_.parameters(), node.id);
    if (node.is(ir::kResultType)) planned.end = position(graph_.results(), node.id);
    for (const ir::Value& input : node.inputs) {
      const auto known = described_.find(input.node);
      if (known != described_.end()) planned.inputs.emplace_back(known->second, input.output);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      planned.outputs.push_back(desc({node.id, static_cast<int32_t>(i)}));
    described_[node.id] = static_cast<int32_t>(plan_->nodes.size());
    plan_->nodes.push_back(std::move(planned));
  }

  void note_packed(const ir::Node& node, const std::vector<ConstantIdentity>& packed) {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (const ir::Constant* constant = ir::constant_of(graph_, node.inputs[i]))
        if (std::find(packed.begin(), packed.end(), identity_of(*constant)) != packed.end())
          packed_uses_.insert({node.id, static_cast<int32_t>(i)});
  }

  void find_only_packed() {
    for (ir::NodeId id : order_) {
      if (!graph_.node(id).constant) continue;
      const std::vector<ir::Use>& uses = graph_.uses({id, 0});
      if (!uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
            return packed_uses_.contains(use) && !decisions_.at(use.node).choice.inputs[static_cast<size_t>(use.input)];
          }))
        plan_->only_packed.push_back(id);
    }
  }

  /// Of the parts of a Concat that are not there already.
  static size_t copied_bytes(const Step& step, const NodeContext& context) {
    size_t bytes = 0;
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i].kind != Slot::Kind::none) bytes += context.inputs[i].bytes();
    return bytes;
  }

  void finish() {
    find_only_packed();
    for (const auto& [pointer, bytes] : read_constants_) plan_->constant_bytes += bytes;
    std::vector<ir::NodeId> step_nodes;
    for (const NodeContext& context : contexts_) step_nodes.push_back(context.node.id);
    explain_steps(graph_, decisions_, step_nodes, plan_->steps);
    for (ir::NodeId id : graph_.parameters()) plan_->inputs.push_back(desc({id, 0}));
    for (ir::NodeId id : graph_.results()) plan_->outputs.push_back(desc({id, 0}));
    auto& constants = plan_->constants;
    std::sort(constants.begin(), constants.end(), [](const KeptConstant& a, const KeptConstant& b) {
      return std::tie(a.owner, b.bytes) < std::tie(b.owner, a.bytes);  // of one owner the largest part first
    });
    constants.erase(std::unique(constants.begin(), constants.end(),
                                [](const KeptConstant& a, const KeptConstant& b) { return a.owner == b.owner; }),
                    constants.end());
  }

  static int32_t position(const std::vector<ir::NodeId>& ids, ir::NodeId id) {
    return static_cast<int32_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  }

  const ir::Graph& graph_;
  const Decisions& decisions_;
  Isa isa_;
  WeightsCache& weights_;
  int threads_;
  std::vector<ir::NodeId> order_;
  std::unique_ptr<Placement> placement_;
  std::vector<ScratchNeed> scratch_;         // by position in the order
  std::vector<NodeContext> contexts_;        // by step
  std::map<ir::NodeId, int32_t> described_;  // -> index in Plan::nodes
  std::set<ir::Use> packed_uses_;
  std::map<const void*, size_t> read_constants_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  const AskedFor asked_for_;  // by all steps
};

}  // namespace

std::unique_ptr<Plan> build_plan(const ir::Graph& graph, const Decisions& decisions, Isa isa, WeightsCache& weights,
                                 int threads) {
  return PlanBuilder(graph, decisions, isa, weights, threads).build();
}

}  // namespace terroir::cpu
