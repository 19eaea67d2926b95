// What: sums and means of rows of an f32 table.
// Formula: dst[k] = sum over i of weights[i] * table[rows[i]][k], i ascending; mean: divided by the number of rows.
// Shapes: table [any][length]; rows and weights: the entries of one bag. Columns [begin, end) are read and written.
// Cost: memory bound; rows some entries ahead are fetched early, as they lie anywhere.
// Threads: bags and columns are independent; every element is one chain over ascending entries, however cut.
// Edge cases: no entries give 0. Rows are not checked.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct BagArgs {
  const float* table = nullptr;
  int64_t length = 0;
  const void* rows = nullptr;  // i64, or i32
  bool rows_are_i64 = true;
  int64_t entries = 0;
  int64_t known = 0;  // rows from the first of this bag on, those of the next bags too: what may be fetched early
  const float* weights = nullptr;  // or null: 1
  bool mean = false;
  float* dst = nullptr;  // column 0
};

struct EmbeddingKernels {
  void (*bag)(const BagArgs& args, int64_t begin, int64_t end);
};

const EmbeddingKernels& embedding_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
