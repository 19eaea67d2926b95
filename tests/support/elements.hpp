#pragma once
// What: single elements of tensors of any type, for tests: as numbers, and from text.
#include <string>
#include <string_view>

#include "ir/base/tensor_view.hpp"

namespace terroir::test {

/// Element `index` as a number; long double holds every value of every element type exactly. Packed types are
/// unpacked (u1 from the highest bit of a byte on, 4-bit types from the lower half on). Exception for other types.
long double element_at(const ir::TensorView& tensor, int64_t index);

/// Stores the number written in `text` ("-3", "1e-3", "nan", "inf", "true"); Exception when it is no value of the type.
void set_element(const ir::MutableTensorView& tensor, int64_t index, std::string_view text);

/// Stores a number that the type holds, or that rounds into it; types of a byte and wider, not strings.
void set_number(const ir::MutableTensorView& tensor, int64_t index, double value);

/// Shortest text that reads back as the element; strings in quotes.
std::string element_text(const ir::TensorView& tensor, int64_t index);

}  // namespace terroir::test
