#pragma once
// What: Plan, a compiled graph for one set of input shapes: an array of steps over planned memory. infer() walks it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/layout/layout.hpp"

namespace terroir::cpu {

/// Where a value lies.
struct Slot {
  enum class Kind : uint8_t { none, arena, constant, model_input, model_output, texts };
  Kind kind = Kind::none;
  int32_t index = 0;              // of the model's input or output, or in Plan::texts
  size_t offset = 0;              // in the arena
  const void* pointer = nullptr;  // of a constant
};

struct Step {
  std::unique_ptr<const Executor> executor;
  std::vector<Slot> inputs, outputs;
  size_t scratch_offset = 0, slots_offset = 0;     // in the arena
  size_t slot_stride = 0;                          // RunArgs::slots
  std::vector<std::vector<FirstConstants>> ahead;  // RunArgs::ahead
  // What profiles and errors say.
  std::string name, type, kernel, layouts;
  std::vector<std::string> origin_names;
  bool is_reference = false;  // slow
  std::string where;          // Node::describe()
  size_t bytes = 0;           // read and written, constants not counted
  std::string details;        // why it exists, of steps that only move bytes; why it is slow
};

/// A layer of the final graph, Parameters and Results included, constants and copies of constants not.
struct PlannedNode {
  std::string name, type;
  std::vector<std::string> origin_names;
  /// By input: which node of Plan::nodes feeds it and which of its outputs; inputs that are constants are left out.
  std::vector<std::pair<int32_t, int32_t>> inputs;
  std::vector<TensorDesc> outputs;
  int32_t step = -1;  // in Plan::steps; -1: it is no work, but a view or a part of something
  int32_t end = -1;   // of Parameters and Results: which input or output of the plan
};

/// Memory that slots point to, and how much of it.
struct KeptConstant {
  std::shared_ptr<const void> owner;
  size_t bytes = 0;
};

struct PlanSource;

struct Plan {
  std::vector<Step> steps;
  std::vector<TensorDesc> inputs, outputs;  // by model input and output; plain
  size_t arena_bytes = 0;                   // activations and scratch
  /// Elements of each tensor of texts that is no model input or output: objects that cannot share the arena.
  std::vector<int64_t> texts;
  std::vector<KeptConstant> constants;       // one entry per owner
  size_t constant_bytes = 0;                 // that steps read
  size_t packed_bytes = 0;                   // of weights, for this plan alone; not of one that was loaded
  std::vector<PlannedNode> nodes;            // in order of execution; for people
  std::string graph_text;                    // the final graph with layouts; filled when asked for
  std::vector<ir::NodeId> only_packed;       // Const nodes of the graph that nobody reads once they are packed
  std::shared_ptr<const PlanSource> source;  // what it was built from; null: not kept
};

}  // namespace terroir::cpu
