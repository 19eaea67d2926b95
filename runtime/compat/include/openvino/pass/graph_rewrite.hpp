// The OpenVINO header of this name: the names of Terroir under namespace ov.
#pragma once

#include "openvino/core/namespace.hpp"
#include "openvino/pass/pass.hpp"
#include "terroir/pass/graph_rewrite.hpp"

/// A pass of `rewrite`, a GraphRewrite.
#define ADD_MATCHER(rewrite, Pass, ...) (rewrite)->add_matcher<Pass>(__VA_ARGS__);
#define ADD_MATCHER_FOR_THIS(Pass, ...) this->add_matcher<Pass>(__VA_ARGS__);
#define REGISTER_PASS(manager, Pass, ...) (manager).register_pass<Pass>(__VA_ARGS__);
/// What lambdas of passes capture.
#if __cplusplus >= 202002L
#define OV_CAPTURE_CPY_AND_THIS =, this
#else
#define OV_CAPTURE_CPY_AND_THIS =
#endif
