#include "ops/reference/normalization/axis_groups.hpp"

namespace terroir::ops::reference {

AxisGroups::AxisGroups(const ir::Dims& dims, const std::vector<int64_t>& axes) : dims_(dims), steps_(dims.size(), 0) {
  if (ir::element_count(dims) == 0) {  // extents beside an empty one may be too large to multiply
    groups_ = 0;
    size_ = 0;
    return;
  }
  std::vector<bool> inside(dims.size(), false);
  for (const int64_t axis : axes) inside.at(static_cast<size_t>(axis)) = true;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (inside[axis]) {
      size_ *= dims[axis];
    } else {
      steps_[axis] = groups_;
      groups_ *= dims[axis];
    }
  }
}

}  // namespace terroir::ops::reference
