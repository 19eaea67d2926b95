#include "terroir/shape.hpp"

#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/overflow.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir {

Shape::Shape(const std::string& text) {
  const auto items = detail::split_list(text);
  if (!items) throw_error(ErrorCode::parse_error, "not a shape: '", text, "', expected a list such as [1,3,224,224]");
  for (const std::string_view item : *items) {
    const auto extent = detail::parse_int64(item);
    if (!extent || *extent < 0) {
      throw_error(ErrorCode::parse_error, "not a shape: '", text, "': '", item, "' is not a non-negative number");
    }
    push_back(static_cast<size_t>(*extent));
  }
}

std::string Shape::to_string() const { return concat(static_cast<const std::vector<size_t>&>(*this)); }

size_t shape_size(const Shape& shape) {
  size_t count = 1;
  bool overflow = false;
  for (const size_t extent : shape) {
    if (extent == 0) return 0;
    const auto product = checked_mul(count, extent);
    overflow = overflow || !product;
    count = product.value_or(1);
  }
  if (overflow) {
    throw_error(ErrorCode::out_of_memory, "the number of elements of shape ", shape, " does not fit 64 bits");
  }
  return count;
}

std::vector<size_t> row_major_strides(const Shape& shape) {
  std::vector<size_t> strides(shape.size());
  size_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

// "name{1, 3}".
static std::ostream& print_extents(std::ostream& out, const char* name, const std::vector<size_t>& extents) {
  out << name << '{';
  for (size_t i = 0; i < extents.size(); ++i) out << (i > 0 ? ", " : "") << extents[i];
  return out << '}';
}
std::ostream& operator<<(std::ostream& out, const Strides& strides) { return print_extents(out, "Strides", strides); }
std::ostream& operator<<(std::ostream& out, const Coordinate& coordinate) {
  return print_extents(out, "Coordinate", coordinate);
}

}  // namespace terroir
