/* Shapes whose rank or extents may be unknown. */
#pragma once

#include "openvino/c/ov_dimension.h"
#include "openvino/c/ov_rank.h"
#include "openvino/c/ov_shape.h"

typedef struct ov_partial_shape {
  ov_rank_t rank;
  ov_dimension_t* dims; /* null if the rank is unknown */
} ov_partial_shape_t;

OPENVINO_C_API(ov_status_e)
ov_partial_shape_create(const int64_t rank, const ov_dimension_t* dims, ov_partial_shape_t* partial_shape_obj);
/** dims is null if the rank is unknown. */
OPENVINO_C_API(ov_status_e)
ov_partial_shape_create_dynamic(const ov_rank_t rank, const ov_dimension_t* dims,
                                ov_partial_shape_t* partial_shape_obj);
OPENVINO_C_API(ov_status_e)
ov_partial_shape_create_static(const int64_t rank, const int64_t* dims, ov_partial_shape_t* partial_shape_obj);
/** Frees what the shape points to. */
OPENVINO_C_API(void) ov_partial_shape_free(ov_partial_shape_t* partial_shape);
OPENVINO_C_API(ov_status_e) ov_partial_shape_to_shape(const ov_partial_shape_t partial_shape, ov_shape_t* shape);
OPENVINO_C_API(ov_status_e) ov_shape_to_partial_shape(const ov_shape_t shape, ov_partial_shape_t* partial_shape);
OPENVINO_C_API(bool) ov_partial_shape_is_dynamic(const ov_partial_shape_t partial_shape);
/** "[?,3,1..10]"; null if there is no memory. */
OPENVINO_C_API(const char*) ov_partial_shape_to_string(const ov_partial_shape_t partial_shape);
