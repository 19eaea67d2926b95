#pragma once
// What: the .bin side of writing: constants one after the other, equal ones once.
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>

#include "ir/graph/graph.hpp"

namespace terroir::ir::xml {

class WeightsWriter {
 public:
  using Sink = std::function<void(const void* data, size_t size)>;
  struct Extent {
    uint64_t offset = 0, size = 0;
  };

  /// `high_nibble_first`: as in Weights::constant().
  WeightsWriter(Sink sink, bool high_nibble_first) : sink_(std::move(sink)), high_nibble_first_(high_nibble_first) {}

  Extent add(const Constant& constant);

 private:
  struct Stored {
    std::shared_ptr<const void> owner;
    const std::byte* data;
    Extent extent;
  };

  Sink sink_;
  bool high_nibble_first_;
  uint64_t size_ = 0;
  std::unordered_multimap<uint64_t, Stored> stored_;
};

}  // namespace terroir::ir::xml
