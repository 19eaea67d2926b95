#pragma once
// What: constants as text and as a hash.
#include <string>

#include "ir/base/tensor_view.hpp"

namespace terroir::ir {

/// "[1, 2, 3]" for up to `max_values` elements, else "#" and 16 hexadecimal digits of content_hash(). Values print
/// exactly; elements without a number of their own (packed 3- and 6-bit, 8-bit and 4-bit floating-point types) print as
/// hash.
std::string constant_text(const TensorView& tensor, int64_t max_values);

/// A hash of the elements' bytes (FNV-1a, 64 bits), the same on every machine; type and shape do not enter.
uint64_t content_hash(const TensorView& tensor);

/// The same type, shape and bytes.
bool same_bits(const TensorView& a, const TensorView& b);

}  // namespace terroir::ir
