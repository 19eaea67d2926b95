// Which axis of one layout is which axis of another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "terroir/layout.hpp"
#include "terroir/partial_shape.hpp"

namespace terroir::detail {

/// Whether a tensor of this rank may have the layout; of an unknown rank any.
bool fits_rank(const Layout& layout, const Rank& rank);

/// Throws Exception (invalid_argument) if runtime information tells a layout that the shape cannot have.
void require_layout_fits(const ir::RtInfo& info, const PartialShape& shape);

/// The names of the axes of a tensor of this rank, "" for those without. Throws Exception (invalid_argument) if the
/// layout does not fit the rank, or has "..." and the rank is unknown.
std::vector<std::string> axis_names(const Layout& layout, const Rank& rank);

/// Position of axis 'C', 'H' ... in a tensor of this shape. Throws Exception (invalid_argument) if the layout has no
/// such axis, does not fit the shape, or the rank is unknown.
int64_t axis_of(const Layout& layout, const char* name, const PartialShape& shape);

/// The order that takes a tensor of this rank from one layout to another: axis i of the result is axis order[i]. Axes
/// without a name take the places that are left, in their order. Empty: nothing moves, also if one layout is empty.
/// Throws Exception (invalid_argument) for different numbers of axes and for names that only one layout has, though the
/// other has more of them.
std::vector<uint64_t> order_between(const Layout& from, const Layout& to, const Rank& rank);

/// What a transposition makes of a layout and of a shape. Throws Exception (invalid_argument) unless `order` is a
/// permutation of the axes.
Layout transposed(const Layout& layout, const std::vector<uint64_t>& order);
PartialShape transposed(const PartialShape& shape, const std::vector<uint64_t>& order);

/// The order that undoes `order`. Throws Exception (invalid_argument) unless it is a permutation.
std::vector<uint64_t> inverse_order(const std::vector<uint64_t>& order);

/// A shape and what its axes mean.
struct LaidOutShape {
  PartialShape shape;
  Layout layout;
};

/// `whole` without the axes that `part` does not name, in the order of `whole`; `whole` itself unless both layouts have
/// a fixed number of axes and `part` fewer. Throws Exception (invalid_argument) if an axis of `part` is missing in
/// `whole`, or a layout has axes without a name.
LaidOutShape without_axes(const LaidOutShape& whole, const Layout& part);

/// `part` with the axes that only `whole` names, with extent 1, in front; `added` says how many. Refusals as above.
LaidOutShape with_axes(const LaidOutShape& part, const Layout& whole, size_t& added);

}  // namespace terroir::detail
