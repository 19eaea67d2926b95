#pragma once
// What: memory of one request for results whose sizes only the run knows, used again by its next inferences: large
// blocks that an allocator gives back to the system come anew page by page, which takes longer than filling them.
// Threads: one at a time.
#include <cstdint>
#include <memory>
#include <vector>

#include "terroir/element_type.hpp"

namespace terroir::cpu {

class SpareBuffers {
 public:
  /// As allocate_elements(); what all others have let go of since may be given again, with what is in it.
  std::shared_ptr<void> get(element::Type type, int64_t count);
  void clear() { kept_.clear(); }

 private:
  struct Kept {
    std::shared_ptr<void> memory;
    size_t bytes;
  };
  std::vector<Kept> kept_;
};

}  // namespace terroir::cpu
