// Memory that goes back to the system as soon as it is let go.
//
// Why: allocators keep what is freed for the next request, and grow more willing to with every large block. Constants
//      that compilation makes and consumes (weights widened, scaled, decompressed) would stay in the process that way.
#pragma once

#include <cstddef>
#include <memory>

namespace terroir {

/// Uninitialised bytes, 64-byte aligned; null for 0. Small ones come from the allocator after all.
/// Throws Exception (out_of_memory).
std::shared_ptr<void> allocate_returned(size_t bytes);

}  // namespace terroir
