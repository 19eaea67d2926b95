/* What all headers of the C API share: status codes, element types, memory, errors.
 *
 * Memory: what a function hands out through a pointer is the caller's, to be freed with the function of its type; texts
 *         with ov_free().
 * Errors: every function that can fail returns a status; ov_get_last_err_msg() has the text. A null pointer where an
 *         object is wanted gives INVALID_C_PARAM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
#define OPENVINO_C_API_EXTERN extern "C"
#else
#define OPENVINO_C_API_EXTERN extern
#endif
#if defined(_WIN32) && defined(TERROIR_OPENVINO_C_EXPORTS)
#define TERROIR_OPENVINO_C_VISIBLE __declspec(dllexport)
#elif defined(_WIN32)
#define TERROIR_OPENVINO_C_VISIBLE __declspec(dllimport)
#else
#define TERROIR_OPENVINO_C_VISIBLE __attribute__((visibility("default")))
#endif
#define OPENVINO_C_API(...) OPENVINO_C_API_EXTERN TERROIR_OPENVINO_C_VISIBLE __VA_ARGS__
#define OPENVINO_C_VAR(...) OPENVINO_C_API_EXTERN TERROIR_OPENVINO_C_VISIBLE __VA_ARGS__
#define OPENVINO_C_API_CALLBACK

typedef enum {
  OK = 0,
  GENERAL_ERROR = -1,
  NOT_IMPLEMENTED = -2,
  NETWORK_NOT_LOADED = -3,
  PARAMETER_MISMATCH = -4,
  NOT_FOUND = -5,
  OUT_OF_BOUNDS = -6,
  UNEXPECTED = -7,
  REQUEST_BUSY = -8,
  RESULT_NOT_READY = -9,
  NOT_ALLOCATED = -10,
  INFER_NOT_STARTED = -11,
  NETWORK_NOT_READ = -12,
  INFER_CANCELLED = -13,
  INVALID_C_PARAM = -14,
  UNKNOWN_C_ERROR = -15,
  NOT_IMPLEMENT_C_METHOD = -16,
  UNKNOW_EXCEPTION = -17
} ov_status_e;

typedef enum {
  DYNAMIC = 0U,
  UNDEFINED = DYNAMIC,
  OV_BOOLEAN,
  BF16,
  F16,
  F32,
  F64,
  I4,
  I8,
  I16,
  I32,
  I64,
  U1,
  U2,
  U3,
  U4,
  U6,
  U8,
  U16,
  U32,
  U64,
  NF4,
  F8E4M3,
  F8E5M3, /* OpenVINO's name for f8e5m2 */
  STRING,
  F4E2M1,
  F8E8M0
} ov_element_type_e;

/** A sentence for the status; not to be freed. */
OPENVINO_C_API(const char*) ov_get_error_info(ov_status_e status);
/** Frees a text that a function handed out. */
OPENVINO_C_API(void) ov_free(const char* content);
/** What went wrong in the last function of this thread that failed; empty if none did. To be freed with ov_free(). */
OPENVINO_C_API(const char*) ov_get_last_err_msg(void);
