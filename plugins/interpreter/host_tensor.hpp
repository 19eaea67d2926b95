#pragma once
// What: a tensor that owns its elements, or shares them with whoever does.
#include <memory>
#include <utility>

#include "ir/graph/graph.hpp"

namespace terroir::interpreter {

class HostTensor {
 public:
  HostTensor() = default;
  /// Uninitialised elements (constructed ones for element::string). Exception for a size that overflows.
  HostTensor(element::Type type, ir::Dims dims);
  /// A view of memory that `owner` keeps alive; no owner: the caller does.
  HostTensor(ir::TensorView view, std::shared_ptr<const void> owner)
      : view_(std::move(view)), owner_(std::move(owner)) {}

  const ir::TensorView& view() const { return view_; }
  element::Type type() const { return view_.type; }
  const ir::Dims& dims() const { return view_.dims; }
  template <class T>
  const T* as() const {
    return view_.as<T>();
  }
  /// Only for a tensor that allocated its elements itself.
  ir::MutableTensorView writable() const { return {view_.type, view_.dims, const_cast<void*>(view_.data)}; }
  ir::Constant to_constant() && { return {std::move(view_), std::move(owner_)}; }
  /// Smaller extents over the same elements, for outputs whose size became known while they were written.
  void shrink(ir::Dims dims) { view_.dims = std::move(dims); }

 private:
  ir::TensorView view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace terroir::interpreter
