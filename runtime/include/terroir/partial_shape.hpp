// A shape whose rank or extents may be unknown or bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "terroir/dimension.hpp"
#include "terroir/export.hpp"
#include "terroir/shape.hpp"

namespace terroir {

namespace op {

/// How the operands of an elementwise operation are brought to one shape.
enum class AutoBroadcastType {
  NONE,             ///< shapes must be equal
  EXPLICIT = NONE,  ///< former name of NONE
  NUMPY,            ///< align at the last axis; extents are equal or one of them is 1
  PDPD              ///< the second operand is placed at `axis` of the first and only it is broadcast
};

struct AutoBroadcastSpec {
  AutoBroadcastSpec() = default;
  AutoBroadcastSpec(AutoBroadcastType type)  // NOLINT: implicit, as in OpenVINO
      : AutoBroadcastSpec(type, type == AutoBroadcastType::PDPD ? -1 : 0) {}
  AutoBroadcastSpec(AutoBroadcastType type, int64_t axis) : m_type(type), m_axis(axis) {}
  /// "none" or "explicit", "numpy", "pdpd", in any case. Throws Exception (invalid_argument) for another text.
  TERROIR_API AutoBroadcastSpec(const char* type);  // NOLINT: implicit, as in OpenVINO
  bool operator==(const AutoBroadcastSpec& other) const { return m_type == other.m_type && m_axis == other.m_axis; }
  bool operator!=(const AutoBroadcastSpec& other) const { return !(*this == other); }
  AutoBroadcastType m_type = AutoBroadcastType::NONE;
  int64_t m_axis = 0;  ///< for PDPD; -1: the operand is aligned at the last axis
};

}  // namespace op

class TERROIR_API PartialShape {
 public:
  using value_type = Dimension;
  using iterator = std::vector<Dimension>::iterator;
  using const_iterator = std::vector<Dimension>::const_iterator;
  using reverse_iterator = std::vector<Dimension>::reverse_iterator;
  using const_reverse_iterator = std::vector<Dimension>::const_reverse_iterator;

  /// A scalar (rank 0, static).
  PartialShape() = default;
  PartialShape(std::initializer_list<Dimension> dims) : dims_(dims) {}
  PartialShape(std::vector<Dimension> dims) : dims_(std::move(dims)) {}  // NOLINT: implicit, as in OpenVINO
  /// -1 stands for an unknown extent.
  PartialShape(const std::vector<Dimension::value_type>& dims);  // NOLINT: implicit, as in OpenVINO
  PartialShape(const Shape& shape);                              // NOLINT: implicit, as in OpenVINO
  /// From text: "[?,3,1..10]", "{1,3}" or "1,3"; "[]" is a scalar; "..." or "[...]" is an unknown rank.
  /// Throws Exception (parse_error) for another text.
  PartialShape(const std::string& text);                               // NOLINT: implicit, as in OpenVINO
  PartialShape(const char* text) : PartialShape(std::string(text)) {}  // NOLINT: implicit, as in OpenVINO

  /// A shape of the given rank with all extents unknown; an unknown rank by default.
  /// Throws Exception (invalid_argument) for a rank that is bounded, not known.
  static PartialShape dynamic(const Rank& rank = Rank::dynamic());

  bool is_static() const;
  bool is_dynamic() const { return !is_static(); }
  /// The number of axes, or Dimension::dynamic().
  Rank rank() const { return rank_is_static_ ? Rank(static_cast<int64_t>(dims_.size())) : Rank::dynamic(); }
  /// Rank of a shape whose rank is known. Throws Exception (invalid_argument) if it is not.
  size_t size() const;

  /// Axis `i`, counted from the end if negative. Throws Exception (invalid_argument) out of range or if the rank is
  /// unknown.
  const Dimension& operator[](std::ptrdiff_t i) const { return dims_[index(i)]; }
  Dimension& operator[](std::ptrdiff_t i) { return dims_[index(i)]; }
  const Dimension& at(std::ptrdiff_t i) const { return dims_[index(i)]; }
  Dimension& at(std::ptrdiff_t i) { return dims_[index(i)]; }

  iterator begin() { return dims_.begin(); }
  iterator end() { return dims_.end(); }
  const_iterator begin() const { return dims_.begin(); }
  const_iterator end() const { return dims_.end(); }
  const_iterator cbegin() const { return dims_.cbegin(); }
  const_iterator cend() const { return dims_.cend(); }
  reverse_iterator rbegin() { return dims_.rbegin(); }
  reverse_iterator rend() { return dims_.rend(); }
  const_reverse_iterator rbegin() const { return dims_.rbegin(); }
  const_reverse_iterator rend() const { return dims_.rend(); }
  const_reverse_iterator crbegin() const { return dims_.crbegin(); }
  const_reverse_iterator crend() const { return dims_.crend(); }
  /// These make the rank known.
  void push_back(const Dimension& dim);
  template <typename... Args>
  void emplace_back(Args&&... args) {
    push_back(Dimension(std::forward<Args>(args)...));
  }
  iterator insert(iterator position, const Dimension& dim);
  void insert(iterator position, size_t count, const Dimension& dim) {
    rank_is_static_ = true;
    dims_.insert(position, count, dim);
  }
  template <typename InputIterator, typename = typename std::iterator_traits<InputIterator>::iterator_category>
  void insert(iterator position, InputIterator first, InputIterator last) {
    rank_is_static_ = true;
    dims_.insert(position, first, last);
  }
  void resize(size_t rank);
  /// Room for so many axes.
  void reserve(size_t rank) { dims_.reserve(rank); }

  /// Throw Exception (invalid_argument) if the shape is not static.
  Shape to_shape() const;
  Shape get_shape() const { return to_shape(); }
  /// Upper bounds, Interval::s_max for extents without one; an empty shape if the rank is unknown.
  Shape get_max_shape() const;
  /// Lower bounds; an empty shape if the rank is unknown.
  Shape get_min_shape() const;
  /// "[?,3,1..10]", or "[...]" if the rank is unknown.
  std::string to_string() const;

  /// Equal ranks (or both unknown) and equal dimensions.
  bool operator==(const PartialShape& other) const;
  bool operator!=(const PartialShape& other) const { return !(*this == other); }
  /// Both of unknown rank, or the same rank and Dimension::same_scheme per axis.
  bool same_scheme(const PartialShape& other) const;
  /// Some shape satisfies both.
  bool compatible(const PartialShape& other) const;
  /// Every shape of `other` is one of this.
  bool relaxes(const PartialShape& other) const;
  /// Every shape of this is one of `other`.
  bool refines(const PartialShape& other) const { return other.relaxes(*this); }
  /// Gives a shape of unknown rank this rank; false if it has another one.
  bool merge_rank(const Rank& rank);

  /// The shapes that satisfy both, into `dst`; false (dst untouched) if there are none.
  static bool merge_into(PartialShape& dst, const PartialShape& src);
  /// The result of broadcasting `src` and `dst`, into `dst`; false (dst untouched) if they cannot broadcast.
  static bool broadcast_merge_into(PartialShape& dst, const PartialShape& src, const op::AutoBroadcastSpec& spec);

 private:
  size_t index(std::ptrdiff_t i) const;

  bool rank_is_static_ = true;
  std::vector<Dimension> dims_;
};

/// Sums per axis; of unknown rank if one of them is. Throws Exception (invalid_argument) for different ranks.
TERROIR_API PartialShape operator+(const PartialShape& a, const PartialShape& b);
TERROIR_API std::ostream& operator<<(std::ostream& out, const PartialShape& shape);

}  // namespace terroir
