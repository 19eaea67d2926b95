#pragma once
// What: where every value of a graph whose layouts are decided lies: a constant, the user's input or output, or planned
// bytes of one arena. Values share memory in five ways:
//   views                  the output is the input's bytes (Reshape, a reorder that moves nothing)
//   pieces                 outputs of a Split are bytes of its input, where each is one run
//   work in place          the output overwrites an input that nobody reads afterwards
//   overwrite              of chosen nodes: likewise, bytes of an input that nobody reads afterwards, for some time
//   more joined in place        inputs of a Concat are written straight into their place in its output, where each is
//   one run
// How: memory comes in roots, one per producer; roots that a Concat puts side by side form a cluster, a body of memory
// that moves as one. Concats that grow from each other (dense blocks) end up in one cluster. An input keeps its own
// place and is copied when it cannot lie where the Concat wants it: constants, the user's memory, a value that comes
// twice, one that another Concat has put elsewhere. Each root of a cluster is in use for its own time: before and after
// it, its bytes are anybody's. Refuses: to write in place to a root while any value of its cluster is still read; this
// is cautious, and cheap to know.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/plan.hpp"
#include "runtime/memory/planner.hpp"

namespace terroir::cpu {

/// Memory that a step wants beside its tensors.
struct ScratchNeed {
  size_t shared = 0;  // bytes
  SlotNeed of_slots;
};

/// Where that lies in the arena.
struct ScratchPlace {
  size_t shared = 0, slots = 0;
  size_t stride = 0;  // of slots
};

class Placement {
 public:
  /// `order`: the steps, topological. `overwriting`: nodes that make use of LayoutChoice::overwrite, if they can.
  Placement(const ir::Graph& graph, const Decisions& decisions, const std::vector<ir::NodeId>& order, Isa isa,
            std::set<ir::NodeId> overwriting = {});

  /// Gives the arena's values and the scratch of steps their offsets. `scratch`: by position in the order.
  /// `room`: the arena should be no larger, however long the search for the offsets takes, and the steps.
  void place_in_arena(const std::vector<ScratchNeed>& scratch, std::optional<size_t> room = std::nullopt);

  /// Once the arena is placed, like all that follows of offsets and bytes.
  Slot slot(ir::Value value) const;
  ScratchPlace scratch(ir::NodeId id) const;
  /// Whether a Concat finds this input where it belongs.
  bool joined_in_place(const ir::Use& use) const { return joined_.contains(use); }
  /// Whether a Concat finds all its inputs so, and has nothing to do.
  bool has_no_step(const ir::Node& node) const;
  /// Of a model output, by index: the value lies elsewhere and must be copied to the user's memory.
  bool result_is_copy(size_t index) const { return result_is_copy_[index]; }
  size_t arena_bytes() const { return arena_bytes_; }
  /// The node during whose step most of the arena is in use, and how much.
  struct Busiest {
    ir::NodeId node = ir::NodeId::none;
    size_t bytes = 0;
  };
  Busiest busiest(const std::vector<ScratchNeed>& scratch) const;
  bool overwrites(ir::NodeId id) const { return overwritten_.contains(id); }
  /// Whether nodes have the same steps, over other memory.
  bool has_steps_of(const Placement& other) const {
    return joined_ == other.joined_ && result_is_copy_ == other.result_is_copy_;
  }
  /// Elements of each tensor of texts that has memory of its own.
  const std::vector<int64_t>& texts() const { return texts_; }
  /// Those that no step reads as a constant of the graph: reordered ones, and sources of views.
  std::vector<KeptConstant> take_constants() { return std::move(constants_); }

 private:
  using RootIndex = size_t;
  using ClusterIndex = size_t;

  /// Memory of one producer.
  struct Root {
    Slot::Kind kind = Slot::Kind::arena;
    int32_t index = 0;              // of the model's input, or in texts_
    const void* pointer = nullptr;  // of a constant
    std::shared_ptr<const void> owner;
    int64_t bytes = 0;
    ClusterIndex cluster = 0;
    int64_t offset = 0;           // in the cluster
    bool joined = false;          // made of other roots
    int64_t first = 0, last = 0;  // steps, inclusive; of what is joined: see the others
  };
  /// Arena roots that lie side by side.
  struct Cluster {
    std::vector<RootIndex> roots;
    int64_t begin = 0, end = 0;   // bytes; a Concat may have put a root before the first
    int64_t first = 0, last = 0;  // steps, inclusive
    int32_t result = -1;          // the model output whose memory it is
    size_t arena_offset = 0;
  };
  /// A value's bytes.
  struct Place {
    RootIndex root = 0;
    int64_t offset = 0;  // in the root
  };
  TensorDesc desc(ir::Value value) const;
  bool reads(const ir::Use& use) const;
  void find_last_uses();
  RootIndex new_root(Slot::Kind kind, int64_t bytes, int64_t first, int64_t last);
  void extend(const Place& place, ir::Value value);
  void place_outputs(const ir::Node& node, int64_t at);
  Place place_output(const ir::Node& node, ir::Value value, int64_t at);
  Place view(ir::Value source);
  const void* constant_reorder(const ir::Node& node);
  const Place* in_place(const ir::Node& node, int64_t at) const;
  std::optional<Place> overwrite(const ir::Node& node, int64_t at);
  Place join(const ir::Node& node, int64_t at);
  std::vector<memory::Part> parts_of(const Cluster& cluster) const;
  std::vector<ClusterIndex> clusters_in_arena() const;
  /// Slots of no more than `most` at the same place for all steps, where no tensor lies. Of a tensor there, the caches
  /// of other threads would still have lines that these have read, and to write to such lines takes several times as
  /// long.
  void place_with_slots_alone(const std::vector<ScratchNeed>& scratch, const SlotNeed& most, bool tight);
  /// Slots as part of each step's scratch.
  void place_with_slots_of_steps(const std::vector<ScratchNeed>& scratch, bool tight);
  memory::Block block_of(const Cluster& cluster) const;
  bool can_attach(ClusterIndex from, int64_t shift, RootIndex joined, const ir::Node& node,
                  const std::vector<int64_t>& sizes) const;
  void attach(ClusterIndex from, ClusterIndex to, int64_t shift);
  void bind_results();
  /// Begin of a place in its cluster.
  int64_t in_cluster(const Place& place) const { return roots_[place.root].offset + place.offset; }

  const ir::Graph& graph_;
  const Decisions& decisions_;
  const std::vector<ir::NodeId>& order_;
  Isa isa_;
  std::set<ir::NodeId> overwriting_, overwritten_;  // may, do
  std::map<ir::Value, int64_t> last_use_;
  std::vector<Root> roots_;
  std::vector<Cluster> clusters_;
  std::map<ir::Value, Place> places_;
  std::set<ir::Use> joined_;
  std::vector<bool> result_is_copy_;
  std::vector<KeptConstant> constants_;
  std::vector<int64_t> texts_;
  std::map<ir::NodeId, ScratchPlace> scratch_;
  size_t arena_bytes_ = 0;
};

}  // namespace terroir::cpu
