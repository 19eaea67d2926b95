// What: one box compared with many by vectors, for suppressions. Contract, formula, order of sums: box_blocks.hpp.
// Cost: a block is one pass of 16 lanes; divided only where a quotient counts. Threads: queries are independent.
#pragma once

#include "ops/reference/detection/box_blocks.hpp"

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

/// Null below AVX2: there the loops of the reference are vectors of the same width.
const ops::reference::BoxKernels* box_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
