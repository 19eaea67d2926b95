// What a Tensor handle points to.
#pragma once

#include <memory>

#include "ir/base/tensor_view.hpp"
#include "terroir/tensor.hpp"

namespace terroir::detail {

struct TensorState {
  enum class Memory {
    owned,     // allocated here, grows
    borrowed,  // the user's, of a fixed size
    view       // a part of another tensor's memory or of the user's: its strides stay
  };
  element::Type type;
  Shape shape;
  Strides strides;  // bytes; unused for packed types, which are dense
  bool dense = true;
  void* data = nullptr;
  size_t capacity = 0;  // bytes, for owned and borrowed memory
  Shape largest;        // of a view
  Memory memory = Memory::owned;
  bool read_only = false;       // the user's, who forbids writing
  Allocator allocator;          // of owned memory
  std::shared_ptr<void> owner;  // keeps the memory alive; null for the user's
};

struct TensorAccess {
  static TensorState& state(const Tensor& tensor);  // throws for an empty handle
  static Tensor make(std::shared_ptr<TensorState> state) { return Tensor(std::move(state)); }
  /// A tensor over memory that `owner` keeps alive.
  static Tensor share(element::Type type, Shape shape, const void* data, std::shared_ptr<const void> owner);
  /// Throws Exception (invalid_argument) for a tensor that nothing may write to.
  static void check_writable(const TensorState& state);
  static const std::shared_ptr<TensorState>& pointer(const Tensor& tensor) { return tensor.state_; }
};

/// Throws Exception (out_of_memory) for more elements than can be counted.
size_t byte_size_of(const element::Type& type, const Shape& shape);

/// Copies the elements of `tensor`, which may have gaps, to dense memory and back.
void copy_to_dense(const TensorState& tensor, void* dense);
void copy_from_dense(const void* dense, const TensorState& tensor);

}  // namespace terroir::detail
