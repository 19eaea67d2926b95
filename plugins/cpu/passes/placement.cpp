#include "plugins/cpu/passes/placement.hpp"

#include <algorithm>
#include <utility>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

size_t ceil_to_line(size_t bytes) { return static_cast<size_t>(round_up(static_cast<int64_t>(bytes), kCacheLine)); }

}  // namespace

Placement::Placement(const ir::Graph& graph, const Decisions& decisions, const std::vector<ir::NodeId>& order, Isa isa,
                     std::set<ir::NodeId> overwriting)
    : graph_(graph), decisions_(decisions), order_(order), isa_(isa), overwriting_(std::move(overwriting)) {
  find_last_uses();
  for (size_t at = 0; at < order_.size(); ++at) place_outputs(graph_.node(order_[at]), static_cast<int64_t>(at));
  bind_results();
}

Slot Placement::slot(ir::Value value) const {
  const Place& place = places_.at(value);
  const Root& root = roots_[place.root];
  Slot slot{root.kind, root.index, static_cast<size_t>(place.offset), nullptr};
  if (root.kind == Slot::Kind::constant) {
    slot = {root.kind, 0, 0, static_cast<const char*>(root.pointer) + place.offset};
  } else if (root.kind == Slot::Kind::arena) {
    const Cluster& cluster = clusters_[root.cluster];
    const auto offset = static_cast<size_t>(in_cluster(place) - cluster.begin);
    slot = cluster.result >= 0 ? Slot{Slot::Kind::model_output, cluster.result, offset, nullptr}
                               : Slot{Slot::Kind::arena, 0, cluster.arena_offset + offset, nullptr};
  }
  return slot;
}

bool Placement::has_no_step(const ir::Node& node) const {
  if (decisions_.at(node.id).choice.joins.empty()) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (!joined_.contains({node.id, static_cast<int32_t>(i)})) return false;
  return true;
}

TensorDesc Placement::desc(ir::Value value) const {
  const ir::OutputPort& port = graph_.port(value);
  return {port.type, ir::to_dims(port.shape.to_shape()), layout_of(decisions_, value)};
}

/// Whether a use reads the value's memory when the plan runs.
bool Placement::reads(const ir::Use& use) const {
  return decisions_.at(use.node).choice.inputs.at(static_cast<size_t>(use.input)).has_value();
}

