#pragma once
// What: which first layers can have the maximum pooling behind them in one step.
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// A convolution of few plain channels whose result is large beside a core's caches.
bool can_make_pooled_rows(const NodeContext& convolution);
/// Maximum pooling of an image, without the places of the maxima, with rows enough to share, and windows so low that
/// little is made twice. No matter how many threads: layouts depend on it.
bool can_pool_rows(const NodeContext& pool);

}  // namespace terroir::cpu
