#include "terroir/element_type.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <istream>
#include <ostream>
#include <string_view>

#include "ir/base/error.hpp"

namespace terroir::element {

namespace {

enum class Kind { none, boolean, integer, real };

struct Row {
  Type_t type;
  size_t bits;
  Kind kind;
  bool is_signed;
  bool quantized;
  const char* name;
  const char* precision;  // the spelling of IR's precision attribute, where it is not the name in capitals
  const char* c_name;
};

constexpr size_t kStringBits = 8 * sizeof(std::string);

// In the order of Type_t, so that a type is its row's index.
constexpr std::array kRows{
    Row{Type_t::dynamic, 0, Kind::none, true, false, "dynamic", "UNSPECIFIED", "dynamic"},
    Row{Type_t::boolean, 8, Kind::boolean, false, false, "boolean", "BOOL", "char"},
    Row{Type_t::bf16, 16, Kind::real, true, false, "bf16", "BF16", "bfloat16"},
    Row{Type_t::f16, 16, Kind::real, true, false, "f16", "FP16", "float16"},
    Row{Type_t::f32, 32, Kind::real, true, false, "f32", "FP32", "float"},
    Row{Type_t::f64, 64, Kind::real, true, false, "f64", "FP64", "double"},
    Row{Type_t::i4, 4, Kind::integer, true, true, "i4", "I4", "int4_t"},
    Row{Type_t::i8, 8, Kind::integer, true, true, "i8", "I8", "int8_t"},
    Row{Type_t::i16, 16, Kind::integer, true, false, "i16", "I16", "int16_t"},
    Row{Type_t::i32, 32, Kind::integer, true, false, "i32", "I32", "int32_t"},
    Row{Type_t::i64, 64, Kind::integer, true, false, "i64", "I64", "int64_t"},
    Row{Type_t::u1, 1, Kind::integer, false, false, "u1", "BIN", "uint1_t"},
    Row{Type_t::u2, 2, Kind::integer, false, true, "u2", "U2", "uint2_t"},
    Row{Type_t::u3, 3, Kind::integer, false, true, "u3", "U3", "uint3_t"},
    Row{Type_t::u4, 4, Kind::integer, false, true, "u4", "U4", "uint4_t"},
    Row{Type_t::u6, 6, Kind::integer, false, true, "u6", "U6", "uint6_t"},
    Row{Type_t::u8, 8, Kind::integer, false, true, "u8", "U8", "uint8_t"},
    Row{Type_t::u16, 16, Kind::integer, false, false, "u16", "U16", "uint16_t"},
    Row{Type_t::u32, 32, Kind::integer, false, false, "u32", "U32", "uint32_t"},
    Row{Type_t::u64, 64, Kind::integer, false, false, "u64", "U64", "uint64_t"},
    Row{Type_t::nf4, 4, Kind::real, true, true, "nf4", "NF4", "nfloat4"},
    Row{Type_t::f8e4m3, 8, Kind::real, true, true, "f8e4m3", "F8E4M3", "f8e4m3"},
    Row{Type_t::f8e5m2, 8, Kind::real, true, true, "f8e5m2", "F8E5M2", "f8e5m2"},
    Row{Type_t::string, kStringBits, Kind::none, false, false, "string", "STRING", "string"},
    Row{Type_t::f4e2m1, 4, Kind::real, true, true, "f4e2m1", "F4E2M1", "f4e2m1"},
    Row{Type_t::f8e8m0, 8, Kind::real, false, true, "f8e8m0", "F8E8M0", "f8e8m0"},
};

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());
static_assert(kRows.size() == static_cast<size_t>(Type_t::f8e8m0) + 1);

const Row& row_of(Type_t type) { return kRows[static_cast<size_t>(type)]; }

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool parse(const std::string& name, Type& type) {
  const std::string key = lower_case(name);
  for (const Row& row : kRows) {
    if (key == row.name || key == lower_case(row.precision)) {
      type = row.type;
      return true;
    }
  }
  if (key == "undefined") {
    type = Type_t::dynamic;
    return true;
  }
  return false;
}

}  // namespace

Type::Type(const std::string& name) {
  if (parse(name, *this)) return;
  std::vector<std::string> known;
  for (const Row& row : kRows) known.emplace_back(row.name);
  throw_error(ErrorCode::invalid_argument, "unknown element type '", name, "'", did_you_mean(name, known));
}

size_t Type::bitwidth() const { return row_of(type_).bits; }
size_t Type::size() const { return (bitwidth() + 7) / 8; }
bool Type::is_real() const { return row_of(type_).kind == Kind::real; }
bool Type::is_integral() const { return is_integral_number() || row_of(type_).kind == Kind::boolean; }
bool Type::is_integral_number() const { return row_of(type_).kind == Kind::integer; }
bool Type::is_signed() const { return row_of(type_).is_signed; }
bool Type::is_quantized() const { return row_of(type_).quantized; }
std::string Type::get_type_name() const { return row_of(type_).name; }
std::string Type::c_type_string() const { return row_of(type_).c_name; }

std::vector<const Type*> Type::get_known_types() {
  static constexpr auto types = [] {
    std::array<Type, kRows.size()> all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].type;
    return all;
  }();
  std::vector<const Type*> known(types.size());
  for (size_t i = 0; i < known.size(); ++i) known[i] = &types[i];
  return known;
}

bool Type::compatible(const Type& other) const { return is_dynamic() || other.is_dynamic() || type_ == other.type_; }

bool Type::merge(Type& dst, const Type& a, const Type& b) {
  if (!a.compatible(b)) return false;
  dst = a.is_dynamic() ? b : a;
  return true;
}

std::ostream& operator<<(std::ostream& out, const Type& type) { return out << row_of(type).name; }

std::istream& operator>>(std::istream& in, Type& type) {
  std::string name;
  if (in >> name) type = Type(name);
  return in;
}

}  // namespace terroir::element

namespace terroir {
std::ostream& operator<<(std::ostream& out, const float16& value) { return out << static_cast<float>(value); }
std::ostream& operator<<(std::ostream& out, const bfloat16& value) { return out << static_cast<float>(value); }
}  // namespace terroir