void Placement::find_last_uses() {
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

Placement::RootIndex Placement::new_root(Slot::Kind kind, int64_t bytes, int64_t first, int64_t last) {
  Root root;
  root.kind = kind;
  root.bytes = bytes;
  root.cluster = clusters_.size();
  root.first = first;
  root.last = last;
  clusters_.push_back({{roots_.size()}, 0, bytes, first, last, -1, 0});
  roots_.push_back(root);
  return roots_.size() - 1;
}

void Placement::extend(const Place& place, ir::Value value) {
  Cluster& cluster = clusters_[roots_[place.root].cluster];
  const int64_t last = last_use_.at(value), begin = in_cluster(place);
  cluster.last = std::max(cluster.last, last);
  const auto bytes = static_cast<int64_t>(desc(value).bytes());
  // What the value has overwritten stays as it was.
  const int64_t made = roots_[place.root].first;
  for (const RootIndex index : cluster.roots)
    if (Root& root = roots_[index]; root.last >= made && overlap(begin, bytes, root.offset, root.bytes))
      root.last = std::max(root.last, last);
}

void Placement::place_outputs(const ir::Node& node, int64_t at) {
  if (node.is(ir::kResultType)) return;
  for (size_t output = 0; output < node.outputs.size(); ++output) {
    const ir::Value value{node.id, static_cast<int32_t>(output)};
    const Place place = place_output(node, value, at);
    extend(place, value);
    places_[value] = place;
  }
}

Placement::Place Placement::place_output(const ir::Node& node, ir::Value value, int64_t at) {
  const LayoutChoice& choice = decisions_.at(node.id).choice;
  const auto bytes = static_cast<int64_t>(desc(value).bytes());
  if (!choice.pieces.empty()) {
    Place place = view(node.inputs[0]);
    place.offset += static_cast<int64_t>(choice.pieces.at(static_cast<size_t>(value.output)));
    return place;
  }
  const void* constant = node.constant ? node.constant->view.data : nullptr;
  if (value.output == 0 && !node.constant) {
    if (choice.view_of >= 0) return view(node.inputs[static_cast<size_t>(choice.view_of)]);
    if (!choice.joins.empty()) return join(node, at);
    if (const Place* shared = in_place(node, at)) return *shared;
    if (const std::optional<Place> over = overwrite(node, at)) return *over;
    constant = constant_reorder(node);
  }
  if (node.constant || constant) {
    const RootIndex root = new_root(Slot::Kind::constant, bytes, at, at);
    roots_[root].pointer = constant;
    if (node.constant) roots_[root].owner = node.constant->owner;
    return {root, 0};
  }
  if (node.is(ir::kParameterType)) {
    const RootIndex root = new_root(Slot::Kind::model_input, bytes, at, at);
    const auto& parameters = graph_.parameters();
    roots_[root].index =
        static_cast<int32_t>(std::find(parameters.begin(), parameters.end(), node.id) - parameters.begin());
    return {root, 0};
  }
  if (desc(value).type == element::string) {
    const RootIndex root = new_root(Slot::Kind::texts, bytes, at, at);
    roots_[root].index = static_cast<int32_t>(texts_.size());
    texts_.push_back(desc(value).count());
    return {root, 0};
  }
  return {new_root(Slot::Kind::arena, bytes, at, at), 0};
}

/// The place of a value that another one is a view of. Steps keep the constants that they read; of views they know not.
Placement::Place Placement::view(ir::Value source) {
  const Place place = places_.at(source);
  const Root& root = roots_[place.root];
  if (root.owner) constants_.push_back({root.owner, static_cast<size_t>(root.bytes)});
  return place;
}

/// The reordered bytes when the node is a Reorder of a constant: done now, kept by the plan. Null otherwise.
const void* Placement::constant_reorder(const ir::Node& node) {
  if (node.schema->type != kReorderType) return nullptr;
  const ir::Constant* source = ir::constant_of(graph_, node.inputs[0]);
  if (!source) return nullptr;
  const TensorDesc from = desc(node.inputs[0]), to = desc({node.id, 0});
  auto buffer = std::make_shared<AlignedBuffer>(to.bytes());
  reorder(from, source->view.data, to, buffer->data(), isa_);
  constants_.push_back({buffer, buffer->size()});
  return buffer->data();
}

/// The place of an input that the node may overwrite: nobody reads that memory after this step. Null: none.
const Placement::Place* Placement::in_place(const ir::Node& node, int64_t at) const {
  const auto bytes = static_cast<int64_t>(desc({node.id, 0}).bytes());
  for (int input : decisions_.at(node.id).choice.in_place) {
    const ir::Value value = node.inputs[static_cast<size_t>(input)];
    const Place& place = places_.at(value);
    const Root& root = roots_[place.root];
    if (root.kind != Slot::Kind::arena || clusters_[root.cluster].last > at ||
        static_cast<int64_t>(desc(value).bytes()) != bytes)
      continue;
    // The same memory must not come in at another input in another role.
    const auto same = std::count_if(node.inputs.begin(), node.inputs.end(), [&](ir::Value other) {
      const Place& found = places_.at(other);
      return roots_[found.root].cluster == root.cluster &&
             overlap(in_cluster(found), static_cast<int64_t>(desc(other).bytes()), in_cluster(place), bytes);
    });
    if (same == 1) return &place;
  }
  return nullptr;
}

/// Bytes of an input that nobody reads after this step, as memory of the output.
std::optional<Placement::Place> Placement::overwrite(const ir::Node& node, int64_t at) {
  const LayoutChoice::Overwrite& wanted = decisions_.at(node.id).choice.overwrite;
  if (wanted.input < 0 || !overwriting_.contains(node.id)) return std::nullopt;
  const ir::Value value = node.inputs[static_cast<size_t>(wanted.input)];
  const Place source = places_.at(value);
  if (roots_[source.root].kind != Slot::Kind::arena) return std::nullopt;
  const ClusterIndex cluster = roots_[source.root].cluster;
  const auto bytes = static_cast<int64_t>(desc({node.id, 0}).bytes()),
             source_bytes = static_cast<int64_t>(desc(value).bytes());
  for (int64_t offset = 0; offset + bytes <= source_bytes; offset += static_cast<int64_t>(wanted.step)) {
    const int64_t begin = in_cluster(source) + offset;
    const auto& there = clusters_[cluster].roots;
    if (std::any_of(there.begin(), there.end(), [&](RootIndex index) {
          const Root& root = roots_[index];
          return !root.joined && root.last > at && overlap(begin, bytes, root.offset, root.bytes);
        }))
      continue;
    // Until the step ends, the bytes are the input's.
    const RootIndex root = new_root(Slot::Kind::arena, bytes, at + 1, at + 1);
    attach(roots_[root].cluster, cluster, begin);
    overwritten_.insert(node.id);
    return Place{root, 0};
  }
  return std::nullopt;
}

/// The place of a Concat's output: a cluster that its inputs join where they can.
Placement::Place Placement::join(const ir::Node& node, int64_t at) {
  const std::vector<size_t>& offsets = decisions_.at(node.id).choice.joins;
  const RootIndex joined = new_root(Slot::Kind::arena, static_cast<int64_t>(desc({node.id, 0}).bytes()), at, at);
  roots_[joined].joined = true;
  std::vector<int64_t> sizes;
  for (const ir::Value& input : node.inputs) sizes.push_back(static_cast<int64_t>(desc(input).bytes()));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int64_t bytes = sizes[i];
    const Place& part = places_.at(node.inputs[i]);
    const Root& root = roots_[part.root];
    const int64_t wanted = roots_[joined].offset + static_cast<int64_t>(offsets[i]);
    const ClusterIndex own = roots_[joined].cluster;
    if (bytes > 0 && root.kind == Slot::Kind::arena && root.cluster != own) {
      const int64_t shift = wanted - in_cluster(part);
      if (can_attach(root.cluster, shift, joined, node, sizes)) attach(root.cluster, own, shift);
    }
    if (bytes == 0 || (root.kind == Slot::Kind::arena && root.cluster == own && in_cluster(part) == wanted)) {
      joined_.insert({node.id, static_cast<int32_t>(i)});
      continue;
    }
    // Copied: these bytes are the Concat's own.
    const RootIndex copy = new_root(Slot::Kind::arena, bytes, at, at);
    attach(roots_[copy].cluster, own, wanted);
  }
  return {joined, 0};
}

