// Values that attributes of operations take, and their spellings in IR files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/export.hpp"
#include "terroir/op/pad_mode.hpp"
#include "terroir/partial_shape.hpp"
#include "terroir/shape.hpp"

namespace terroir {

/// Signed differences of coordinates: pads may be negative.
class CoordinateDiff : public std::vector<std::ptrdiff_t> {
 public:
  CoordinateDiff() = default;
  CoordinateDiff(std::initializer_list<std::ptrdiff_t> values) : std::vector<std::ptrdiff_t>(values) {}
  CoordinateDiff(const std::vector<std::ptrdiff_t>& values)  // NOLINT: implicit, as in OpenVINO
      : std::vector<std::ptrdiff_t>(values) {}
  explicit CoordinateDiff(size_t rank, std::ptrdiff_t value = 0) : std::vector<std::ptrdiff_t>(rank, value) {}
};

class AxisSet : public std::set<size_t> {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<size_t> axes) : std::set<size_t>(axes) {}
  AxisSet(const std::vector<size_t>& axes) : std::set<size_t>(axes.begin(), axes.end()) {}  // NOLINT: implicit
};

class AxisVector : public std::vector<size_t> {
 public:
  AxisVector() = default;
  AxisVector(std::initializer_list<size_t> axes) : std::vector<size_t>(axes) {}
  AxisVector(const std::vector<size_t>& axes) : std::vector<size_t>(axes) {}  // NOLINT: implicit, as in OpenVINO
};

namespace detail {
template <typename List>
std::ostream& print_list(std::ostream& out, const char* name, const List& list) {
  const char* before = "{";
  out << name << (list.empty() ? before : "");
  for (const auto item : list) {
    out << before << item;
    before = ", ";
  }
  return out << '}';
}
}  // namespace detail

/// "AxisSet{0, 2}", as Strides and Coordinate are printed.
inline std::ostream& operator<<(std::ostream& out, const AxisSet& axes) {
  return detail::print_list(out, "AxisSet", axes);
}
inline std::ostream& operator<<(std::ostream& out, const AxisVector& axes) {
  return detail::print_list(out, "AxisVector", axes);
}
inline std::ostream& operator<<(std::ostream& out, const CoordinateDiff& difference) {
  return detail::print_list(out, "CoordinateDiff", difference);
}

namespace detail {
template <size_t N>
using Names = std::array<const char*, N>;
}

namespace op {

enum class PadType { EXPLICIT, SAME_LOWER, SAME_UPPER, VALID, AUTO = SAME_UPPER, NOTSET = EXPLICIT };
enum class RoundingType { FLOOR, CEIL, CEIL_TORCH };
enum class BroadcastType { NONE, EXPLICIT = NONE, NUMPY, PDPD, BIDIRECTIONAL };
enum class EpsMode { ADD, MAX };
enum class MVNEpsMode { INSIDE_SQRT, OUTSIDE_SQRT };
enum class GeluApproximationMode { TANH, ERF };
enum class TopKMode { MAX, MIN };
enum class TopKSortType { NONE, SORT_INDICES, SORT_VALUES };
enum class PhiloxAlignment { TENSORFLOW, PYTORCH };
enum class FillMode { ZERO, LOWEST };

// Beside each enumeration, by enumerator: its spellings in IR files.
inline detail::Names<4> spellings(PadType) { return {"explicit", "same_lower", "same_upper", "valid"}; }
inline detail::Names<3> spellings(RoundingType) { return {"floor", "ceil", "ceil_torch"}; }
inline detail::Names<4> spellings(PadMode) { return {"constant", "edge", "reflect", "symmetric"}; }
inline detail::Names<3> spellings(AutoBroadcastType) { return {"none", "numpy", "pdpd"}; }
/// "explicit" of Broadcast and "none" of elementwise operations are the same enumerator.
inline detail::Names<4> spellings(BroadcastType) { return {"explicit", "numpy", "pdpd", "bidirectional"}; }
inline detail::Names<2> spellings(EpsMode) { return {"add", "max"}; }
inline detail::Names<2> spellings(MVNEpsMode) { return {"INSIDE_SQRT", "OUTSIDE_SQRT"}; }
inline detail::Names<2> spellings(GeluApproximationMode) { return {"TANH", "ERF"}; }
inline detail::Names<2> spellings(TopKMode) { return {"max", "min"}; }
inline detail::Names<3> spellings(TopKSortType) { return {"none", "index", "value"}; }
inline detail::Names<2> spellings(PhiloxAlignment) { return {"tensorflow", "pytorch"}; }
inline detail::Names<2> spellings(FillMode) { return {"ZERO", "LOWEST"}; }
/// As files have it.
template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>, typename = decltype(spellings(Enum()))>
std::ostream& operator<<(std::ostream& out, Enum value) {
  return out << spellings(value)[static_cast<size_t>(value)];
}

struct BroadcastModeSpec {
  BroadcastModeSpec() = default;
  BroadcastModeSpec(BroadcastType type)  // NOLINT: implicit, as in OpenVINO
      : BroadcastModeSpec(type, type == BroadcastType::PDPD ? -1 : 0) {}
  BroadcastModeSpec(BroadcastType type, int64_t axis) : m_type(type), m_axis(axis) {}
  /// "explicit" or "none", "numpy", "pdpd", "bidirectional", in any case. Throws Exception (invalid_argument) for
  /// another text.
  TERROIR_API BroadcastModeSpec(const char* type);  // NOLINT: implicit, as in OpenVINO
  bool operator==(const BroadcastModeSpec& other) const { return m_type == other.m_type && m_axis == other.m_axis; }
  bool operator!=(const BroadcastModeSpec& other) const { return !(*this == other); }
  BroadcastType m_type = BroadcastType::NUMPY;
  int64_t m_axis = 0;
};

}  // namespace op

namespace detail {

template <typename E>
const char* spelling(E value) {
  return spellings(value)[static_cast<size_t>(value)];
}

/// The elements of any list of integers.
template <typename List>
std::vector<int64_t> integers(const List& list) {
  return {list.begin(), list.end()};
}
inline std::vector<double> reals(const std::vector<float>& list) { return {list.begin(), list.end()}; }

inline AnyMap broadcasting(const op::AutoBroadcastSpec& spec) {
  switch (spec.m_type) {
    case op::AutoBroadcastType::NUMPY:
      return {{"auto_broadcast", "numpy"}};
    case op::AutoBroadcastType::PDPD:
      return {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", spec.m_axis}};
    default:
      return {{"auto_broadcast", "none"}};
  }
}

}  // namespace detail

}  // namespace terroir
