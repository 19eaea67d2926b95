// The OpenVINO header of this name: the C++ type of an element type, which fundamental_type_for says, too.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/element_type.hpp"

namespace terroir {

template <element::Type_t T>
struct element_type_traits {
  using value_type = fundamental_type_for<T>;
};

}  // namespace terroir
