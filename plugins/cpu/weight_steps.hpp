#pragma once
// What: WeightSteps, the steps of quantised weights that are stored as floats: of each row the number of which all its
// elements are whole multiples. Found once for a model, however often its extents change.
// Threads: any.
#include <list>
#include <mutex>

#include "ir/graph/graph.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

class WeightSteps {
 public:
  /// Steps of the rows of f32 `weights`, as a constant [rows]: each multiple lies within [-128, 127] and is met to
  /// 1/1024 of a step; 1 for a row of zeros. Null where a row has none. The same constant each time, while the weights
  /// are there. `together`: so many values of a row follow each other, and as many of each other row come between; of
  /// the columns of a matrix 1. 0: all of them do.
  const ir::Constant* get(const ir::Constant& weights, int64_t rows, int64_t together = 0,
                          const parallel::Arena* arena = nullptr);

 private:
  struct Entry {
    const void* data;
    std::weak_ptr<const void> owner;  // the address alone may be that of another constant by now
    int64_t rows, together;
    ir::Constant steps;  // without data: there are none
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace terroir::cpu
