#pragma once
// What: packed weights of one compiled model, made once and shared by all its plans, streams and requests.
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ir/base/aligned_buffer.hpp"
#include "ir/graph/graph.hpp"

namespace terroir::cpu {

using PackedWeights = std::shared_ptr<const AlignedBuffer>;

class WeightsCache {
 public:
  /// The packing `key` of `constant`; made by `pack` (which fills `bytes` bytes) when nobody holds it. The key says
  /// everything that the packed bytes depend on besides the constant. Threads: any; packing is serialised.
  PackedWeights get(const ir::Constant& constant, const std::string& key, size_t bytes,
                    const std::function<void(void*)>& pack) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[{constant.view.data, key}];
    // The address alone may have been used before by a constant that is gone.
    if (const auto owner = entry.owner.lock(); owner && owner == constant.owner)
      if (PackedWeights known = entry.packed.lock()) return known;
    auto buffer = std::make_shared<AlignedBuffer>(bytes);
    pack(buffer->data());
    entry = {constant.owner, buffer};
    return buffer;
  }

 private:
  struct Entry {
    std::weak_ptr<const void> owner;
    std::weak_ptr<const AlignedBuffer> packed;
  };
  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, Entry> entries_;
};

}  // namespace terroir::cpu