/// Whether the memory of `from`, moved by `shift` into the cluster of `joined`, meets nothing there but the inputs of
/// the Concat `node` that lie in it. `sizes`: bytes of the inputs.
bool Placement::can_attach(ClusterIndex from, int64_t shift, RootIndex joined, const ir::Node& node,
                           const std::vector<int64_t>& sizes) const {
  const std::vector<size_t>& offsets = decisions_.at(node.id).choice.joins;
  for (const RootIndex index : clusters_[from].roots) {
    const Root& root = roots_[index];
    if (root.joined) continue;  // what it is made of is looked at
    const int64_t begin = root.offset + shift;
    for (const RootIndex other : clusters_[roots_[joined].cluster].roots)
      if (!roots_[other].joined && overlap(begin, root.bytes, roots_[other].offset, roots_[other].bytes)) return false;
    // Inputs lie one behind the other, and there may be thousands.
    const int64_t in_joined = begin - roots_[joined].offset;
    size_t i = 0;
    if (in_joined > 0)
      i = static_cast<size_t>(std::upper_bound(offsets.begin(), offsets.end(), static_cast<size_t>(in_joined)) -
                              offsets.begin());
    while (i > 0 && static_cast<int64_t>(offsets[i - 1]) + sizes[i - 1] > in_joined) --i;
    for (; i < node.inputs.size() && static_cast<int64_t>(offsets[i]) < in_joined + root.bytes; ++i) {
      const int64_t wanted = roots_[joined].offset + static_cast<int64_t>(offsets[i]);
      if (!overlap(begin, root.bytes, wanted, sizes[i])) continue;
      const Place& part = places_.at(node.inputs[i]);
      if (roots_[part.root].cluster != from || in_cluster(part) + shift != wanted) return false;
    }
  }
  return true;
}

