// What: the cache blocking of the matrix product, from the cache sizes of this machine. Defined in baseline code.
#pragma once

#include <cstdint>

namespace terroir::cpu {

struct GemmBlocking {
  int64_t rows;         // of A per block
  int64_t k;            // length of a slice of k; at least 1
  int64_t most_rows;    // no block has more, of m rows or fewer
  int64_t most_floats;  // of a copy of A that is to stay in L2
  int64_t near_floats;  // of B, that are to stay in L1
};

// For a product over m rows and depth k with panels of `panel` columns and tiles of at most `tile_rows` rows.
GemmBlocking gemm_blocking(int64_t m, int64_t k, int64_t panel, int64_t tile_rows);

}  // namespace terroir::cpu
