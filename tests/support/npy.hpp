#pragma once
// What: reads NumPy's .npy files, format versions 1 to 3, little-endian, C order.
// Source: NumPy enhancement proposal 1 and numpy.lib.format.
#include <filesystem>
#include <string_view>

#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// The array of a file. `type` says what the elements mean where the file cannot: bf16 is stored as "<u2". Exception
/// (parse_error, file_not_found) that names the file for a text that is not in the format, for an element type that
/// contradicts `type`, and for a size that is not the shape's.
HostTensor read_npy(const std::filesystem::path& path, element::Type type = element::dynamic);

/// The same from memory.
HostTensor parse_npy(std::string_view bytes, element::Type type = element::dynamic);

}  // namespace terroir::test