void Placement::attach(ClusterIndex from, ClusterIndex to, int64_t shift) {
  Cluster &source = clusters_[from], &target = clusters_[to];
  for (const RootIndex root : source.roots) {
    roots_[root].cluster = to;
    roots_[root].offset += shift;
    target.roots.push_back(root);
  }
  source.roots.clear();
  target.begin = std::min(target.begin, source.begin + shift);
  target.end = std::max(target.end, source.end + shift);
  target.first = std::min(target.first, source.first);
  target.last = std::max(target.last, source.last);
}

/// A value that only has to end up in the user's output is computed there; other Results are copies.
void Placement::bind_results() {
  const auto& results = graph_.results();
  for (size_t i = 0; i < results.size(); ++i) {
    const ir::Value source = graph_.node(results[i]).inputs[0];
    const Place& place = places_.at(source);
    const Root& root = roots_[place.root];
    Cluster& cluster = clusters_[root.cluster];
    const int64_t begin = in_cluster(place), end = begin + static_cast<int64_t>(desc(source).bytes());
    // The user's memory holds this value and no more.
    const bool bind =
        root.kind == Slot::Kind::arena && cluster.result < 0 && begin == cluster.begin && end == cluster.end;
    if (bind) cluster.result = static_cast<int32_t>(i);
    result_is_copy_.push_back(!bind);
  }
}

std::vector<memory::Part> Placement::parts_of(const Cluster& cluster) const {
  std::vector<memory::Part> parts;
  for (const RootIndex index : cluster.roots) {
    const Root& root = roots_[index];
    if (!root.joined)
      parts.push_back(
          {static_cast<size_t>(root.offset - cluster.begin), static_cast<size_t>(root.bytes), root.first, root.last});
  }
  return parts;
}

std::vector<Placement::ClusterIndex> Placement::clusters_in_arena() const {
  std::vector<ClusterIndex> found;
  for (ClusterIndex i = 0; i < clusters_.size(); ++i) {
    const Cluster& cluster = clusters_[i];
    if (!cluster.roots.empty() && cluster.result < 0 && roots_[cluster.roots[0]].kind == Slot::Kind::arena)
      found.push_back(i);
  }
  return found;
}

memory::Block Placement::block_of(const Cluster& cluster) const {
  return {.size = static_cast<size_t>(cluster.end - cluster.begin),
          .first_use = cluster.first,
          .last_use = cluster.last,
          .parts = parts_of(cluster)};
}

namespace {

/// All that a step wants, one after another.
size_t bytes_of(const ScratchNeed& need) {
  return ceil_to_line(need.shared) + need.of_slots.slots * ceil_to_line(need.of_slots.bytes);
}

/// What the slots of all steps fit into whose slots take no more than that.
SlotNeed largest(const std::vector<ScratchNeed>& scratch, size_t bytes = SIZE_MAX) {
  SlotNeed most;
  for (const ScratchNeed& need : scratch)
    if (need.of_slots.bytes <= bytes)
      most = {std::max(most.bytes, need.of_slots.bytes), std::max(most.slots, need.of_slots.slots)};
  return most;
}

}  // namespace

void Placement::place_in_arena(const std::vector<ScratchNeed>& scratch, std::optional<size_t> room) {
  const bool tight = room.has_value();
  // One thread would rather find in its slot's memory what it has just read.
  if (largest(scratch).slots > 1) {
    // Where there is no room for the largest ones, the others may still be alone.
    for (SlotNeed alone = largest(scratch); alone.bytes > 0; alone = largest(scratch, alone.bytes / 2)) {
      place_with_slots_alone(scratch, alone, tight);
      if (!tight || arena_bytes_ <= *room) return;
    }
  }
  place_with_slots_of_steps(scratch, tight);
}

