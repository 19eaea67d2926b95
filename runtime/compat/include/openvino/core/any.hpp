// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

// Some for programs that include nothing but OpenVINO's headers, as the one that this stands for.
#include <algorithm>
#include <istream>
#include <iterator>
#include <string>
#include <typeindex>

#include "openvino/core/namespace.hpp"
#include "terroir/any.hpp"

namespace terroir {
namespace util {

/// Reads a value as Any does from a text: up to the end of the stream.
template <typename T>
struct Read {
  void operator()(std::istream& in, T& value) const {
    value = Any(std::string(std::istreambuf_iterator<char>(in), {})).template as<T>();
  }
};

}  // namespace util
}  // namespace terroir
