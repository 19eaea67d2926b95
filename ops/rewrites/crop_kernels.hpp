#pragma once
// What: the kernels that crop_kernels() has made of those of a model, for whoever binds its extents again and again.
// Threads: any.
#include <array>
#include <cstdint>
#include <list>
#include <mutex>

#include "ir/graph/graph.hpp"

namespace terroir::ops {

/// Of each spatial axis the taps [first, first + count).
struct KernelPart {
  std::array<int64_t, 3> first{}, count{};
  bool operator==(const KernelPart&) const = default;
};

class CroppedKernels {
 public:
  /// Those taps of `weights`, whose last `rank` axes are the kernel: the same copy each time, while these are there.
  ir::Constant get(const ir::Constant& weights, size_t rank, const KernelPart& part);

 private:
  struct Entry {
    ir::TensorView weights;
    std::weak_ptr<const void> owner;  // the address alone may be that of another constant by now
    KernelPart part;
    ir::Constant cropped;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace terroir::ops
