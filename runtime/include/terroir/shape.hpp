// Shapes and the other small vectors of extents.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include "terroir/export.hpp"

namespace terroir {

/// Extents of a tensor, outermost first. An empty Shape is a scalar (one element).
class Shape : public std::vector<size_t> {
 public:
  Shape() = default;
  Shape(std::initializer_list<size_t> dims) : std::vector<size_t>(dims) {}
  Shape(const std::vector<size_t>& dims) : std::vector<size_t>(dims) {}  // NOLINT: implicit, as in OpenVINO
  explicit Shape(size_t rank, size_t initial_value = 0) : std::vector<size_t>(rank, initial_value) {}
  /// From text: "[1,3,224,224]" or "1,3,224,224"; "[]" is a scalar. Throws Exception (parse_error) for another text.
  TERROIR_API explicit Shape(const std::string& text);
  template <class InputIterator>
  Shape(InputIterator first, InputIterator last) : std::vector<size_t>(first, last) {}

  /// "[1,3,224,224]".
  TERROIR_API std::string to_string() const;
};

/// Steps along axes: in elements for windows, in bytes for Tensor::get_strides().
class Strides : public std::vector<size_t> {
 public:
  Strides() = default;
  Strides(std::initializer_list<size_t> steps) : std::vector<size_t>(steps) {}
  Strides(const std::vector<size_t>& steps) : std::vector<size_t>(steps) {}  // NOLINT: implicit, as in OpenVINO
  explicit Strides(size_t rank, size_t initial_value = 0) : std::vector<size_t>(rank, initial_value) {}
  template <class InputIterator>
  Strides(InputIterator first, InputIterator last) : std::vector<size_t>(first, last) {}
};

/// A position inside a tensor, one index per axis.
class Coordinate : public std::vector<size_t> {
 public:
  Coordinate() = default;
  Coordinate(std::initializer_list<size_t> axes) : std::vector<size_t>(axes) {}
  Coordinate(const std::vector<size_t>& axes) : std::vector<size_t>(axes) {}  // NOLINT: implicit, as in OpenVINO
  explicit Coordinate(size_t rank, size_t initial_value = 0) : std::vector<size_t>(rank, initial_value) {}
  template <class InputIterator>
  Coordinate(InputIterator first, InputIterator last) : std::vector<size_t>(first, last) {}
};

/// Number of elements; 1 for a scalar. Throws Exception (out_of_memory) if it does not fit size_t; an extent of 0 makes
/// it 0 whatever the others are.
TERROIR_API size_t shape_size(const Shape& shape);
/// Steps in elements of a dense row-major tensor.
TERROIR_API std::vector<size_t> row_major_strides(const Shape& shape);
/// One element: no axes.
inline bool is_scalar(const Shape& shape) { return shape.empty(); }

TERROIR_API std::ostream& operator<<(std::ostream& out, const Shape& shape);
TERROIR_API std::ostream& operator<<(std::ostream& out, const Strides& strides);
TERROIR_API std::ostream& operator<<(std::ostream& out, const Coordinate& coordinate);

}  // namespace terroir
