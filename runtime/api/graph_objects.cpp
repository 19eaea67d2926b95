#include "runtime/api/graph_objects.hpp"

#include <utility>

namespace terroir::detail {

std::shared_ptr<Node> LayerObjects::find(ir::NodeId id) const {
  const std::lock_guard lock(mutex_);
  return ir::index_of(id) < objects_.size() ? objects_[ir::index_of(id)].lock() : nullptr;
}

NodeVector LayerObjects::all() const {
  NodeVector known;
  const std::lock_guard lock(mutex_);
  for (const auto& object : objects_) known.push_back(object.lock());
  return known;
}

std::shared_ptr<Node> LayerObjects::enter(ir::NodeId id, const std::shared_ptr<Node>& object) {
  const std::lock_guard lock(mutex_);
  if (objects_.size() <= ir::index_of(id)) objects_.resize(ir::index_of(id) + 1);
  std::weak_ptr<Node>& entry = objects_[ir::index_of(id)];
  if (auto known = entry.lock()) return known;
  entry = object;
  if (keeps_) kept_.push_back(object);
  return object;
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

bool LayerObjects::keeps() const {
  const std::lock_guard lock(mutex_);
  return keeps_;
}

void LayerObjects::rename(ir::NodeId from, ir::NodeId to) {
  if (const auto object = find(from)) enter(to, object);
}

void LayerObjects::hand_over(LayerObjects& to, const std::vector<ir::NodeId>& there) {
  const NodeVector here = all();
  for (size_t id = 0; id < here.size() && id < there.size(); ++id) {
    if (here[id] != nullptr && there[id] != ir::NodeId::none) to.enter(there[id], here[id]);
  }
}

}  // namespace terroir::detail
