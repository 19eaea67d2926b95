#pragma once
// What: the bytes behind Const layers: the mapped .bin or a caller's buffer, and the rules by which they become
// tensors. Aliasing: a constant points into the mapping and keeps it alive; only what cannot be used in place is copied
//           (an address its element type cannot have, strings, 4-bit values of old files).
#include <filesystem>
#include <memory>
#include <string>

#include "ir/graph/graph.hpp"

namespace terroir::ir::xml {

class Weights {
 public:
  /// A caller's bytes; `owner` is kept by every constant that points into them.
  Weights(std::shared_ptr<const void> owner, const std::byte* data, size_t size);
  /// Maps `path`, or reads it whole. If it cannot be opened, that is thrown now when `required`, else when the first
  /// constant needs it.
  static Weights open(const std::filesystem::path& path, bool required, bool mapped);

  /// A tensor of `type` and `dims` in bytes [offset, offset + size). `high_nibble_first`: 4-bit elements are stored as
  /// releases before 2024 did; in memory the even element is always in the low nibble.
  /// Throws Exception: parse_error if the bytes are not there or their number contradicts type and shape.
  Constant constant(element::Type type, const Dims& dims, uint64_t offset, uint64_t size, bool high_nibble_first) const;

 private:
  Weights() = default;
  const std::byte* bytes(uint64_t offset, uint64_t size) const;

  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string name_ = "the weights buffer";
  std::string unavailable_;  // why there are no bytes at all
};

/// Whether 4-bit constants of a model with this runtime information are stored the old way: it was written by a release
/// before 2024.
bool stores_high_nibble_first(const RtTree& rt_info);

/// The nibbles of every byte exchanged.
void swap_nibbles(const void* from, void* to, size_t size);

}  // namespace terroir::ir::xml
