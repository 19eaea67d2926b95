#pragma once
// What: names of things inside a graph. The graph owns nodes; everyone else holds these.
#include <compare>
#include <cstdint>
#include <functional>

namespace terroir::ir {

/// A node of one graph; stays valid until the node is erased, and is never given to another node.
enum class NodeId : int32_t { none = -1 };

constexpr size_t index_of(NodeId id) { return static_cast<size_t>(id); }

/// One output of one node.
struct Value {
  NodeId node = NodeId::none;
  int32_t output = 0;
  auto operator<=>(const Value&) const = default;
};

/// One input slot of one node.
struct Use {
  NodeId node = NodeId::none;
  int32_t input = 0;
  auto operator<=>(const Use&) const = default;
};

}  // namespace terroir::ir

template <>
struct std::hash<terroir::ir::Value> {
  size_t operator()(const terroir::ir::Value& value) const noexcept {
    return std::hash<int64_t>{}((static_cast<int64_t>(value.node) << 32) ^ value.output);
  }
};
