#pragma once
// What: constants for who looks at all their bytes once, piece by piece, on the threads of an arena.
// Why: see MappedFile::fetch(). What is read lands in memory that is used again for the next piece, so it also meets
//      its reader in the cache.
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "ir/base/aligned_buffer.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

class ConstantReader {
 public:
  /// Larger pieces are taken as they lie.
  static constexpr size_t kMostBytes = (size_t{1} << 20) - kCacheLine;  // two slots share a huge page

  /// `arena` outlives the reader.
  explicit ConstantReader(const parallel::Arena& arena) : arena_(arena) {}

  const parallel::Arena& arena() const noexcept { return arena_; }

  /// The bytes of a piece, at the same place in a cache line as in the constant, until the same slot reads the next.
  /// Slots as in Arena::parallel_for_slots().
  const void* read(const void* piece, size_t bytes, int64_t slot) noexcept;

 private:
  std::byte* part_of(int64_t slot) noexcept;

  const parallel::Arena& arena_;
  std::once_flag allocated_;
  AlignedBuffer parts_;  // by slot
};

}  // namespace terroir::cpu
