// Where the activations of a plan lie in one buffer.
//
// What: blocks that are in use over an interval of steps get offsets, such that bytes in use at the same step do not
//       overlap. Steps are inclusive on both sides. The parts of a block may be in use at different times: what is not
//       in use yet, or any more, is others' until then.
// How: greedy best fit. Blocks are placed one after the other; each goes into the tightest gap that the placed parts
//      whose interval meets its own leave. Two orders are tried: from the largest to the smallest, and from the one
//      longest in use to the one shortest (ties: size, earlier first use, lower index). Who asks for more gets
//      thousands of tries: as long as a plan is larger than what the busiest step has in use, a block, often the one
//      that ends highest, is moved to another place in the order, and all are placed again. The smallest plan is taken.
// Cost: O(n^2) for n blocks, O(n^2 log n) for n parts of one; the tries take milliseconds. Of more than ten thousand
//       parts each block is taken as a whole. Deterministic: the same blocks give the same plan.
// Alignment: every offset is a multiple of the block's alignment, at least 64; so is the total.
// Edge cases: a block of no bytes gets offset 0. Throws Exception: invalid_argument for an interval that ends before it
//             begins, a part that leaves its block or an alignment that is no power of two; out_of_memory if the total
//             does not fit.
// Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, section 5.2
//         (greedy by size for offset calculation).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace terroir::memory {

struct Part {
  size_t offset = 0;  ///< in the block
  size_t size = 0;
  int64_t first_use = 0;
  int64_t last_use = 0;
};

struct Block {
  size_t size = 0;
  int64_t first_use = 0;
  int64_t last_use = 0;
  size_t alignment = 64;
  std::vector<Part> parts = {};  ///< all bytes that are ever in use; none: the whole block, from first to last use
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< one per block, in the order given
  size_t total = 0;             ///< bytes of the buffer
};

/// `thorough`: moves blocks about.
MemoryPlan plan_memory(const std::vector<Block>& blocks, bool thorough = false);

/// Bytes in use at the busiest step: no plan can be smaller.
size_t peak_bytes(const std::vector<Block>& blocks);
/// That step; of several, the first. Without blocks 0.
int64_t busiest_step(const std::vector<Block>& blocks);

}  // namespace terroir::memory
