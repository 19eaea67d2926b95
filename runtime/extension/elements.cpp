#include "runtime/extension/elements.hpp"

#include <utility>

#include "ir/base/error.hpp"

namespace terroir::custom {
namespace {

constexpr std::pair<element::Type_t, terroir_element> kElements[] = {
    {element::dynamic, TERROIR_DYNAMIC}, {element::boolean, TERROIR_BOOLEAN}, {element::bf16, TERROIR_BF16},
    {element::f16, TERROIR_F16},         {element::f32, TERROIR_F32},         {element::f64, TERROIR_F64},
    {element::i4, TERROIR_I4},           {element::i8, TERROIR_I8},           {element::i16, TERROIR_I16},
    {element::i32, TERROIR_I32},         {element::i64, TERROIR_I64},         {element::u1, TERROIR_U1},
    {element::u2, TERROIR_U2},           {element::u3, TERROIR_U3},           {element::u4, TERROIR_U4},
    {element::u6, TERROIR_U6},           {element::u8, TERROIR_U8},           {element::u16, TERROIR_U16},
    {element::u32, TERROIR_U32},         {element::u64, TERROIR_U64},         {element::nf4, TERROIR_NF4},
    {element::f8e4m3, TERROIR_F8E4M3},   {element::f8e5m2, TERROIR_F8E5M2},   {element::f4e2m1, TERROIR_F4E2M1},
    {element::f8e8m0, TERROIR_F8E8M0}};

}  // namespace

terroir_element to_abi(element::Type type) {
  for (const auto& [ours, theirs] : kElements)
    if (ours == type) return theirs;
  throw_error(ErrorCode::unsupported, "layers of extensions take no tensors of ", type);
}

element::Type from_abi(terroir_element type) {
  for (const auto& [ours, theirs] : kElements)
    if (theirs == type) return ours;
  throw_error(ErrorCode::invalid_argument, type, " is no element type of extension_abi.h");
}

}  // namespace terroir::custom
