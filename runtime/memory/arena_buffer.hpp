// The buffer that a memory plan's offsets point into.
//
// What: 64-byte aligned; from 4 MiB on aligned to 2 MiB and advised to use huge pages, because walking a large buffer
//       through 4 KiB pages costs address-translation misses in every layer. The advice may be ignored by the system.
#pragma once

#include <cstddef>

#include "ir/base/aligned_buffer.hpp"

namespace terroir::memory {

/// Uninitialised. Throws Exception (out_of_memory).
AlignedBuffer allocate_arena(size_t bytes);

}  // namespace terroir::memory
