#include "ops/reference/element_copy.hpp"

#include <cstring>
#include <string>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"

namespace terroir::ops::reference {
namespace {

// memcpy of a constant size is one move, whatever the alignment and the type.
template <size_t Size>
void copy_sized(char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(dst + i * dst_step * static_cast<int64_t>(Size), src + i * src_step * static_cast<int64_t>(Size), Size);
}

/// Walks the rows of a strided region: row(dense index, strided index, count, step of the innermost axis).
template <class Row>
void for_each_row(const ir::Dims& all_dims, const ir::Dims& all_steps, int64_t offset, Row&& row) {
  if (ir::element_count(all_dims) == 0) return;
  // Axes of extent 1 do not matter, and neighbours that are dense together are one axis.
  ir::Dims dims, steps;
  for (size_t i = 0; i < all_dims.size(); ++i) {
    if (all_dims[i] == 1) continue;
    if (!dims.empty() && steps.back() == all_steps[i] * all_dims[i]) {
      dims.back() *= all_dims[i];
      steps.back() = all_steps[i];
    } else {
      dims.push_back(all_dims[i]);
      steps.push_back(all_steps[i]);
    }
  }
  if (dims.empty()) {
    row(int64_t{0}, offset, int64_t{1}, int64_t{1});
    return;
  }
  const int64_t count = dims.back();
  const int64_t step = steps.back();
  dims.pop_back();
  int64_t dense = 0;
  for_each_position(dims, [&](const ir::Dims& position) {
    int64_t index = offset;
    for (size_t i = 0; i < position.size(); ++i) index += position[i] * steps[i];
    row(dense, index, count, step);
    dense += count;
  });
}

}  // namespace

ElementCopier::ElementCopier(element::Type type, const char* op) {
  if (type == element::string) {
    kind_ = Kind::strings;
    size_ = static_cast<int64_t>(sizeof(std::string));
    return;
  }
  const auto bits = static_cast<int64_t>(type.bitwidth());
  if (bits >= 8) {
    kind_ = Kind::bytes;
    size_ = bits / 8;
    return;
  }
  if (bits == 0) throw_error(ErrorCode::unsupported, op, " cannot move elements of type ", type.get_type_name());
  kind_ = Kind::packed;
  size_ = bits;
  if (type == element::nf4) zero_ = 7;  // its codes count up from -1
}

void ElementCopier::copy(void* dst, int64_t dst_index, const void* src, int64_t src_index, int64_t count) const {
  if (count <= 0) return;
  if (kind_ == Kind::bytes) {
    std::memcpy(static_cast<char*>(dst) + dst_index * size_, static_cast<const char*>(src) + src_index * size_,
                static_cast<size_t>(count * size_));
    return;
  }
  copy_strided(dst, dst_index, 1, src, src_index, 1, count);
}

void ElementCopier::copy_strided(void* dst, int64_t dst_index, int64_t dst_step, const void* src, int64_t src_index,
                                 int64_t src_step, int64_t count) const {
  if (count <= 0) return;
  if (kind_ == Kind::strings) {
    auto* to = static_cast<std::string*>(dst) + dst_index;
    const auto* from = static_cast<const std::string*>(src) + src_index;
    for (int64_t i = 0; i < count; ++i) to[i * dst_step] = from[i * src_step];
    return;
  }
  if (kind_ == Kind::packed) {
    auto* to = static_cast<uint8_t*>(dst);
    const auto* from = static_cast<const uint8_t*>(src);
    const int width = static_cast<int>(size_);
    for (int64_t i = 0; i < count; ++i)
      ir::write_bits(to, dst_index + i * dst_step, width, ir::read_bits(from, src_index + i * src_step, width));
    return;
  }
  auto* to = static_cast<char*>(dst) + dst_index * size_;
  const auto* from = static_cast<const char*>(src) + src_index * size_;
  if (dst_step == 1 && src_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * size_));
    return;
  }
  switch (size_) {
    case 1:
      return copy_sized<1>(to, dst_step, from, src_step, count);
    case 2:
      return copy_sized<2>(to, dst_step, from, src_step, count);
    case 4:
      return copy_sized<4>(to, dst_step, from, src_step, count);
    default:
      return copy_sized<8>(to, dst_step, from, src_step, count);
  }
}

void ElementCopier::clear(void* dst, int64_t dst_index, int64_t count) const {
  if (count <= 0) return;
  if (kind_ == Kind::strings) {
    auto* to = static_cast<std::string*>(dst) + dst_index;
    for (int64_t i = 0; i < count; ++i) to[i].clear();
  } else if (kind_ == Kind::bytes) {
    std::memset(static_cast<char*>(dst) + dst_index * size_, 0, static_cast<size_t>(count * size_));
  } else {
    const uint8_t zero[3] = {zero_};  // a whole unit of u3 or u6
    copy_strided(dst, dst_index, 1, zero, 0, 0, count);
  }
}

void copy_from_strided(element::Type type, const void* src, int64_t offset, const ir::Dims& steps, void* dst,
                       const ir::Dims& dims, const char* op) {
  const ElementCopier copier(type, op);
  for_each_row(dims, steps, offset, [&](int64_t dense, int64_t strided, int64_t count, int64_t step) {
    copier.copy_strided(dst, dense, 1, src, strided, step, count);
  });
}

void copy_to_strided(element::Type type, const void* src, void* dst, int64_t offset, const ir::Dims& steps,
                     const ir::Dims& dims, const char* op) {
  const ElementCopier copier(type, op);
  for_each_row(dims, steps, offset, [&](int64_t dense, int64_t strided, int64_t count, int64_t step) {
    copier.copy_strided(dst, strided, step, src, dense, 1, count);
  });
}

}  // namespace terroir::ops::reference
