#include <optional>

#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/overflow.hpp"
#include "ir/base/tensor_view.hpp"
#include "runtime/api/tensor_state.hpp"

namespace terroir {

Tensor read_tensor_data(const std::filesystem::path& file_name, const element::Type& type, const PartialShape& shape,
                        size_t offset, bool mmap) {
  if (type.is_dynamic() || type == element::string || shape.rank().is_dynamic()) {
    throw_error(ErrorCode::invalid_argument, "a file cannot be read as ", type, " of shape ", shape);
  }
  const auto file = MappedFile::open(file_name);
  if (offset > file->size()) {
    throw_error(ErrorCode::invalid_argument, "'", file_name.string(), "' has ", file->size(),
                " bytes, the offset to read from is ", offset);
  }
  const size_t available = file->size() - offset;
  Shape extents;
  std::optional<size_t> unknown;
  for (const Dimension& extent : shape) {
    if (extent.is_dynamic()) {
      if (unknown) throw_error(ErrorCode::invalid_argument, "two extents of the shape ", shape, " are unknown");
      unknown = extents.size();
    }
    extents.push_back(extent.is_static() ? static_cast<size_t>(extent.get_length()) : 1);
  }
  if (unknown) {
    const auto bits = checked_mul(shape_size(extents), type.bitwidth());
    extents[*unknown] = bits && *bits != 0 ? available * 8 / *bits : 0;
    if (bits && *bits != 0 && detail::byte_size_of(type, extents) != available) {
      throw_error(ErrorCode::shape_mismatch, "the ", available, " bytes of '", file_name.string(), "' from ", offset,
                  " on are no whole number of ", shape, " of ", type);
    }
    if (!shape.compatible(extents)) {
      throw_error(ErrorCode::shape_mismatch, "'", file_name.string(), "' holds the shape ", extents, ", not ", shape);
    }
  }
  const size_t bytes = detail::byte_size_of(type, extents);
  if (bytes > available) {
    throw_error(ErrorCode::shape_mismatch, type, " of shape ", extents, " needs ", bytes, " bytes, but '",
                file_name.string(), "' has ", available, " from ", offset, " on");
  }
  if (!mmap) {
    Tensor copy(type, extents);
    file->read(offset, bytes, copy.data());
    return copy;
  }
  const char* data = file->chars() + offset;
  Tensor mapped = detail::TensorAccess::share(type, extents, data, file);
  detail::TensorAccess::state(mapped).read_only = true;
  return mapped;
}

}  // namespace terroir
