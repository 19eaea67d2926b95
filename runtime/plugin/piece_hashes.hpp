#pragma once
// What: hashes of large pieces of memory on all threads.
// Formula: of a piece of at most a megabyte its hash; of a longer one the hash of the hashes of its megabytes.
// Edge cases: pages of files that will not be read again leave the process as they have been hashed.
// Threads: those of the arena share the megabytes of all pieces; the result does not depend on their number.
#include <span>
#include <vector>

#include "ir/base/hash128.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::plugin {

struct Piece {
  const void* data = nullptr;
  size_t bytes = 0;
};

enum class ReadAgain : bool { no, yes };

std::vector<Hash128> hash_pieces(std::span<const Piece> pieces, const parallel::Arena& arena,
                                 ReadAgain again = ReadAgain::yes);

}  // namespace terroir::plugin
