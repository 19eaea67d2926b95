// Runtime information as code reads and writes it: maps of any values.
//
// What: graphs and files carry texts (ir::RtInfo, ir::RtTree). A map is made of them when it is first asked for, stays
//       at its address from then on, and what code writes to it counts: graphs that are compiled, copied or written get
//       it as texts (differ()), and what others change in the graph comes into the map when it is asked for again.
//       Values that have no text live in the maps alone.
// Formula: of layers and ports, a map with a "version" is an <attribute>, a key that begins with "user_data" (which its
//       name follows) a <user_data>, others are <custom>; those that begin with two underscores, and objects, are not
//       written. Of a model, all are.
// Cost: nothing for owners whose map nobody has asked for.
// Threads: maps may be asked for by several threads at once.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "ir/graph/graph.hpp"
#include "terroir/any.hpp"

namespace terroir::detail {

class RtInfoMaps {
 public:
  enum class Of { model, layer, input, output };
  struct Owner {
    Of of = Of::model;
    ir::NodeId node = ir::NodeId::none;
    int32_t index = 0;
    auto operator<=>(const Owner&) const = default;
  };

  AnyMap& at(const ir::Graph& graph, const Owner& owner);
  /// The same; null while nobody has asked for it.
  AnyMap* find(const ir::Graph& graph, const Owner& owner);

  /// Whether the maps say something else than the texts of the graph; these are changed in a copy of it, if given.
  bool differ(const ir::Graph& graph, ir::Graph* copy = nullptr);

  /// A layer has another id.
  void rename(ir::NodeId from, ir::NodeId to);
  /// Maps of layers that have gone to another graph go along, those of layers that are in both are copied; `there`: ids
  /// by id here, none: not there; `moved`: whether they are here no more.
  void hand_over(RtInfoMaps& to, const std::vector<ir::NodeId>& there, bool moved);
  /// Maps of a copy of the graph, in which ids are the same.
  void copy_to(RtInfoMaps& copy, const ir::Graph& graph);

 private:
  struct Entry {
    AnyMap map;
    ir::RtTree told;  // by the graph when the map was last asked for
  };
  static void take_over(Entry& entry, ir::RtTree now);

  std::mutex mutex_;
  std::map<Owner, Entry> entries_;
};

}  // namespace terroir::detail
