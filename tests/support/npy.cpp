#include "tests/support/npy.hpp"

#include <cstring>
#include <map>

#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/overflow.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir::test {
namespace {

using terroir::detail::trim;

constexpr std::string_view kMagic = "\x93NUMPY";

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw_error(ErrorCode::parse_error, parts...);
}

size_t little_endian(std::string_view bytes) {
  size_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Takes `length` bytes from the front.
std::string_view take(std::string_view& bytes, size_t length, const char* what) {
  if (bytes.size() < length) refuse("the file ends within its ", what);
  const std::string_view head = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return head;
}

/// The items of the header's dictionary literal: 'name': value, ...
std::map<std::string, std::string, std::less<>> parse_dictionary(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') refuse("the header is not a dictionary");
  text = trim(text.substr(1, text.size() - 2));
  std::map<std::string, std::string, std::less<>> items;
  while (!text.empty()) {
    const size_t close = text.find('\'', 1);
    if (text.front() != '\'' || close == std::string_view::npos) refuse("expected a quoted key at '", text, "'");
    const std::string key(text.substr(1, close - 1));
    text = trim(text.substr(close + 1));
    if (text.empty() || text.front() != ':') refuse("expected ':' after '", key, "'");
    text = trim(text.substr(1));
    size_t end = 0;
    for (int depth = 0; end < text.size() && (depth > 0 || text[end] != ','); ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (!items.emplace(key, trim(text.substr(0, end))).second) refuse("a second key '", key, "'");
    text = end < text.size() ? trim(text.substr(end + 1)) : std::string_view();
  }
  return items;
}

ir::Dims parse_shape(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') refuse("the shape ", text, " is not a tuple");
  text = trim(text.substr(1, text.size() - 2));
  if (text.ends_with(',')) text.remove_suffix(1);
  ir::Dims dims;
  if (text.empty()) return dims;
  const auto items = terroir::detail::split_list(text);
  if (!items) refuse("the shape (", text, ") is not a tuple");
  for (std::string_view item : *items) {
    const auto extent = terroir::detail::parse_int64(item);
    if (!extent || *extent < 0) refuse("'", item, "' is not an extent");
    dims.push_back(*extent);
  }
  return dims;
}

element::Type parse_type(std::string_view descr) {
  static const std::map<std::string_view, element::Type_t> known = {
      {"'|b1'", element::Type_t::boolean}, {"'|i1'", element::Type_t::i8},  {"'|u1'", element::Type_t::u8},
      {"'<i2'", element::Type_t::i16},     {"'<u2'", element::Type_t::u16}, {"'<i4'", element::Type_t::i32},
      {"'<u4'", element::Type_t::u32},     {"'<i8'", element::Type_t::i64}, {"'<u8'", element::Type_t::u64},
      {"'<f2'", element::Type_t::f16},     {"'<f4'", element::Type_t::f32}, {"'<f8'", element::Type_t::f64}};
  const auto found = known.find(descr);
  if (found == known.end()) refuse("the element type ", descr, " is not supported");
  return found->second;
}

/// Whether elements of `type` may be stored as `stored`.
bool stores(element::Type stored, element::Type type) {
  if (stored == type) return true;
  if (type == element::bf16) return stored == element::u16;
  // Packed elements are stored as the bytes that hold them.
  return stored == element::u8 && type.bitwidth() < 8;
}

}  // namespace

HostTensor parse_npy(std::string_view bytes, element::Type type) {
  if (take(bytes, kMagic.size(), "magic") != kMagic) refuse("the file does not begin with \\x93NUMPY");
  const int major = take(bytes, 2, "version")[0];
  if (major < 1 || major > 3) refuse("format version ", major, " is not supported");
  const size_t header_size = little_endian(take(bytes, major == 1 ? 2 : 4, "header size"));
  const auto header = parse_dictionary(take(bytes, header_size, "header"));
  for (const char* key : {"descr", "fortran_order", "shape"})
    if (!header.contains(key)) refuse("the header has no '", key, "'");
  if (header.find("fortran_order")->second != "False") refuse("only C order is supported");
  const element::Type stored = parse_type(header.find("descr")->second);
  if (type.is_dynamic()) type = stored;
  if (!stores(stored, type)) refuse("the elements are ", stored, ", expected ", type);
  ir::Dims dims = parse_shape(header.find("shape")->second);
  const size_t wanted = ir::byte_size(stored, ir::element_count(dims));
  if (bytes.size() != wanted) refuse(bytes.size(), " bytes of elements, expected ", wanted);
  if (type.bitwidth() < 8) dims = {static_cast<int64_t>(wanted * 8 / type.bitwidth())};
  HostTensor tensor(type, std::move(dims));
  if (wanted > 0) std::memcpy(tensor.writable().data, bytes.data(), wanted);
  return tensor;
}

HostTensor read_npy(const std::filesystem::path& path, element::Type type) {
  return with_context([&] { return path.string(); },
                      [&] {
                        const MappedFile file(path);
                        return parse_npy({file.chars(), file.size()}, type);
                      });
}

}  // namespace terroir::test
