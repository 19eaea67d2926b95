#include "runtime/plugin/piece_hashes.hpp"

#include <algorithm>

#include "ir/base/mapped_file.hpp"

namespace terroir::plugin {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
/// Of small pieces one task takes some, so that tasks cost more than their calls.
constexpr size_t kLeastTask = size_t{1} << 18;

struct Chunk {
  const char* data;
  size_t bytes;
};

}  // namespace

std::vector<Hash128> hash_pieces(std::span<const Piece> pieces, const parallel::Arena& arena, ReadAgain again) {
  std::vector<Chunk> chunks;
  std::vector<size_t> first_chunk, tasks;
  size_t in_task = kLeastTask;
  for (const Piece& piece : pieces) {
    first_chunk.push_back(chunks.size());
    size_t at = 0;
    do {
      const size_t bytes = std::min(kChunk, piece.bytes - at);
      if (in_task >= kLeastTask) {
        tasks.push_back(chunks.size());
        in_task = 0;
      }
      in_task += bytes;
      chunks.push_back({static_cast<const char*>(piece.data) + at, bytes});
      at += bytes;
    } while (at < piece.bytes);
  }
  first_chunk.push_back(chunks.size());
  tasks.push_back(chunks.size());
  std::vector<Hash128> of_chunks(chunks.size());
  arena.parallel_for(static_cast<int64_t>(tasks.size()) - 1, [&](int64_t i) {
    const auto task = static_cast<size_t>(i);
    for (size_t c = tasks[task]; c < tasks[task + 1]; ++c) {
      of_chunks[c] = hash128(chunks[c].data, chunks[c].bytes);
      if (again == ReadAgain::no) MappedFile::evict(chunks[c].data, chunks[c].bytes);
    }
  });
  std::vector<Hash128> hashes;
  for (size_t p = 0; p < pieces.size(); ++p) {
    const size_t first = first_chunk[p], count = first_chunk[p + 1] - first;
    hashes.push_back(count == 1 ? of_chunks[first] : hash128(&of_chunks[first], count * sizeof(Hash128), count));
  }
  return hashes;
}

}  // namespace terroir::plugin
