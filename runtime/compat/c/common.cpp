// Errors, texts, shapes, layouts and element types of the C API.
#include <array>
#include <limits>

#include "runtime/compat/c/objects.hpp"

namespace terroir::c {

namespace {

thread_local std::string last_message;

ov_status_e status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return NOT_FOUND;
    case ErrorCode::invalid_argument:
    case ErrorCode::shape_mismatch:
    case ErrorCode::type_mismatch:
      return PARAMETER_MISMATCH;
    case ErrorCode::unsupported:
    case ErrorCode::not_implemented:
      return NOT_IMPLEMENTED;
    case ErrorCode::out_of_memory:
      return NOT_ALLOCATED;
    case ErrorCode::cancelled:
      return INFER_CANCELLED;
    case ErrorCode::busy:
      return REQUEST_BUSY;
    default:
      return GENERAL_ERROR;
  }
}

void keep(const char* message) noexcept {
  try {
    last_message = message;
  } catch (...) {
    last_message.clear();
  }
}

struct TypeRow {
  ov_element_type_e c;
  element::Type_t cpp;
};
constexpr TypeRow kTypes[] = {{DYNAMIC, element::Type_t::dynamic}, {OV_BOOLEAN, element::Type_t::boolean},
                              {BF16, element::Type_t::bf16},       {F16, element::Type_t::f16},
                              {F32, element::Type_t::f32},         {F64, element::Type_t::f64},
                              {I4, element::Type_t::i4},           {I8, element::Type_t::i8},
                              {I16, element::Type_t::i16},         {I32, element::Type_t::i32},
                              {I64, element::Type_t::i64},         {U1, element::Type_t::u1},
                              {U2, element::Type_t::u2},           {U3, element::Type_t::u3},
                              {U4, element::Type_t::u4},           {U6, element::Type_t::u6},
                              {U8, element::Type_t::u8},           {U16, element::Type_t::u16},
                              {U32, element::Type_t::u32},         {U64, element::Type_t::u64},
                              {NF4, element::Type_t::nf4},         {F8E4M3, element::Type_t::f8e4m3},
                              {F8E5M3, element::Type_t::f8e5m2},   {STRING, element::Type_t::string},
                              {F4E2M1, element::Type_t::f4e2m1},   {F8E8M0, element::Type_t::f8e8m0}};

}  // namespace

ov_status_e status_of_exception() noexcept {
  try {
    throw;
  } catch (const Exception& error) {
    keep(error.what());
    return status_of(error.code());
  } catch (const std::bad_alloc& error) {
    keep(error.what());
    return NOT_ALLOCATED;
  } catch (const std::exception& error) {
    keep(error.what());
    return UNKNOW_EXCEPTION;
  } catch (...) {
    keep("an exception of unknown type");
    return UNKNOW_EXCEPTION;
  }
}

ov_status_e null_argument() noexcept {
  keep("an argument is a null pointer");
  return INVALID_C_PARAM;
}

Shape to_shape(const ov_shape_t& shape) {
  if (shape.rank < 0 || (shape.rank > 0 && shape.dims == nullptr)) {
    throw Exception(ErrorCode::invalid_argument, "the shape has no dims");
  }
  Shape result;
  for (int64_t i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] < 0) throw Exception(ErrorCode::invalid_argument, "an extent of the shape is negative");
    result.push_back(static_cast<size_t>(shape.dims[i]));
  }
  return result;
}

void from_shape(const Shape& shape, ov_shape_t& out) {
  out.dims = new_array<int64_t>(shape.size());
  out.rank = static_cast<int64_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) out.dims[i] = static_cast<int64_t>(shape[i]);
}

PartialShape to_partial_shape(const ov_partial_shape_t& shape) {
  if (ov_rank_is_dynamic(shape.rank)) return PartialShape::dynamic();
  if (shape.rank.min < 0 || (shape.rank.min > 0 && shape.dims == nullptr)) {
    throw Exception(ErrorCode::invalid_argument, "the shape has no dims");
  }
  std::vector<Dimension> dims;
  for (int64_t i = 0; i < shape.rank.min; ++i) dims.emplace_back(shape.dims[i].min, shape.dims[i].max);
  return dims;
}

void from_partial_shape(const PartialShape& shape, ov_partial_shape_t& out) {
  out = {{0, -1}, nullptr};
  if (shape.rank().is_dynamic()) return;
  out.dims = new_array<ov_dimension_t>(shape.size());
  out.rank.min = out.rank.max = static_cast<int64_t>(shape.size());
  size_t i = 0;
  for (const Dimension& dim : shape) out.dims[i++] = {dim.get_min_length(), dim.get_max_length()};
}

element::Type to_element_type(ov_element_type_e type) {
  for (const TypeRow& row : kTypes) {
    if (row.c == type) return row.cpp;
  }
  throw Exception(ErrorCode::invalid_argument, "there is no element type " + std::to_string(static_cast<int>(type)));
}

