// The OpenVINO header of this name: the names by which classes of passes know themselves.
#pragma once

#include "openvino/core/namespace.hpp"
#include "terroir/node.hpp"

/// OPENVINO_RTTI(name), (name, version), (name, version, base class).
#define OPENVINO_RTTI(...) TERROIR_COMPAT_RTTI(__VA_ARGS__, "0", )
#define TERROIR_COMPAT_RTTI(type_name, type_version, ...)                   \
  static const ::terroir::DiscreteTypeInfo& get_type_info_static() {        \
    static const ::terroir::DiscreteTypeInfo info{type_name, type_version}; \
    return info;                                                            \
  }                                                                         \
  const ::terroir::DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }
#define OPENVINO_MODEL_PASS_RTTI(...) OPENVINO_RTTI(__VA_ARGS__)
#define OPENVINO_MATCHER_PASS_RTTI(...) OPENVINO_RTTI(__VA_ARGS__)
#define OPENVINO_GRAPH_REWRITE_RTTI(...) OPENVINO_RTTI(__VA_ARGS__)
