#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ir/base/overflow.hpp"
#include "runtime/api/tensor_state.hpp"
#include "terroir/node.hpp"

namespace terroir {

size_t detail::byte_size_of(const element::Type& type, const Shape& shape) {
  const size_t count = shape_size(shape);
  if (count > static_cast<size_t>(INT64_MAX)) {
    throw_error(ErrorCode::out_of_memory, "a tensor of shape ", shape, " does not fit the memory");
  }
  return ir::byte_size(type, static_cast<int64_t>(count));
}

namespace {

using detail::byte_size_of;
using detail::TensorAccess;
using detail::TensorState;

bool is_packed(const element::Type& type) { return type.bitwidth() < 8; }

// Without elements every step is 0.
Strides dense_strides(const element::Type& type, const Shape& shape) {
  if (is_packed(type)) return {};
  if (shape_size(shape) == 0) return Strides(shape.size());
  Strides strides(row_major_strides(shape));
  for (size_t& step : strides) step *= type.size();
  return strides;
}

// An axis of one element may have any step.
bool is_dense(const TensorState& state) {
  size_t expected = state.type.size();
  for (size_t i = state.shape.size(); i-- > 0;) {
    if (state.shape[i] == 0) return true;
    if (state.shape[i] != 1 && state.strides[i] != expected) return false;
    expected *= state.shape[i];
  }
  return true;
}

// Texts begin empty; other elements as 0, unless the memory is the user's.
std::shared_ptr<void> allocate(const element::Type& type, size_t bytes, const Allocator& allocator) {
  if (bytes == 0) bytes = 1;  // a tensor without elements has an address all the same
  if (allocator == Allocator() && type != element::string) {
    auto buffer = std::make_shared<AlignedBuffer>(bytes);
    std::memset(buffer->data(), 0, bytes);
    return {buffer, buffer->data()};
  }
  void* memory = allocator.allocate(bytes, kCacheLine);
  if (type != element::string) {
    return {memory, [allocator, bytes](void* m) { allocator.deallocate(m, bytes, kCacheLine); }};
  }
  const size_t count = bytes / sizeof(std::string);
  auto* texts = static_cast<std::string*>(memory);
  std::uninitialized_value_construct_n(texts, count);
  return {memory, [allocator, texts, count, bytes](void* m) {
            std::destroy_n(texts, count);
            allocator.deallocate(m, bytes, kCacheLine);
          }};
}

Shape start_shape(const PartialShape& shape) {
  return shape.is_static() ? shape.to_shape() : shape.rank().is_static() ? shape.get_min_shape() : Shape{0};
}

// Calls f(bytes in the tensor, bytes in dense memory, size) for each run of elements that is dense in both.
template <typename F>
void for_each_run(const TensorState& t, F f) {
  const size_t rank = t.shape.size();
  if (shape_size(t.shape) == 0) return;
  size_t inner = rank;  // axes [inner, rank) are dense
  size_t run = t.type.size();
  while (inner > 0 && (t.shape[inner - 1] == 1 || t.strides[inner - 1] == run)) run *= t.shape[--inner];
  std::vector<size_t> index(inner, 0);
  size_t offset = 0;
  for (size_t dense = 0;; dense += run) {
    f(offset, dense, run);
    size_t axis = inner;
    while (axis > 0) {
      --axis;
      offset += t.strides[axis];
      if (++index[axis] < t.shape[axis]) break;
      offset -= t.strides[axis] * t.shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (inner == 0) return;
  }
}

}  // namespace

TensorState& TensorAccess::state(const Tensor& tensor) {
  if (tensor.state_ == nullptr) throw_error(ErrorCode::invalid_argument, "the tensor is empty");
  return *tensor.state_;
}

Tensor TensorAccess::share(element::Type type, Shape shape, const void* data, std::shared_ptr<const void> owner) {
  auto state = std::make_shared<TensorState>();
  state->type = type;
  state->capacity = byte_size_of(type, shape);
  state->strides = dense_strides(type, shape);
  state->shape = std::move(shape);
  state->data = const_cast<void*>(data);
  state->memory = TensorState::Memory::borrowed;
  state->owner = std::const_pointer_cast<void>(std::move(owner));
  return make(std::move(state));
}

void TensorAccess::check_writable(const TensorState& state) {
  if (state.read_only) throw_error(ErrorCode::invalid_argument, "the memory of the tensor is read-only");
}

void detail::copy_to_dense(const TensorState& tensor, void* dense) {
  if (tensor.dense) {
    const size_t bytes = byte_size_of(tensor.type, tensor.shape);
    if (bytes != 0) copy_elements(tensor.type, dense, tensor.data, bytes);
    return;
  }
  for_each_run(tensor, [&](size_t offset, size_t dense_offset, size_t run) {
    copy_elements(tensor.type, static_cast<char*>(dense) + dense_offset, static_cast<char*>(tensor.data) + offset, run);
  });
}

void detail::copy_from_dense(const void* dense, const TensorState& tensor) {
  if (tensor.dense) {
    const size_t bytes = byte_size_of(tensor.type, tensor.shape);
    if (bytes != 0) copy_elements(tensor.type, tensor.data, dense, bytes);
    return;
  }
  for_each_run(tensor, [&](size_t offset, size_t dense_offset, size_t run) {
    copy_elements(tensor.type, static_cast<char*>(tensor.data) + offset, static_cast<const char*>(dense) + dense_offset,
                  run);
  });
}

Tensor::Tensor(const element::Type& type, const Shape& shape, const Allocator& allocator)
    : state_(std::make_shared<TensorState>()) {
  state_->allocator = allocator;
  state_->capacity = byte_size_of(type, shape);
  state_->type = type;
  state_->shape = shape;
  state_->strides = dense_strides(type, shape);
  state_->owner = allocate(type, state_->capacity, allocator);
  state_->data = state_->owner.get();
}

Tensor::Tensor(const element::Type& type, const Shape& shape, void* host_ptr, const Strides& strides)
    : state_(std::make_shared<TensorState>()) {
  const size_t bytes = byte_size_of(type, shape);
  if (host_ptr == nullptr && bytes != 0) {
    throw_error(ErrorCode::invalid_argument, "a tensor of shape ", shape, " needs memory, got a null pointer");
  }
  state_->type = type;
  state_->shape = shape;
  state_->data = host_ptr;
  state_->memory = TensorState::Memory::borrowed;
  state_->capacity = bytes;
  state_->strides = dense_strides(type, shape);
  if (strides.empty()) return;
  if (is_packed(type)) {
    throw_error(ErrorCode::invalid_argument, "a tensor of packed type ", type, " cannot have strides");
  }
  if (strides.size() != shape.size()) {
    throw_error(ErrorCode::invalid_argument, "a tensor of rank ", shape.size(), " needs as many strides, got ",
                strides);
  }
  size_t least = type.size();  // below it, elements of the axis would share their memory with those of inner axes
  for (size_t i = strides.size(); i-- > 0;) {
    if (strides[i] % type.size() != 0) {
      throw_error(ErrorCode::invalid_argument, "the stride ", strides[i], " of axis ", i,
                  " is no multiple of the element size ", type.size());
    }
    if (shape[i] <= 1) continue;
    if (strides[i] < least) {
      throw_error(ErrorCode::invalid_argument, "the stride ", strides[i], " of axis ", i,
                  " is too small, elements would overlap; it must be at least ", least);
    }
    const auto extent = checked_mul(strides[i], shape[i]);
    if (!extent) throw_error(ErrorCode::out_of_memory, "the stride ", strides[i], " of axis ", i, " is too large");
    least = *extent;
  }
  state_->strides = strides;
  state_->dense = is_dense(*state_);
  state_->memory = TensorState::Memory::view;
  state_->largest = shape;
}

Tensor::Tensor(const element::Type& type, const Shape& shape, const void* host_ptr, const Strides& strides)
    : Tensor(type, shape, const_cast<void*>(host_ptr), strides) {
  state_->read_only = true;
}

Tensor::Tensor(const Tensor& other, const Coordinate& begin, const Coordinate& end) {
  const TensorState& from = TensorAccess::state(other);
  const size_t rank = from.shape.size();
  if (is_packed(from.type)) {
    throw_error(ErrorCode::invalid_argument, "a tensor of packed type ", from.type, " cannot have a view");
  }
  if (begin.size() != rank || end.size() != rank) {
    throw_error(ErrorCode::invalid_argument, "the corners ", begin, " and ", end, " of a view must have the rank ",
                rank, " of the tensor");
  }
  auto state = std::make_shared<TensorState>(from);
  state->memory = TensorState::Memory::view;
  size_t offset = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (begin[i] > end[i] || end[i] > from.shape[i]) {
      throw_error(ErrorCode::invalid_argument, "the view from ", begin, " to ", end, " is not inside the shape ",
                  from.shape);
    }
    state->shape[i] = end[i] - begin[i];
    offset += begin[i] * from.strides[i];
  }
  if (from.data != nullptr) state->data = static_cast<char*>(from.data) + offset;
  state->largest = state->shape;
  state->dense = is_dense(*state);
  state_ = std::move(state);
}

Tensor::Tensor(const Output<const Node>& port, const Allocator& allocator)
    : Tensor(port.get_element_type(), start_shape(port.get_partial_shape()), allocator) {}

Tensor::Tensor(const Output<const Node>& port, void* host_ptr, const Strides& strides)
    : Tensor(port.get_element_type(), start_shape(port.get_partial_shape()), host_ptr, strides) {}

Tensor::Tensor(const Output<const Node>& port, const void* host_ptr, const Strides& strides)
    : Tensor(port.get_element_type(), start_shape(port.get_partial_shape()), host_ptr, strides) {}

void Tensor::set_shape(const Shape& shape) {
  TensorState& state = TensorAccess::state(*this);
  if (shape == state.shape) return;
  if (state.memory == TensorState::Memory::view) {
    const Shape& largest = state.largest;
    // Axes of one element may stand before those it was made with.
    const auto rank = static_cast<std::ptrdiff_t>(largest.size());
    const auto inner = shape.end() - std::min(rank, static_cast<std::ptrdiff_t>(shape.size()));
    if (shape.end() - inner != rank || shape_size(Shape(shape.begin(), inner)) != 1 ||
        !std::equal(inner, shape.end(), largest.begin(), std::less_equal())) {
      throw_error(ErrorCode::shape_mismatch, "a view, or a tensor with strides, that was made of shape ", largest,
                  " cannot have the shape ", shape);
    }
    Strides strides(shape.size());
    std::copy(state.strides.end() - rank, state.strides.end(), strides.end() - rank);
    std::fill(strides.begin(), strides.end() - rank, rank > 0 ? strides.end()[-rank] * largest[0] : state.type.size());
    state.strides = std::move(strides);
    state.shape = shape;
    state.dense = is_dense(state);
    return;
  }
  const size_t bytes = byte_size_of(state.type, shape);
  if (bytes > state.capacity) {
    if (state.memory == TensorState::Memory::borrowed) {
      throw_error(ErrorCode::shape_mismatch, "the shape ", shape, " needs ", bytes, " bytes, but the memory given to ",
                  "the tensor has ", state.capacity);
    }
    std::shared_ptr<void> memory = allocate(state.type, bytes, state.allocator);
    state.owner = std::move(memory);
    state.data = state.owner.get();
    state.capacity = bytes;
  }
  state.shape = shape;
  state.strides = dense_strides(state.type, shape);
  state.dense = true;
}

const element::Type& Tensor::get_element_type() const { return TensorAccess::state(*this).type; }
const Shape& Tensor::get_shape() const { return TensorAccess::state(*this).shape; }
size_t Tensor::get_size() const { return shape_size(get_shape()); }
size_t Tensor::get_byte_size() const { return byte_size_of(get_element_type(), get_shape()); }

Strides Tensor::get_strides() const {
  const TensorState& state = TensorAccess::state(*this);
  if (is_packed(state.type)) {
    throw_error(ErrorCode::unsupported, "a tensor of packed type ", state.type, " has no strides in bytes");
  }
  return state.strides;
}

bool Tensor::is_continuous() const { return TensorAccess::state(*this).dense; }

void Tensor::copy_to(Tensor dst) const {
  const TensorState& from = TensorAccess::state(*this);
  TensorState& to = TensorAccess::state(dst);
  if (from.type != to.type) {
    throw_error(ErrorCode::type_mismatch, "cannot copy a tensor of type ", from.type, " to one of type ", to.type);
  }
  TensorAccess::check_writable(to);
  dst.set_shape(from.shape);
  if (from.dense) return detail::copy_from_dense(from.data, to);
  if (to.dense) return detail::copy_to_dense(from, to.data);
  const Tensor dense(from.type, from.shape);
  detail::copy_to_dense(from, dense.data());
  detail::copy_from_dense(dense.data(), to);
}

void* Tensor::data(const element::Type& type) const {
  if (type.is_static()) check_type(type);
  return TensorAccess::state(*this).data;
}

void Tensor::check_type(const element::Type& type) const {
  const element::Type own = get_element_type();
  if (type == own) return;
  const auto is_byte = [](const element::Type& t) { return t.bitwidth() == 8 && t.is_integral(); };
  if (type.is_real() && own.is_real() && type.bitwidth() == 16 && own.bitwidth() == 16) return;
  if (is_byte(type) && (own.bitwidth() <= 8 && own.is_static())) return;
  throw_error(ErrorCode::type_mismatch, "the tensor holds ", own, ", its data cannot be used as ", type);
}

}  // namespace terroir
