#include "plugins/cpu/passes/build_plan.hpp"

#include <algorithm>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/graph/order.hpp"
#include "runtime/memory/planner.hpp"

namespace terroir::cpu {
namespace {

/// A piece of memory that one or several values share (views, in-place results).
struct Root {
  Slot::Kind kind = Slot::Kind::arena;
  int32_t index = 0;              // of a model input or output
  const void* pointer = nullptr;  // of a constant
  size_t bytes = 0;
  int64_t first = 0, last = 0;  // steps, inclusive
  bool bound_to_result = false;
  size_t offset = 0;
};

class PlanBuilder {
 public:
  PlanBuilder(const ir::Graph& graph, const Decisions& decisions, Isa isa, WeightsCache& weights, int threads)
      : graph_(graph),
        decisions_(decisions),
        isa_(isa),
        weights_(weights),
        threads_(threads),
        order_(ir::topological_order(graph)) {}

  std::unique_ptr<Plan> build() {
    find_last_uses();
    for (size_t at = 0; at < order_.size(); ++at) place_outputs(graph_.node(order_[at]), static_cast<int64_t>(at));
    bind_results();
    place_in_arena();
    for (ir::NodeId id : order_) add_step(graph_.node(id));
    finish();
    return std::move(plan_);
  }

 private:
  using RootIndex = size_t;

  const Decision& decision(const ir::Node& node) const { return decisions_.at(node.id); }

  TensorDesc desc(ir::Value value) const {
    const ir::OutputPort& port = graph_.port(value);
    return {port.type, ir::to_dims(port.shape.to_shape()), layout_of(decisions_, value)};
  }

  /// Whether a use reads the value's memory when the plan runs.
  bool reads(const ir::Use& use) const {
    const Decision& reader = decisions_.at(use.node);
    const auto input = static_cast<size_t>(use.input);
    return reader.choice.inputs.at(input).has_value();
  }

  void find_last_uses() {
    std::vector<int64_t> position(graph_.id_bound(), 0);
    for (size_t at = 0; at < order_.size(); ++at) position[ir::index_of(order_[at])] = static_cast<int64_t>(at);
    for (ir::NodeId id : order_)
      for (size_t output = 0; output < graph_.node(id).outputs.size(); ++output) {
        const ir::Value value{id, static_cast<int32_t>(output)};
        int64_t last = position[ir::index_of(id)];
        for (const ir::Use& use : graph_.uses(value)) {
          if (!reads(use)) continue;
          // What a Result reads is the user's after the run: no later step may work in its memory.
          const bool is_result = graph_.node(use.node).is(ir::kResultType);
          last = std::max(last, is_result ? static_cast<int64_t>(order_.size()) : position[ir::index_of(use.node)]);
        }
        last_use_[value] = last;
      }
  }

  void extend(RootIndex root, ir::Value value) { roots_[root].last = std::max(roots_[root].last, last_use_.at(value)); }

  RootIndex new_root(Slot::Kind kind, ir::Value value, int64_t at) {
    Root root;
    root.kind = kind;
    root.bytes = desc(value).bytes();
    root.first = at;
    root.last = last_use_.at(value);
    roots_.push_back(root);
    return roots_.size() - 1;
  }

  void place_outputs(const ir::Node& node, int64_t at) {
    const LayoutChoice& choice = decision(node).choice;
    if (node.is(ir::kResultType)) return;
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      const ir::Value value{node.id, static_cast<int32_t>(output)};
      RootIndex root;
      if (node.constant) {
        root = new_root(Slot::Kind::constant, value, at);
        roots_[root].pointer = node.constant->view.data;
      } else if (node.is(ir::kParameterType)) {
        root = new_root(Slot::Kind::model_input, value, at);
        const auto& parameters = graph_.parameters();
        roots_[root].index =
            static_cast<int32_t>(std::find(parameters.begin(), parameters.end(), node.id) - parameters.begin());
      } else if (const auto folded = output == 0 ? constant_reorder(node) : nullptr) {
        root = new_root(Slot::Kind::constant, value, at);
        roots_[root].pointer = folded;
      } else if (output == 0 && choice.view_of >= 0) {
        root = root_of_.at(node.inputs[static_cast<size_t>(choice.view_of)]);
        extend(root, value);
      } else if (const auto shared = output == 0 ? in_place_root(node, at) : std::nullopt) {
        root = *shared;
        extend(root, value);
      } else {
        root = new_root(Slot::Kind::arena, value, at);
      }
      root_of_[value] = root;
    }
  }

  /// The reordered bytes when the node is a Reorder of a constant: done now, kept by the plan. Null otherwise.
  const void* constant_reorder(const ir::Node& node) {
    if (node.schema->type != kReorderType) return nullptr;
    const ir::Constant* source = ir::constant_of(graph_, node.inputs[0]);
    if (!source) return nullptr;
    const TensorDesc from = desc(node.inputs[0]), to = desc({node.id, 0});
    auto buffer = std::make_shared<AlignedBuffer>(to.bytes());
    reorder(from, source->view.data, to, buffer->data(), isa_);
    plan_->owners.push_back(buffer);
    return buffer->data();
  }

