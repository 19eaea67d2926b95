// What the handles of the C API hold, and the way from exceptions to status codes.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <terroir/terroir.hpp>
#include <vector>

#include "openvino/c/openvino.h"

struct ov_core {
  std::shared_ptr<terroir::Core> object;
};
struct ov_model {
  std::shared_ptr<terroir::Model> object;
};
struct ov_compiled_model {
  terroir::CompiledModel object;
};
struct ov_infer_request {
  terroir::InferRequest object;
};
struct ov_tensor {
  terroir::Tensor object;
};
struct ov_layout {
  terroir::Layout object;
};
struct ov_output_const_port {
  terroir::Output<const terroir::Node> object;
};
struct ov_output_port {
  terroir::Output<terroir::Node> object;
};

namespace terroir::c {

/// The status of the exception in flight, whose text it keeps for ov_get_last_err_msg().
ov_status_e status_of_exception() noexcept;
ov_status_e null_argument() noexcept;

/// Runs `body` unless one of the pointers is null.
template <typename Body, typename... Pointers>
ov_status_e guarded(const Body& body, const Pointers*... pointers) noexcept {
  if (((pointers == nullptr) || ...)) return null_argument();
  try {
    body();
    return OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// Whether a list of pointers has one that is null.
inline bool has_null(const auto* list, size_t size) {
  return list != nullptr && std::find(list, list + size, nullptr) != list + size;
}

/// A text for the caller to free.
inline char* copy_text(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

/// An array for the caller to free with std::free().
template <typename T>
T* new_array(size_t count) {
  auto* const array = static_cast<T*>(std::calloc(count > 0 ? count : 1, sizeof(T)));
  if (array == nullptr) throw std::bad_alloc();
  return array;
}

/// These throw Exception (invalid_argument) for what cannot be.
Shape to_shape(const ov_shape_t& shape);
void from_shape(const Shape& shape, ov_shape_t& out);
PartialShape to_partial_shape(const ov_partial_shape_t& shape);
void from_partial_shape(const PartialShape& shape, ov_partial_shape_t& out);
element::Type to_element_type(ov_element_type_e type);
ov_element_type_e from_element_type(const element::Type& type);

}  // namespace terroir::c
