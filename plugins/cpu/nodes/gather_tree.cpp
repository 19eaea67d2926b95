// GatherTree: each beam followed from its end to its beginning; i32, i64 and f32. Layouts: plain. Threads: groups
// of beams. Edge cases: a parent that is no beam is an Exception.
#include <span>

#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

struct Tree {
  int64_t times, batches, beams;
};

constexpr int64_t kAtOnce = 64;  // beams, neighbours in memory, of one item or of several

/// `count` beams from beam `first` of all on. Ids and parents are whole numbers, also as f32.
template <class T>
void follow(const Tree& tree, int64_t first, int64_t count, const void* const* inputs, void* output) {
  const T* ids = static_cast<const T*>(inputs[0]);
  const T* parents = static_cast<const T*>(inputs[1]);
  const T end = *static_cast<const T*>(inputs[3]);
  T* dst = static_cast<T*>(output) + first;
  const int64_t row = tree.batches * tree.beams;
  int64_t length[kAtOnce], item[kAtOnce], place[kAtOnce];
  for (int64_t i = 0; i < count; ++i) {
    const T wanted = static_cast<const T*>(inputs[2])[(first + i) / tree.beams];
    length[i] = wanted >= static_cast<T>(tree.times) ? tree.times : wanted >= T{1} ? static_cast<int64_t>(wanted) : 0;
    item[i] = (first + i) / tree.beams * tree.beams;
    place[i] = first + i;
  }
  for (int64_t time = tree.times; time-- > 0;) {
    for (int64_t i = 0; i < count; ++i) {
      const bool is_behind = time >= length[i];
      dst[time * row + i] = is_behind ? end : ids[time * row + place[i]];
      if (is_behind || time == 0) continue;
      const T parent = parents[time * row + place[i]];
      if (!(parent >= T{0} && parent < static_cast<T>(tree.beams)))
        throw_error(ErrorCode::invalid_argument, "parent ", parent, " is out of range [0, ", tree.beams - 1, "]");
      place[i] = item[i] + static_cast<int64_t>(parent);
    }
  }
  // What follows the first end token is end tokens.
  bool finished[kAtOnce] = {};
  for (int64_t time = 0; time < tree.times; ++time) {
    for (int64_t i = 0; i < count; ++i) {
      T& id = dst[time * row + i];
      finished[i] = finished[i] || id == end;
      if (finished[i]) id = end;
    }
  }
}

using FollowFn = decltype(&follow<float>);

FollowFn follow_for(element::Type type) {
  if (type == element::i32) return &follow<int32_t>;
  if (type == element::i64) return &follow<int64_t>;
  return type == element::f32 ? &follow<float> : nullptr;
}

class GatherTreeExecutor final : public Executor {
 public:
  explicit GatherTreeExecutor(const NodeContext& context) : follow_(follow_for(context.inputs[0].type)) {
    const ir::Dims& dims = context.inputs[0].dims;
    tree_ = {dims[0], dims[1], dims[2]};
  }
  void run(const RunArgs& args) const override {
    const int64_t beams = tree_.batches * tree_.beams;
    args.arena.parallel_for(ceil_div(beams, kAtOnce), [&](int64_t task) {
      const int64_t first = task * kAtOnce;
      follow_(tree_, first, std::min(kAtOnce, beams - first), args.inputs, args.outputs[0]);
    });
  }
  std::string kernel_name() const override { return "gather_tree"; }

 private:
  FollowFn follow_;
  Tree tree_;
};

Proposal propose(const NodeContext& context) {
  for (const TensorDesc& input : context.inputs)
    if (input.type != context.inputs[0].type || !follow_for(input.type))
      return Reject{"no kernel for " + input.type.get_type_name()};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.emplace_back(input.layout);
  choice.outputs = {context.outputs[0].layout};
  choice.cost = copy_ns(context.outputs[0]);
  return std::vector{choice};
}

constexpr Impl kGatherTree[] = {
    {"gather_tree", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<GatherTreeExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> gather_tree_impls() { return kGatherTree; }

}  // namespace terroir::cpu