  /// The memory of an input that the node may overwrite: nobody reads it after this step.
  std::optional<RootIndex> in_place_root(const ir::Node& node, int64_t at) const {
    for (int input : decision(node).choice.in_place) {
      const ir::Value value = node.inputs[static_cast<size_t>(input)];
      const RootIndex index = root_of_.at(value);
      const Root& root = roots_[index];
      if (root.kind != Slot::Kind::arena || root.last > at || root.bytes != desc({node.id, 0}).bytes()) continue;
      // The same memory must not come in at another input in another role.
      const auto same = std::count_if(node.inputs.begin(), node.inputs.end(), [&](ir::Value other) {
        const auto found = root_of_.find(other);
        return found != root_of_.end() && found->second == index;
      });
      if (same == 1) return index;
    }
    return std::nullopt;
  }

  /// A value that only has to end up in the user's output is computed there; other Results are copies.
  void bind_results() {
    const auto& results = graph_.results();
    for (size_t i = 0; i < results.size(); ++i) {
      const ir::Value source = graph_.node(results[i]).inputs[0];
      Root& root = roots_[root_of_.at(source)];
      const bool in_place = root.kind == Slot::Kind::arena && !root.bound_to_result;
      if (in_place) {
        root.kind = Slot::Kind::model_output;
        root.index = static_cast<int32_t>(i);
        root.bound_to_result = true;
      }
      result_is_copy_.push_back(!in_place);
    }
  }

  void place_in_arena() {
    std::vector<memory::Block> blocks;
    std::vector<Root*> placed;
    for (Root& root : roots_) {
      if (root.kind != Slot::Kind::arena) continue;
      blocks.push_back({root.bytes, root.first, root.last});
      placed.push_back(&root);
    }
    const memory::MemoryPlan plan = memory::plan_memory(blocks);
    for (size_t i = 0; i < placed.size(); ++i) placed[i]->offset = plan.offsets[i];
    plan_->scratch_offset = plan.total;
  }

  Slot slot(ir::Value value) const {
    const Root& root = roots_[root_of_.at(value)];
    return {root.kind, root.index, root.offset, root.pointer};
  }

  void add_step(const ir::Node& node) {
    const Decision& decided = decision(node);
    if (node.constant || node.is(ir::kParameterType) || decided.choice.view_of >= 0) return;
    if (node.schema->type == kReorderType && ir::constant_of(graph_, node.inputs[0])) return;  // done already
    size_t result_index = 0;
    if (node.is(ir::kResultType)) {
      const auto& results = graph_.results();
      result_index = static_cast<size_t>(std::find(results.begin(), results.end(), node.id) - results.begin());
      if (!result_is_copy_[result_index]) return;
    }
    NodeContext context = make_context(graph_, node, isa_, weights_);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (decided.choice.inputs[i]) context.inputs[i].layout = *decided.choice.inputs[i];
    for (size_t i = 0; i < node.outputs.size(); ++i) context.outputs[i].layout = decided.choice.outputs[i];
    Step step;
    step.executor = decided.impl->create(context, decided.choice);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool read = decided.choice.inputs[i].has_value();
      step.inputs.push_back(read ? slot(node.inputs[i]) : Slot{});
      if (read && context.constants[i]) plan_->owners.push_back(context.constants[i]->owner);
      if (read && !context.constants[i]) step.bytes += context.inputs[i].bytes();
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::Value value{node.id, static_cast<int32_t>(i)};
      step.outputs.push_back(node.is(ir::kResultType)
                                 ? Slot{Slot::Kind::model_output, static_cast<int32_t>(result_index), 0, nullptr}
                                 : slot(value));
      step.bytes += context.outputs[i].bytes();
    }
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
    scratch_ = std::max(scratch_, step.executor->scratch_bytes(threads_));
    plan_->steps.push_back(std::move(step));
  }

  void finish() {
    plan_->arena_bytes = plan_->scratch_offset + scratch_;
    for (ir::NodeId id : graph_.parameters()) plan_->inputs.push_back(desc({id, 0}));
    for (ir::NodeId id : graph_.results()) plan_->outputs.push_back(desc({id, 0}));
    auto& owners = plan_->owners;
    std::sort(owners.begin(), owners.end());
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  }

  const ir::Graph& graph_;
  const Decisions& decisions_;
  Isa isa_;
  WeightsCache& weights_;
  int threads_;
  std::vector<ir::NodeId> order_;
  std::map<ir::Value, int64_t> last_use_;
  std::vector<Root> roots_;
  std::map<ir::Value, RootIndex> root_of_;
  std::vector<bool> result_is_copy_;
  size_t scratch_ = 0;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
};

}  // namespace

std::unique_ptr<Plan> build_plan(const ir::Graph& graph, const Decisions& decisions, Isa isa, WeightsCache& weights,
                                 int threads) {
  return PlanBuilder(graph, decisions, isa, weights, threads).build();
}

}  // namespace terroir::cpu
