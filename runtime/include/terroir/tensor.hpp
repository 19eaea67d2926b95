// Tensors: typed, shaped memory, owned or borrowed. A Tensor is a handle: copies share the memory.
//
// Layouts: row-major with byte strides; dense unless it is a view into a larger tensor or was given strides.
// Threads: reading one tensor from several threads is safe, changing it is not.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/allocator.hpp"
#include "terroir/element_type.hpp"
#include "terroir/export.hpp"
#include "terroir/partial_shape.hpp"
#include "terroir/shape.hpp"

namespace terroir {

class Node;
template <class NodeT>
class Output;

namespace detail {
struct TensorState;
struct TensorAccess;
}  // namespace detail

class TERROIR_API Tensor {
 public:
  /// An empty handle: false in a condition; every function but assignment throws Exception (invalid_argument).
  Tensor() = default;
  /// Owns memory aligned to 64 bytes, which is zeroed unless an allocator of the user's gives it. Throws Exception:
  /// invalid_argument for a dynamic type, out_of_memory.
  Tensor(const element::Type& type, const Shape& shape, const Allocator& allocator = {});
  /// Borrows memory, which must outlive the tensor. `strides` are bytes per step of each axis, none: dense. Throws
  /// Exception (invalid_argument) for a null pointer (but with no elements), strides of another rank, strides below the
  /// element size or not a multiple of it, or an inner stride that makes elements overlap.
  Tensor(const element::Type& type, const Shape& shape, void* host_ptr, const Strides& strides = {});
  /// The same with memory that nothing may write to: copy_to() this tensor and using it as an output throw Exception
  /// (invalid_argument). data() hands the memory out all the same.
  Tensor(const element::Type& type, const Shape& shape, const void* host_ptr, const Strides& strides = {});
  Tensor(const element::Type& type, const Shape& shape, std::nullptr_t)
      : Tensor(type, shape, static_cast<void*>(nullptr)) {}
  /// A view of the elements from `begin` to `end` (exclusive) of `other`, sharing its memory. Throws Exception
  /// (invalid_argument) if the corners are not inside, or for types narrower than a byte.
  Tensor(const Tensor& other, const Coordinate& begin, const Coordinate& end);
  /// As for the type and shape of a port; extents that are not known start as 0.
  Tensor(const Output<const Node>& port, const Allocator& allocator = {});  // NOLINT: implicit, as in OpenVINO
  Tensor(const Output<const Node>& port, void* host_ptr, const Strides& strides = {});
  Tensor(const Output<const Node>& port, const void* host_ptr, const Strides& strides = {});

  /// Changes the shape and keeps the type; elements are kept only while the memory is. Memory of its own grows as
  /// needed; borrowed memory must be large enough; a view, and a tensor that was given strides, keeps them and stays
  /// within the extents that it was made with, else Exception (shape_mismatch).
  void set_shape(const Shape& shape);
  const element::Type& get_element_type() const;
  const Shape& get_shape() const;
  /// Number of elements.
  size_t get_size() const;
  /// Bytes of the elements, without gaps.
  size_t get_byte_size() const;
  /// Bytes per step of each axis. Throws Exception (unsupported) for types narrower than a byte.
  Strides get_strides() const;
  /// Whether the elements follow each other without gaps.
  bool is_continuous() const;
  /// Copies the elements; `dst` gets this shape if it has another. Throws Exception (type_mismatch) for another type,
  /// (invalid_argument) for an empty dst, and as set_shape().
  void copy_to(Tensor dst) const;

  /// The first element. With a type: throws Exception (type_mismatch) if the elements are not of it.
  void* data(const element::Type& type = element::dynamic) const;
  /// The first element as T. Throws Exception (type_mismatch) if T does not store the element type; one-byte integers,
  /// bool and char stand for each other, and any of them gives the bytes of packed types and 8-bit floats.
  template <typename T, typename = std::enable_if_t<!std::is_void_v<T>>>
  T* data() const {
    check_type(element::from<std::remove_cv_t<T>>());
    return static_cast<T*>(data());
  }

  /// Whether it may be used as a Tensor of class T, which says so by T::type_check(tensor), and as one. as<T>() throws
  /// what type_check() throws.
  template <typename T>
  std::enable_if_t<std::is_base_of_v<Tensor, T>, bool> is() const noexcept {
    try {
      T::type_check(*this);
      return true;
    } catch (...) {
      return false;
    }
  }
  template <typename T>
  std::enable_if_t<std::is_base_of_v<Tensor, T>, T> as() const {
    T::type_check(*this);
    return *static_cast<const T*>(this);
  }
  /// Every tensor is a Tensor.
  static void type_check(const Tensor&) {}

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator!() const noexcept { return state_ == nullptr; }
  /// Whether both are handles of one tensor.
  bool operator==(const Tensor& other) const noexcept { return state_ == other.state_; }
  bool operator!=(const Tensor& other) const noexcept { return state_ != other.state_; }

 private:
  friend struct detail::TensorAccess;
  explicit Tensor(std::shared_ptr<detail::TensorState> state) : state_(std::move(state)) {}
  void check_type(const element::Type& type) const;

  std::shared_ptr<detail::TensorState> state_;
};

using TensorVector = std::vector<Tensor>;

/// The bytes of a file from `offset` on as a tensor; one extent of `shape` may be unknown, and follows from the size of
/// the file. With `mmap` they are mapped, read-only, and the file must not be written to while the tensor lives. Throws
/// Exception: file_not_found; shape_mismatch if the file is too small, or no whole multiple of what the unknown extent
/// needs; invalid_argument for a shape with several unknown extents or of unknown rank, or a type of texts.
TERROIR_API Tensor read_tensor_data(const std::filesystem::path& file_name, const element::Type& type = element::u8,
                                    const PartialShape& shape = PartialShape::dynamic(1), size_t offset = 0,
                                    bool mmap = true);

}  // namespace terroir
