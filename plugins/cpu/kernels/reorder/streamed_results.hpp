// What: which results of transposes are written past the caches.
#pragma once

#include <algorithm>

#include "plugins/cpu/isa.hpp"

namespace terroir::cpu {

/// The caches would be full of them: their lines, far apart, would each be read first and pushed out one by one. Three
/// times as fast for 60 MB; of smaller ones, whoever reads them finds some in a cache. A third cache may be shared with
/// more than is known: no more than 8 MB of it are counted on.
inline bool is_streamed(int64_t bytes) {
  constexpr int64_t kMostOfL3 = int64_t{8} << 20;
  const CacheSizes& caches = cache_sizes();
  return bytes >= std::max(4 * caches.l2, std::min(caches.l3, kMostOfL3));
}

}  // namespace terroir::cpu
