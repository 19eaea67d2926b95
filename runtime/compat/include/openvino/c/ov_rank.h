/* Numbers of axes that may be unknown. */
#pragma once

#include "openvino/c/ov_dimension.h"

typedef ov_dimension_t ov_rank_t;

OPENVINO_C_API(bool) ov_rank_is_dynamic(const ov_rank_t rank);
