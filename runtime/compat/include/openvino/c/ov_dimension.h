/* Extents that may be unknown. */
#pragma once

#include "openvino/c/ov_common.h"

/** Between both, inclusive; max -1: without upper bound. */
typedef struct {
  int64_t min;
  int64_t max;
} ov_dimension_t;

OPENVINO_C_API(bool) ov_dimension_is_dynamic(const ov_dimension_t dim);
