#pragma once
// What: what the nodes share that move elements by a CopyPlan: the executor, and copies that are described logical axis
// by logical axis (slices, pads, tiles, reversals), in any layout that leaves the described axes whole.
// Layouts: plain; of f32 also channels last; channel blocks, of types that lie in them, where of axis 1 whole blocks
// are taken, or all, perhaps with zeros at its end. No step at all where the result is one run of the input's bytes.
// Threads: tasks of the plans.
#include <optional>
#include <string>
#include <vector>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/copy/copy_plan.hpp"

namespace terroir::cpu {

/// Index j * count + i of a destination axis, j < repeats, comes from first + i * step, or from where runs say.
struct AxisMap {
  int64_t count = 1;
  int64_t first = 0, step = 1;
  int64_t repeats = 1;
  CopyRuns runs = {};  // in positions of the source axis; empty: first + i * step

  bool is_identity(int64_t extent) const {
    return count == extent && first == 0 && (step == 1 || extent == 1) && repeats == 1 && runs.empty();
  }
};

/// The element that fills, where one is needed.
struct Fill {
  int input = -1;                     // read at run time
  std::vector<uint8_t> element = {};  // known when compiling; empty and no input: zero
  bool is_zero() const;
};

/// A copy of input 0 to output 0 of a node.
struct AxisCopy {
  /// The extents under which source and destination have one axis each per map; those of the tensors, perhaps with
  /// axes of extent 1 more or less, which then are plain.
  ir::Dims src_dims;
  std::vector<AxisMap> maps;
  Fill fill = {};
};

/// Whole bytes, of a size that is moved.
bool is_bytewise(const TensorDesc& desc);
Reject not_bytewise();

/// Whether kernels of this instruction set have such tensors in channel blocks: f32, and u8 and bf16 where blocks are
/// those of byte kernels.
bool lies_in_blocks(const TensorDesc& desc, Isa isa);
/// Channels of a block of tensors of such a type.
int64_t channels_of_block(element::Type type, Isa isa);

/// Values of input `i`, when they are known at compile time; nothing for an input that is not there.
std::optional<std::vector<int64_t>> known_integers(const NodeContext& context, size_t i);

Proposal propose_axis_copy(const NodeContext& context, const AxisCopy& copy);
std::unique_ptr<const Executor> create_axis_copy(const NodeContext& context, const AxisCopy& copy, const char* name);

/// CopyPlan's tiles of this instruction set.
TileKernels tile_kernels(Isa isa);

/// A copy whose axes are described in bytes, plain to plain.
Proposal propose_plain_copy(const NodeContext& context, const std::vector<CopyPlan>& plans);
std::unique_ptr<const Executor> create_plain_copy(const NodeContext& context, std::vector<CopyPlan> plans,
                                                  const char* name);

/// Input 0 seen with the extents `split`, its axes in another order, is output 0 of `element_bytes` each.
CopyPlan permutation_plan(const ir::Dims& split, const std::vector<int64_t>& order, int64_t element_bytes, Isa isa);

}  // namespace terroir::cpu
