#include <algorithm>

#include "plugins/cpu/kernels/dispatch_table.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/kernels/matmul/matmul_blocking.hpp"

namespace terroir::cpu {

GemmBlocking gemm_blocking(int64_t m, int64_t k, int64_t panel, int64_t tile_rows) {
  constexpr int64_t kFloat = sizeof(float);
  const CacheSizes& caches = cache_sizes();
  // The slice of a panel of B takes most of L1. One tile of rows meets every value of B once, so there is nothing to
  // keep: its slices are as long as A, and a panel that has to be copied, allow in L2.
  const int64_t panel_cache = m <= tile_rows ? caches.l2 : caches.l1d * 2 / 3;
  // The packed block of A takes an eighth of L2, so that up to some width the rows of C that wait between slices stay
  // there too: reading B again for every block costs less than moving C.
  const int64_t most_k = std::max<int64_t>(64, panel_cache / (panel * kFloat));
  const int64_t slices = std::max<int64_t>(1, (k + most_k - 1) / most_k);
  const int64_t depth = std::max<int64_t>(1, (k + slices - 1) / slices);
  const int64_t most_rows = std::max<int64_t>({64, tile_rows, caches.l2 / 8 / (depth * kFloat)});
  const int64_t blocks = std::max<int64_t>(1, (m + most_rows - 1) / most_rows);
  return {std::max<int64_t>(1, (m + blocks - 1) / blocks), depth, std::min(m, most_rows), caches.l2 / kFloat,
          caches.l1d / 2 / kFloat};
}

#define TERROIR_DECLARE(isa)           \
  namespace isa {                      \
  const MatmulKernels& matmul_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const MatmulKernels& matmul_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::matmul_table,
  static constexpr const MatmulKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
