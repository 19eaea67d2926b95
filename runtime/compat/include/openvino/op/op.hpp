// The OpenVINO header of this name: the base of layers that are classes, and the macros that they use.
#pragma once

#include "openvino/core/attribute_visitor.hpp"
#include "openvino/core/except.hpp"
#include "openvino/core/namespace.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"
#include "terroir/op/op.hpp"

/// OPENVINO_OP(type), (type, version), (type, version, base class).
#define OPENVINO_OP(...) TERROIR_OP(__VA_ARGS__)
/// NODE_VALIDATION_CHECK(layer, condition, parts of the message...).
#define NODE_VALIDATION_CHECK(layer, ...) TERROIR_COMPAT_LAYER_CHECK(layer, __VA_ARGS__, "")
#define TERROIR_COMPAT_LAYER_CHECK(layer, condition, ...)                                 \
  do {                                                                                    \
    if (!static_cast<bool>(condition)) {                                                  \
      throw ::terroir::NodeValidationFailure(::terroir::compat::in_one_text(              \
          (layer)->get_type_name(), ": ",                                                 \
          ::terroir::compat::failed_check(__FILE__, __LINE__, #condition, __VA_ARGS__))); \
    }                                                                                     \
  } while (false)