void Placement::place_with_slots_alone(const std::vector<ScratchNeed>& scratch, const SlotNeed& most, bool tight) {
  constexpr size_t kPage = 4096;
  const auto pages = [](size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; };
  std::vector<ScratchNeed> of_steps = scratch;
  for (ScratchNeed& need : of_steps)
    if (need.of_slots.bytes <= most.bytes) need.of_slots = {};
  place_with_slots_of_steps(of_steps, tight);
  const size_t begin = pages(arena_bytes_), stride = pages(most.bytes);
  for (size_t at = 0; at < scratch.size(); ++at) {
    if (scratch[at].of_slots.bytes > most.bytes) continue;
    ScratchPlace& place = scratch_[order_[at]];
    place.slots = begin;
    place.stride = stride;
  }
  arena_bytes_ = begin + most.slots * stride;
}

void Placement::place_with_slots_of_steps(const std::vector<ScratchNeed>& scratch, bool tight) {
  const std::vector<ClusterIndex> clusters = clusters_in_arena();
  std::vector<memory::Block> blocks;
  for (const ClusterIndex cluster : clusters) blocks.push_back(block_of(clusters_[cluster]));
  std::vector<memory::Block> apart = blocks;
  // All steps' scratch begins at the same byte: one finds in cache what another has left there.
  memory::Block common{.size = 0, .last_use = static_cast<int64_t>(order_.size())};
  for (size_t at = 0; at < scratch.size(); ++at) {
    const size_t bytes = bytes_of(scratch[at]);
    if (bytes == 0) continue;
    const auto step = static_cast<int64_t>(at);
    common.size = std::max(common.size, bytes);
    common.parts.push_back({0, bytes, step, step});
    apart.push_back({.size = bytes, .first_use = step, .last_use = step});
  }
  blocks.push_back(common);
  memory::MemoryPlan plan = memory::plan_memory(blocks);
  // But not at any price.
  const size_t wanted = tight ? plan.total : plan.total - plan.total / 16;
  bool is_common = memory::peak_bytes(apart) >= wanted;
  if (!is_common) {
    memory::MemoryPlan plan_apart = memory::plan_memory(apart, tight);
    is_common = plan_apart.total >= wanted;
    if (!is_common) plan = std::move(plan_apart);
  }
  for (size_t i = 0; i < clusters.size(); ++i) clusters_[clusters[i]].arena_offset = plan.offsets[i];
  scratch_.clear();
  for (size_t i = 0; i < common.parts.size(); ++i) {
    const auto at = static_cast<size_t>(common.parts[i].first_use);
    const size_t begin = plan.offsets[clusters.size() + (is_common ? 0 : i)];
    scratch_[order_[at]] = {begin, begin + ceil_to_line(scratch[at].shared), ceil_to_line(scratch[at].of_slots.bytes)};
  }
  arena_bytes_ = plan.total;
}

Placement::Busiest Placement::busiest(const std::vector<ScratchNeed>& scratch) const {
  if (order_.empty()) return {};
  std::vector<memory::Block> blocks;
  for (const ClusterIndex cluster : clusters_in_arena()) blocks.push_back(block_of(clusters_[cluster]));
  for (size_t at = 0; at < scratch.size(); ++at) {
    const auto step = static_cast<int64_t>(at);
    if (const size_t bytes = bytes_of(scratch[at]); bytes > 0)
      blocks.push_back({.size = bytes, .first_use = step, .last_use = step});
  }
  // Results are read behind the last step.
  return {order_[std::min(static_cast<size_t>(memory::busiest_step(blocks)), order_.size() - 1)],
          memory::peak_bytes(blocks)};
}

ScratchPlace Placement::scratch(ir::NodeId id) const {
  const auto found = scratch_.find(id);
  return found != scratch_.end() ? found->second : ScratchPlace{};
}

}  // namespace terroir::cpu
