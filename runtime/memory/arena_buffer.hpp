// Large buffers: what a memory plan's offsets point into, packed weights.
//
// What: 64-byte aligned; from 2 MiB on aligned to 2 MiB and backed by huge pages, but for an end that fills none.
// Cost: in pages of 4 KiB, walking a large buffer means address-translation misses in every layer, and getting it takes
//       several times what clearing it does.
// How: the system is asked for huge pages, and they are got one by one to see what they cost. Where slow ones
//      (defragmentation; a virtual machine whose host has to find each of them first) have taken 10 ms together, the
//      rest of the buffer, and buffers of the next second, are left to ordinary pages, which come from memory that was
//      in use a moment ago. Slow is what takes over 0.5 ms, and longer than the ordinary pages in its place: some hosts
//      follow each of these.
#pragma once

#include <cstddef>

#include "ir/base/aligned_buffer.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::memory {

/// Uninitialised, its pages still to be got. Throws Exception (out_of_memory).
AlignedBuffer allocate_large(size_t bytes);

/// Gets the huge pages of such a buffer that begin in [begin, begin + bytes) of it, or, where these are slow, the
/// ordinary ones; what it holds stays: for who is about to write there. Threads: any, while others write anywhere in the buffer.
void get_pages(AlignedBuffer& buffer, size_t begin, size_t bytes) noexcept;

/// For who has written all of such a buffer: the system may make huge pages of ordinary ones, in its own time.
void let_pages_join(AlignedBuffer& buffer) noexcept;

/// allocate_large() and get_pages() for a buffer that will be used as a whole; the threads of `arena` get the pages.
AlignedBuffer allocate_arena(size_t bytes, const parallel::Arena& arena);

}  // namespace terroir::memory
