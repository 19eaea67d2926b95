#pragma once
// What: splits the elements of a tensor into groups that differ only in their position along some axes: the groups that
// a normalisation takes its statistics from. Without axes every element is a group of its own.
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

class AxisGroups {
 public:
  /// `axes` are within [0, rank); repeated ones count once.
  AxisGroups(const ir::Dims& dims, const std::vector<int64_t>& axes);

  int64_t groups() const { return groups_; }
  /// Elements of each group.
  int64_t size() const { return size_; }
  /// fn(element, group) for all elements in row-major order.
  template <class Fn>
  void each(Fn&& fn) const {
    ir::Dims position(dims_.size(), 0);
    const int64_t count = ir::element_count(dims_);
    int64_t group = 0;
    for (int64_t i = 0; i < count; ++i) {
      fn(i, group);
      for (size_t axis = dims_.size(); axis-- > 0;) {
        group += steps_[axis];
        if (++position[axis] < dims_[axis]) break;
        group -= steps_[axis] * dims_[axis];
        position[axis] = 0;
      }
    }
  }

 private:
  ir::Dims dims_;
  ir::Dims steps_;  // what one step along an axis adds to the group; 0 for the axes of the group
  int64_t groups_ = 1;
  int64_t size_ = 1;
};

}  // namespace terroir::ops::reference
