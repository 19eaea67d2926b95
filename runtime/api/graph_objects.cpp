#include "runtime/api/graph_objects.hpp"

#include <utility>

namespace terroir::detail {

LayerObjects::Entry& LayerObjects::entry(ir::NodeId id) {
  if (entries_.size() <= ir::index_of(id)) entries_.resize(ir::index_of(id) + 1);
  return entries_[ir::index_of(id)];
}

std::shared_ptr<Node> LayerObjects::find(ir::NodeId id) const {
  const std::lock_guard lock(mutex_);
  return ir::index_of(id) < entries_.size() ? entries_[ir::index_of(id)].get() : nullptr;
}

NodeVector LayerObjects::all() const {
  NodeVector known;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) known.push_back(entry.get());
  return known;
}

std::shared_ptr<Node> LayerObjects::enter(ir::NodeId id, const std::shared_ptr<Node>& object) {
  const std::lock_guard lock(mutex_);
  Entry& entry = this->entry(id);
  if (auto known = entry.object.lock()) return known;
  const std::shared_ptr<Node> announced = entry.get();
  const std::shared_ptr<Node>& its = announced != nullptr ? announced : object;
  entry.object = its;
  if (keeps_) kept_.push_back(its);
  return its;
}

void LayerObjects::announce(ir::NodeId id, Node* object) {
  const std::lock_guard lock(mutex_);
  entry(id).announced = object;
}

void LayerObjects::leave(ir::NodeId id, const Node* object) {
  const std::lock_guard lock(mutex_);
  if (ir::index_of(id) < entries_.size() && entries_[ir::index_of(id)].announced == object)
    entries_[ir::index_of(id)].announced = nullptr;
}

void LayerObjects::keep() {
  NodeVector known = all();
  const std::lock_guard lock(mutex_);
  keeps_ = true;
  kept_.swap(known);
}

void LayerObjects::release() {
  NodeVector kept;  // gone after the lock is
  const std::lock_guard lock(mutex_);
  keeps_ = false;
  kept.swap(kept_);
}

void LayerObjects::rename(ir::NodeId from, ir::NodeId to) {
  if (const auto object = find(from)) enter(to, object);
  const std::lock_guard lock(mutex_);
  entry(to).announced = entry(from).announced;
  entry(from).announced = nullptr;
}

void LayerObjects::hand_over(LayerObjects& to, const std::vector<ir::NodeId>& there) {
  const NodeVector here = all();
  for (size_t id = 0; id < here.size() && id < there.size(); ++id) {
    if (there[id] == ir::NodeId::none) continue;
    if (here[id] != nullptr) to.enter(there[id], here[id]);
    const std::scoped_lock lock(mutex_, to.mutex_);
    // It stays known here, too: layers that have not gone may read it.
    if (entries_[id].announced != nullptr) to.entry(there[id]).announced = entries_[id].announced;
  }
}

}  // namespace terroir::detail
