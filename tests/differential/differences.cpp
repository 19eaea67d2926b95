#include "tests/differential/differences.hpp"

#include <cstring>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

/// Packed elements, a byte for each.
std::vector<uint8_t> elements_in_bytes(const HostTensor& tensor) {
  std::vector<uint8_t> elements(static_cast<size_t>(tensor.view().count()));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = ir::read_bits(static_cast<const uint8_t*>(tensor.view().data), static_cast<int64_t>(i),
                                static_cast<int>(tensor.type().bitwidth()));
  return elements;
}

}  // namespace

std::string difference_in_bits(const HostTensor& a, const HostTensor& b) {
  if (a.type() != b.type()) return concat("element type ", b.type(), " instead of ", a.type());
  if (a.dims() != b.dims()) return concat("shape ", b.dims(), " instead of ", a.dims());
  if (a.type() == element::string) return test::difference(a.view(), b.view(), {0, 0}, -1);
  if (a.view().bytes() == 0 || std::memcmp(a.view().data, b.view().data, a.view().bytes()) == 0) return {};
  const size_t width = a.type().bitwidth() / 8;
  // Bits behind the last packed element may be anything.
  if (width == 0) return elements_in_bytes(a) == elements_in_bytes(b) ? "" : "other bits";
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < a.view().count(); ++i) {
    const auto at = static_cast<size_t>(i) * width;
    if (std::memcmp(static_cast<const char*>(a.view().data) + at, static_cast<const char*>(b.view().data) + at,
                    width) == 0)
      continue;
    if (wrong++ == 0) first = i;
  }
  if (a.type().bitwidth() == 8 && a.type().is_real()) return concat("other bits from element ", first, " on");
  return concat(wrong, " of ", a.view().count(), " elements have other bits, the first is ", first, ": ",
                element_text(b.view(), first), " instead of ", element_text(a.view(), first));
}

std::string difference_in_values(const HostTensor& a, const HostTensor& b) {
  const std::string bits = difference_in_bits(a, b);
  if (bits.empty() || !a.type().is_real() || a.type() != b.type() || a.dims() != b.dims()) return bits;
  return test::difference(a.view(), b.view(), {0, 0}, -1);
}

}  // namespace terroir::test
