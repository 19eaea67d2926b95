#include "terroir/partial_shape.hpp"

#include <algorithm>
#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir {

PartialShape::PartialShape(const std::vector<Dimension::value_type>& dims) : dims_(dims.begin(), dims.end()) {}

PartialShape::PartialShape(const Shape& shape) {
  dims_.reserve(shape.size());
  for (const size_t extent : shape) {
    if (extent > static_cast<size_t>(INT64_MAX)) {
      throw_error(ErrorCode::invalid_argument, "the extent ", extent, " of a shape is too large");
    }
    dims_.emplace_back(static_cast<int64_t>(extent));
  }
}

PartialShape::PartialShape(const std::string& text) {
  const auto items = detail::split_list(text);
  if (!items) throw_error(ErrorCode::parse_error, "not a shape: '", text, "', expected a list such as [?,3,1..10]");
  if (items->size() == 1 && items->front() == "...") {
    rank_is_static_ = false;
    return;
  }
  for (const std::string_view item : *items) {
    with_context([&] { return concat("not a shape: '", text, "'"); }, [&] { dims_.emplace_back(std::string(item)); });
  }
}

PartialShape PartialShape::dynamic(const Rank& rank) {
  PartialShape shape;
  if (rank.is_static()) {
    // Ranks may come from the values of a file.
    constexpr int64_t kMostAxes = 1024;
    if (rank.get_length() > kMostAxes)
      throw_error(ErrorCode::invalid_argument, "a tensor of ", rank, " axes: there may be ", kMostAxes, " at most");
    shape.dims_.resize(static_cast<size_t>(rank.get_length()));
  } else if (rank == Rank::dynamic()) {
    shape.rank_is_static_ = false;
  } else {
    throw_error(ErrorCode::invalid_argument, "a rank is known or unknown, not bounded: ", rank);
  }
  return shape;
}

bool PartialShape::is_static() const {
  return rank_is_static_ && std::all_of(dims_.begin(), dims_.end(), [](const Dimension& d) { return d.is_static(); });
}

size_t PartialShape::size() const {
  if (!rank_is_static_) throw_error(ErrorCode::invalid_argument, "the shape [...] has no known rank");
  return dims_.size();
}

size_t PartialShape::index(std::ptrdiff_t i) const {
  const auto rank = static_cast<std::ptrdiff_t>(size());
  if (i < -rank || i >= rank) {
    throw_error(ErrorCode::invalid_argument, "axis ", i, " is out of range for the shape ", *this, " of rank ", rank);
  }
  return static_cast<size_t>(i < 0 ? i + rank : i);
}

void PartialShape::push_back(const Dimension& dim) {
  rank_is_static_ = true;
  dims_.push_back(dim);
}

PartialShape::iterator PartialShape::insert(iterator position, const Dimension& dim) {
  rank_is_static_ = true;
  return dims_.insert(position, dim);
}

void PartialShape::resize(size_t rank) {
  rank_is_static_ = true;
  dims_.resize(rank);
}

Shape PartialShape::to_shape() const {
  if (is_dynamic()) {
    throw_error(ErrorCode::invalid_argument, "the shape ", *this, " is dynamic, it has no single shape");
  }
  return get_min_shape();
}

Shape PartialShape::get_max_shape() const {
  Shape shape;
  for (const Dimension& d : dims_) shape.push_back(static_cast<size_t>(d.get_interval().get_max_val()));
  return shape;
}

Shape PartialShape::get_min_shape() const {
  Shape shape;
  for (const Dimension& d : dims_) shape.push_back(static_cast<size_t>(d.get_min_length()));
  return shape;
}

std::string PartialShape::to_string() const { return rank_is_static_ ? concat(dims_) : "[...]"; }

bool PartialShape::operator==(const PartialShape& other) const {
  return rank_is_static_ == other.rank_is_static_ && dims_ == other.dims_;
}

bool PartialShape::same_scheme(const PartialShape& other) const {
  return rank_is_static_ == other.rank_is_static_ &&
         std::equal(dims_.begin(), dims_.end(), other.dims_.begin(), other.dims_.end(),
                    [](const Dimension& a, const Dimension& b) { return a.same_scheme(b); });
}

