#include "common/npy.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace samples {
namespace {

using terroir::element::Type;

constexpr size_t kMagicBytes = 6;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw std::runtime_error("cannot read the array '" + path + "': " + reason);
}

/// What follows "'key':" in the header, without leading blanks.
std::string value_at(const std::string& header, const std::string& key, const std::string& path) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at);
  const size_t value = colon == std::string::npos ? colon : header.find_first_not_of(" :", colon);
  if (value == std::string::npos) refuse(path, "its header has no '" + key + "'");
  return header.substr(value);
}

Type type_of(const std::string& header, const std::string& path) {
  using namespace terroir::element;
  static const std::pair<const char*, Type> kTypes[] = {{"<f4", f32}, {"<f2", f16}, {"<f8", f64}, {"|b1", boolean},
                                                        {"|i1", i8},  {"|u1", u8},  {"<i2", i16}, {"<u2", u16},
                                                        {"<i4", i32}, {"<u4", u32}, {"<i8", i64}, {"<u8", u64}};
  const std::string text = value_at(header, "descr", path);
  for (const auto& [spelling, type] : kTypes) {
    if (text.compare(1, std::strlen(spelling), spelling) == 0) return type;
  }
  refuse(path, "elements of type " + text.substr(0, text.find(',')) + " are not known");
}

terroir::Shape shape_of(const std::string& header, const std::string& path) {
  std::string text = value_at(header, "shape", path);
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string::npos) refuse(path, "its header has no shape");
  text = text.substr(1, end - 1);
  if (text.find_first_not_of("0123456789, L") != std::string::npos) {  // L: as Python 2 wrote some integers
    refuse(path, "(" + text + ") is no shape");
  }
  terroir::Shape shape;
  for (size_t at = text.find_first_of("0123456789"); at != std::string::npos;
       at = text.find_first_of("0123456789", at)) {
    const size_t stop = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (stop - at > 18) refuse(path, "its shape is too large");
    shape.push_back(std::stoull(text.substr(at, stop - at)));
    at = stop;
  }
  return shape;
}

size_t byte_count(const Type& type, const terroir::Shape& shape, const std::string& path) {
  size_t bytes = type.size();
  for (const size_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) refuse(path, "its shape is too large");
  }
  return bytes;
}

}  // namespace

NpyArray load_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open the array '" + path + "'");
  const std::vector<char> data{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const size_t length_bytes = data.size() > kMagicBytes && data[kMagicBytes] == 1 ? 2 : 4;
  const size_t text = kMagicBytes + 2 + length_bytes;
  if (data.size() < text || std::memcmp(data.data(), "\x93NUMPY", kMagicBytes) != 0) refuse(path, "it is no .npy file");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(data[kMagicBytes + 2 + i]);
  }
  if (length > data.size() - text) refuse(path, "its header is cut off");
  const std::string header(data.data() + text, length);
  if (value_at(header, "fortran_order", path).compare(0, 5, "False") != 0) {
    refuse(path, "it is in Fortran order; write it with numpy.ascontiguousarray()");
  }
  NpyArray array{type_of(header, path), shape_of(header, path), {}};
  const size_t bytes = byte_count(array.type, array.shape, path);
  const size_t begin = text + length;
  if (data.size() - begin != bytes) {
    refuse(path, array.type.to_string() + array.shape.to_string() + " takes " + std::to_string(bytes) +
                     " bytes, the file has " + std::to_string(data.size() - begin));
  }
  array.bytes.assign(data.begin() + static_cast<std::ptrdiff_t>(begin), data.end());
  return array;
}

}  // namespace samples
