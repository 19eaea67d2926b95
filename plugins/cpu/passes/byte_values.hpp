#pragma once
// What: values of a graph that can be had as bytes: results of FakeQuantize, and what operations that only move values,
// or pick them, make of these. For passes that put bytes in their place.
//   FakeQuantize(x)             ->  Quantize(x)
//   MaxPool(FakeQuantize(x))    ->  MaxPool(Quantize(x)), and likewise Reshape, Transpose, Concat of one scale, ...
//   FakeQuantize(MaxPool(x))    ->  MaxPool(Quantize(x)), where nothing else reads the maxima: these are the same
// Refuses: more than 256 levels, limits that are no constants, other ranges than one for all elements, or for each
// channel (axis 1) where nothing moves.
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

/// A FakeQuantize as bytes and what these stand for: scale * (q - zero).
struct Quantisation {
  QuantizeAttrs levels;
  ByChannel scale, zero;
  bool by_channel() const { return levels.by_channel() || scale.values.size() + zero.values.size() > 2; }
};
std::optional<Quantisation> quantisation_of(const ir::Graph& graph, const ir::Node& node);

class ByteValues {
 public:
  ByteValues(const ir::Graph& graph, const CpuOps& ops, ir::Patch& patch) : graph_(graph), ops_(ops), patch_(patch) {}

  /// What the bytes of a value would stand for; null: it cannot be had.
  const Quantisation* find(ir::Value value) { return find(value, 0); }
  /// The bytes, of a value that has been found.
  ir::Value get(ir::Value value);
  /// The use reads bytes, or its node is gone.
  void take(ir::Use use) { taken_.insert(use); }
  /// Other uses of values whose bytes are there read these, dequantised.
  void dequantize_others();

 private:
  const Quantisation* find(ir::Value value, int depth);
  std::optional<Quantisation> carried(const ir::Node& node, int depth);
  ir::Value quantised(ir::Value x, const QuantizeAttrs& levels, ir::NodeId from, int depth);

  const ir::Graph& graph_;
  const CpuOps& ops_;
  ir::Patch& patch_;
  std::map<ir::Value, std::optional<Quantisation>> found_;
  std::map<ir::NodeId, ir::Value> made_;  // instead of a node, its output 0
  std::set<ir::Use> taken_;
  // What reads one value through the same levels reads the same bytes.
  std::map<std::pair<ir::Value, QuantizeAttrs>, ir::Value> quantised_;
};

}  // namespace terroir::cpu