ov_element_type_e from_element_type(const element::Type& type) {
  for (const TypeRow& row : kTypes) {
    if (row.cpp == type) return row.c;
  }
  throw Exception(ErrorCode::unsupported, "the C API has no element type " + type.get_type_name());
}

}  // namespace terroir::c

using namespace terroir::c;

const char* ov_get_error_info(ov_status_e status) {
  switch (status) {
    case OK:
      return "no error";
    case GENERAL_ERROR:
      return "general error";
    case NOT_IMPLEMENTED:
      return "not implemented or not supported";
    case NETWORK_NOT_LOADED:
      return "the model is not compiled";
    case PARAMETER_MISMATCH:
      return "an argument does not fit";
    case NOT_FOUND:
      return "not found";
    case OUT_OF_BOUNDS:
      return "out of bounds";
    case UNEXPECTED:
      return "unexpected error";
    case REQUEST_BUSY:
      return "the request is running";
    case RESULT_NOT_READY:
      return "the result is not ready";
    case NOT_ALLOCATED:
      return "no memory";
    case INFER_NOT_STARTED:
      return "the inference has not been started";
    case NETWORK_NOT_READ:
      return "the model is not read";
    case INFER_CANCELLED:
      return "the inference was cancelled";
    case INVALID_C_PARAM:
      return "an argument is a null pointer";
    case NOT_IMPLEMENT_C_METHOD:
      return "the C API does not have it";
    case UNKNOW_EXCEPTION:
      return "an exception of another library";
    default:
      return "unknown error";
  }
}

void ov_free(const char* content) { std::free(const_cast<char*>(content)); }

const char* ov_get_last_err_msg(void) {
  try {
    return copy_text(last_message);
  } catch (...) {
    return nullptr;
  }
}

bool ov_dimension_is_dynamic(const ov_dimension_t dim) { return dim.min != dim.max || dim.min < 0; }
bool ov_rank_is_dynamic(const ov_rank_t rank) { return ov_dimension_is_dynamic(rank); }

ov_status_e ov_shape_create(const int64_t rank, const int64_t* dims, ov_shape_t* shape) {
  return guarded([&] { from_shape(to_shape({rank, const_cast<int64_t*>(dims)}), *shape); }, shape);
}

ov_status_e ov_shape_free(ov_shape_t* shape) {
  return guarded(
      [&] {
        std::free(shape->dims);
        *shape = {0, nullptr};
      },
      shape);
}

ov_status_e ov_partial_shape_create(const int64_t rank, const ov_dimension_t* dims,
                                    ov_partial_shape_t* partial_shape_obj) {
  return ov_partial_shape_create_dynamic({rank, rank}, dims, partial_shape_obj);
}

ov_status_e ov_partial_shape_create_dynamic(const ov_rank_t rank, const ov_dimension_t* dims,
                                            ov_partial_shape_t* partial_shape_obj) {
  return guarded(
      [&] {
        from_partial_shape(to_partial_shape({rank, const_cast<ov_dimension_t*>(dims)}), *partial_shape_obj);
      },
      partial_shape_obj);
}

ov_status_e ov_partial_shape_create_static(const int64_t rank, const int64_t* dims,
                                           ov_partial_shape_t* partial_shape_obj) {
  return ov_shape_to_partial_shape({rank, const_cast<int64_t*>(dims)}, partial_shape_obj);
}

void ov_partial_shape_free(ov_partial_shape_t* partial_shape) {
  if (partial_shape == nullptr) return;
  std::free(partial_shape->dims);
  *partial_shape = {{0, 0}, nullptr};
}

ov_status_e ov_partial_shape_to_shape(const ov_partial_shape_t partial_shape, ov_shape_t* shape) {
  return guarded([&] { from_shape(to_partial_shape(partial_shape).to_shape(), *shape); }, shape);
}

ov_status_e ov_shape_to_partial_shape(const ov_shape_t shape, ov_partial_shape_t* partial_shape) {
  return guarded([&] { from_partial_shape(to_shape(shape), *partial_shape); }, partial_shape);
}

bool ov_partial_shape_is_dynamic(const ov_partial_shape_t partial_shape) {
  bool dynamic = false;
  guarded([&] { dynamic = to_partial_shape(partial_shape).is_dynamic(); });
  return dynamic;
}

const char* ov_partial_shape_to_string(const ov_partial_shape_t partial_shape) {
  const char* text = nullptr;
  guarded([&] { text = copy_text(to_partial_shape(partial_shape).to_string()); });
  return text;
}

ov_status_e ov_layout_create(const char* layout_desc, ov_layout_t** layout) {
  return guarded([&] { *layout = new ov_layout{terroir::Layout(layout_desc)}; }, layout_desc, layout);
}

void ov_layout_free(ov_layout_t* layout) { delete layout; }

const char* ov_layout_to_string(const ov_layout_t* layout) {
  const char* text = nullptr;
  guarded([&] { text = copy_text(layout->object.to_string()); }, layout);
  return text;
}
