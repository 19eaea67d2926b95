#pragma once
// What: memory for the elements of a tensor of any type: aligned bytes, or std::string objects for texts, which are
// constructed here and destroyed with the last owner; and copies of them.
#include <cstddef>
#include <memory>

#include "terroir/element_type.hpp"

namespace terroir {

/// Room for `count` elements, aligned to 64 bytes; uninitialised but for texts, which are empty. Exception:
/// out_of_memory.
std::shared_ptr<void> allocate_elements(element::Type type, int64_t count);

/// `bytes` of elements, sizeof(std::string) for each text; `to` has elements of the type and may be `from`.
void copy_elements(element::Type type, void* to, const void* from, size_t bytes);

}  // namespace terroir
