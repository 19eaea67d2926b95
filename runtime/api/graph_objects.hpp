// The objects by which programs know the layers of a graph.
//
// What: a layer has one object for whoever asks, as long as anyone has it: the program's own of a layer made in code,
//       or one that is made when it is first asked for. Objects of a model stay until the model goes, so that plain
//       pointers to them hold; layers keep the objects of those they read (NodeBelongings), as in OpenVINO.
// Cost: nothing for layers of files that nobody has asked for.
// Threads: objects may be asked for by several threads at once.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ir/graph/ids.hpp"
#include "terroir/node.hpp"

namespace terroir::detail {

/// Makes an object of a class.
using MakeObject = std::shared_ptr<Node> (*)(const NodeHandle&);

/// What lives as long as the object of a layer.
struct NodeBelongings {
  bool is_announced = false;                                 // to LayerObjects
  NodeVector inputs;                                         // what it reads, as far as there are objects
  OutputVector later_inputs;                                 // behind one that is still missing, by index
  NodeVector comes_after;                                    // as the program says
  std::vector<Node*> come_after;                             // objects that say so of this layer
  std::vector<std::unique_ptr<descriptor::Tensor>> tensors;  // of its outputs
  // Objects of other classes, for the same layer.
  std::vector<std::pair<MakeObject, std::shared_ptr<Node>>> of_class;

  descriptor::Tensor& tensor(Node* node, size_t index) {
    if (tensors.size() <= index) tensors.resize(index + 1);
    std::unique_ptr<descriptor::Tensor>& known = tensors[index];
    if (known == nullptr) known.reset(new descriptor::Tensor(node, index));
    return *known;
  }
};

class LayerObjects {
 public:
  /// The object of a layer; null if there is none.
  std::shared_ptr<Node> find(ir::NodeId id) const;
  /// By id; null where there is none.
  NodeVector all() const;
  /// Makes `object` that of the layer unless it has one; which it is then.
  std::shared_ptr<Node> enter(ir::NodeId id, const std::shared_ptr<Node>& object);
  /// The same for an object under construction, which nobody can have yet; the last of it is leave().
  void announce(ir::NodeId id, Node* object);
  void leave(ir::NodeId id, const Node* object);

  /// Objects stay from now on, until release().
  void keep();
  void release();

  /// A layer has another id.
  void rename(ir::NodeId from, ir::NodeId to);
  /// Objects of layers that have gone to another graph go along; `there`: ids by id here, none: it stays.
  void hand_over(LayerObjects& to, const std::vector<ir::NodeId>& there);

  /// Of belongings of the layers.
  std::mutex& mutex() const { return mutex_; }

 private:
  struct Entry {
    std::weak_ptr<Node> object;
    Node* announced = nullptr;

    std::shared_ptr<Node> get() const {
      if (auto known = object.lock()) return known;
      return announced != nullptr ? announced->weak_from_this().lock() : nullptr;
    }
  };
  Entry& entry(ir::NodeId id);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // by id, as far as there are any
  NodeVector kept_;
  bool keeps_ = false;
};

}  // namespace terroir::detail
