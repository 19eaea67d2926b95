#pragma once
// What: Program, everything that a compiled model needs to run for any input extents. For each set of extents it has a
// Stage: one plan, where every size follows from the extents; else a plan for the part before the ops whose output size
// depends on data, those ops themselves, and a Program for the rest:
//   x -> conv -> NonZero -> Gather -> y      =>      plan {conv}, NonZero by its reference, Program {Gather}
// A frontier op on large tensors whose sizes follow from small ones (the target of a Reshape, the bounds of a Slice,
// the k of a TopK) gets a plan of its own once these are known. If, Loop and TensorIterator end a plan likewise; each
// of their bodies is a Program. Threads: any.
#include <memory>
#include <unordered_set>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/function_ref.hpp"
#include "ir/graph/graph.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/spare_buffers.hpp"
#include "plugins/cpu/stage_cache.hpp"

namespace terroir::cpu {

class Program;

/// Where an input of the rest comes from: a boundary value, or an output of a frontier op.
struct RestInput {
  bool from_frontier = false;
  size_t index = 0;   // of the boundary value, or of the frontier op
  size_t output = 0;  // of the frontier op
};

/// A model result that is an output of a frontier op.
struct FrontierResult {
  size_t result = 0;  // of the model
  size_t index = 0;   // of the frontier op
  size_t output = 0;
};

/// What has to happen after a plan whose graph goes on with sizes unknown until then.
struct Continuation {
  std::unique_ptr<const ir::Graph> graph;  // owner of the frontier ops
  std::vector<ir::NodeId> frontier;
  /// By frontier op: the programs of its bodies, if it is If, Loop or TensorIterator.
  std::vector<std::vector<std::shared_ptr<Program>>> bodies;
  /// Values that are read behind the plan, by which input of the stage they are; kComputed: the plan computes them.
  static constexpr int kComputed = -1;
  std::vector<int> boundary;
  /// By frontier op and input: which boundary value it is; -1: a constant of `graph`.
  std::vector<std::vector<int>> frontier_inputs;
  /// Model results that the plan's first results are, in order; then come the boundary values that it computes.
  std::vector<size_t> results_before;
  /// Results that frontier ops without bodies give; they are nothing of the rest's.
  std::vector<FrontierResult> results_of_frontier;
  std::vector<RestInput> rest_inputs;
  std::vector<size_t> results_after;  // model results that the rest's results are, in order
  std::shared_ptr<Program> rest;
};

struct Stage {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const Continuation> then;  // null: the plan computes all results
};

/// What all programs of a compiled model share; outlives them.
struct Common {
  CompileOptions options;
  WeightsCache weights;
  StageCache stages;
  ops::CroppedKernels kernels{};
};

class Program {
 public:
  /// `rewritten`: see rewrite_portable().
  Program(std::unique_ptr<ir::Graph> rewritten, Common& common);
  /// Of a model that has been compiled before.
  Program(std::shared_ptr<const Stage> only, Common& common) : common_(common), only_(std::move(only)) {}
  ~Program() { common_.stages.drop(*this); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The stage for inputs of these extents, compiled on first use with the help of the arena's threads.
  std::shared_ptr<const Stage> stage(const std::vector<ir::Dims>& inputs, const parallel::Arena& arena);

  /// The same for a model all of whose sizes are known: there is no other stage, and what one would need is freed.
  std::shared_ptr<const Stage> only_stage(const std::vector<ir::Dims>& inputs, const parallel::Arena& arena);

  /// The stage used last; null before the first.
  std::shared_ptr<const Stage> latest() const { return only_ ? only_ : common_.stages.latest(*this); }
  /// The plan that is all of the program, with what it was built from; null: stages are made of rewritten().
  const Plan* only_plan() const { return only_ && only_->plan->source ? only_->plan.get() : nullptr; }
  /// What stages are made of; null when only_plan() is all.
  const ir::Graph* rewritten() const { return rewritten_.get(); }

 private:
  /// `keep`: see compile_plan().
  StageCache::Made compile(std::unique_ptr<ir::Graph> rewritten, const std::vector<ir::Dims>& inputs,
                           const parallel::Arena& arena, bool keep = false) const;

  std::unique_ptr<ir::Graph> rewritten_;  // null when one plan is all
  Common& common_;
  std::unordered_set<const void*> shared_constants_;  // owners of the constants of rewritten_
  std::shared_ptr<const Stage> only_;                 // instead of those in the cache
};

/// Operands of a frontier op of up to so many bytes say what to do rather than what to do it with: a plan is for their
/// values.
inline constexpr size_t kKnownOperandBytes = 256;

/// Whether an operand is a constant where those of up to `most_known` bytes, and texts, are.
inline bool is_known(const ir::TensorView& operand, size_t most_known) {
  return operand.type == element::string || operand.bytes() <= most_known;
}

/// Whether compiling a frontier op for these inputs costs less than its reference. By types and extents alone, so that
/// results do not depend on what ran before.
bool is_worth_a_plan(const ir::Node& node, const std::vector<ir::Constant>& inputs);

/// A plan for one frontier op over values that are known now, of which the small ones are its constants. `given`: which
/// inputs of the op the plan's inputs are. Null where sizes still follow from large values.
std::shared_ptr<const Plan> plan_of_frontier_op(const ir::Node& node, const std::vector<ir::Constant>& inputs,
                                                Common& common, const parallel::Arena& arena,
                                                std::vector<size_t>& given);

/// Memory for an output of a frontier op that is a result of the model; null for others. Asked once for each.
using ResultMemory = FunctionRef<void*(size_t output, element::Type type, const ir::Dims& dims)>;

/// One frontier op over values that are known now: infers its sizes from them and runs its reference, on the arena's
/// threads where that shares out its work. Outputs for which `result` has memory are there when it returns.
/// Exception with the layer's name when the op refuses, or when even now its sizes have no bound.
std::vector<ir::Constant> run_frontier_op(const ir::Node& node, const std::vector<ir::Constant>& inputs, Isa isa,
                                          const parallel::Arena& arena, SpareBuffers& memory, ResultMemory result);

}  // namespace terroir::cpu