bool PartialShape::compatible(const PartialShape& other) const {
  if (!rank_is_static_ || !other.rank_is_static_) return true;
  return std::equal(dims_.begin(), dims_.end(), other.dims_.begin(), other.dims_.end(),
                    [](const Dimension& a, const Dimension& b) { return a.compatible(b); });
}

bool PartialShape::relaxes(const PartialShape& other) const {
  if (!rank_is_static_) return true;
  return other.rank_is_static_ && std::equal(dims_.begin(), dims_.end(), other.dims_.begin(), other.dims_.end(),
                                             [](const Dimension& a, const Dimension& b) { return a.relaxes(b); });
}

bool PartialShape::merge_rank(const Rank& rank) {
  if (rank.is_dynamic()) return true;
  if (rank_is_static_) return static_cast<int64_t>(dims_.size()) == rank.get_length();
  *this = dynamic(rank);
  return true;
}

bool PartialShape::merge_into(PartialShape& dst, const PartialShape& src) {
  if (!src.rank_is_static_) return true;
  if (!dst.rank_is_static_) return dst = PartialShape(src), true;
  if (dst.dims_.size() != src.dims_.size()) return false;
  std::vector<Dimension> merged(dst.dims_.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    if (!Dimension::merge(merged[i], dst.dims_[i], src.dims_[i])) return false;
  }
  dst.dims_ = std::move(merged);
  return true;
}

bool PartialShape::broadcast_merge_into(PartialShape& dst, const PartialShape& src, const op::AutoBroadcastSpec& spec) {
  if (spec.m_type == op::AutoBroadcastType::NONE) return merge_into(dst, src);
  if (!dst.rank_is_static_ || !src.rank_is_static_) {
    // Under PDPD the result has the first operand's rank, and the second never stretches it.
    if (spec.m_type != op::AutoBroadcastType::PDPD) dst = dynamic();
    return true;
  }
  const size_t dst_rank = dst.dims_.size();
  const size_t src_rank = src.dims_.size();
  if (spec.m_type == op::AutoBroadcastType::NUMPY) {
    std::vector<Dimension> merged(std::max(dst_rank, src_rank));
    const Dimension one(1);
    for (size_t i = 0; i < merged.size(); ++i) {
      const size_t from_end = merged.size() - i;
      const Dimension& a = from_end <= dst_rank ? dst.dims_[dst_rank - from_end] : one;
      const Dimension& b = from_end <= src_rank ? src.dims_[src_rank - from_end] : one;
      if (!Dimension::broadcast_merge(merged[i], a, b)) return false;
    }
    dst.dims_ = std::move(merged);
    return true;
  }
  const int64_t axis =
      spec.m_axis == -1 ? static_cast<int64_t>(dst_rank) - static_cast<int64_t>(src_rank) : spec.m_axis;
  if (axis < 0 || axis > static_cast<int64_t>(dst_rank)) return false;
  size_t kept = src_rank;  // trailing ones of the second operand do not count
  while (kept > 0 && src.dims_[kept - 1] == Dimension(1)) --kept;
  if (static_cast<size_t>(axis) + kept > dst_rank) return false;
  std::vector<Dimension> merged = dst.dims_;
  for (size_t i = 0; i < kept; ++i) {
    Dimension& d = merged[static_cast<size_t>(axis) + i];
    const Dimension& s = src.dims_[i];
    if (s == Dimension(1)) continue;
    if (s.is_static() ? !Dimension::merge(d, d, s) : !(s.compatible(d) || s.compatible(1))) return false;
  }
  dst.dims_ = std::move(merged);
  return true;
}

PartialShape operator+(const PartialShape& a, const PartialShape& b) {
  if (a.rank().is_dynamic() || b.rank().is_dynamic()) return PartialShape::dynamic();
  if (a.size() != b.size())
    throw_error(ErrorCode::invalid_argument, "no sum of shapes of different ranks: ", a, " and ", b);
  PartialShape sum;
  for (size_t i = 0; i < a.size(); ++i) sum.push_back(*(a.begin() + i) + *(b.begin() + i));
  return sum;
}

std::ostream& operator<<(std::ostream& out, const PartialShape& shape) { return out << shape.to_string(); }

}  // namespace terroir
