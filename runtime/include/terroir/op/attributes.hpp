// Values that attributes of operations take, and their spellings in IR files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "terroir/any.hpp"
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

struct BroadcastModeSpec {
  BroadcastModeSpec(BroadcastType type = BroadcastType::NUMPY, int64_t axis = 0)  // NOLINT: implicit, as in OpenVINO
      : m_type(type), m_axis(axis) {}
  BroadcastType m_type;
  int64_t m_axis;
};

}  // namespace op

namespace detail {

inline const char* spelling(op::PadType type) {
  switch (type) {
    case op::PadType::SAME_LOWER:
      return "same_lower";
    case op::PadType::SAME_UPPER:
      return "same_upper";
    case op::PadType::VALID:
      return "valid";
    default:
      return "explicit";
  }
}
inline const char* spelling(op::RoundingType type) {
  return type == op::RoundingType::FLOOR ? "floor" : type == op::RoundingType::CEIL ? "ceil" : "ceil_torch";
}
inline const char* spelling(op::PadMode mode) {
  static constexpr const char* kNames[] = {"constant", "edge", "reflect", "symmetric"};
  return kNames[static_cast<size_t>(mode)];
}
/// "explicit" of Broadcast and "none" of elementwise operations are the same enumerator.
inline const char* spelling(op::BroadcastType type) {
  static constexpr const char* kNames[] = {"explicit", "numpy", "pdpd", "bidirectional"};
  return kNames[static_cast<size_t>(type)];
}
inline const char* spelling(op::EpsMode mode) { return mode == op::EpsMode::ADD ? "add" : "max"; }
inline const char* spelling(op::MVNEpsMode mode) {
  return mode == op::MVNEpsMode::INSIDE_SQRT ? "INSIDE_SQRT" : "OUTSIDE_SQRT";
}
inline const char* spelling(op::GeluApproximationMode mode) {
  return mode == op::GeluApproximationMode::ERF ? "ERF" : "TANH";
}
inline const char* spelling(op::TopKMode mode) { return mode == op::TopKMode::MAX ? "max" : "min"; }
inline const char* spelling(op::TopKSortType type) {
  return type == op::TopKSortType::NONE ? "none" : type == op::TopKSortType::SORT_VALUES ? "value" : "index";
}
inline const char* spelling(op::PhiloxAlignment alignment) {
  return alignment == op::PhiloxAlignment::TENSORFLOW ? "tensorflow" : "pytorch";
}
inline const char* spelling(op::FillMode mode) { return mode == op::FillMode::ZERO ? "ZERO" : "LOWEST"; }

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
