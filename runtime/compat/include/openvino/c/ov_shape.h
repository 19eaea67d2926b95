/* Shapes. */
#pragma once

#include "openvino/c/ov_common.h"

typedef struct {
  int64_t rank;
  int64_t* dims;
} ov_shape_t;

OPENVINO_C_API(ov_status_e) ov_shape_create(const int64_t rank, const int64_t* dims, ov_shape_t* shape);
/** Frees what the shape points to. */
OPENVINO_C_API(ov_status_e) ov_shape_free(ov_shape_t* shape);
