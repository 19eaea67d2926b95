#include "tests/support/npy.hpp"

#include <gtest/gtest.h>

#include "ir/base/error.hpp"

namespace terroir::test {
namespace {

std::string npy(const std::string& header, const std::string& data, char major = 1) {
  std::string size(1, static_cast<char>(header.size()));
  size.resize(major == 1 ? 2 : 4, '\0');
  return std::string("\x93NUMPY") + major + '\0' + size + header + data;
}

std::string refusal(const std::string& bytes, element::Type type = element::dynamic) {
  try {
    parse_npy(bytes, type);
  } catch (const Exception& error) {
    return error.message();
  }
  return "accepted";
}

TEST(Npy, ReadsEveryVersionAndShape) {
  const std::string eight("\1\0\0\0\2\0\0\0", 8);
  for (char major : {1, 2, 3}) {
    const auto tensor = parse_npy(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }  \n", eight, major));
    EXPECT_EQ(tensor.type(), element::i32);
    EXPECT_EQ(tensor.dims(), (ir::Dims{1, 2}));
    EXPECT_EQ(tensor.as<int32_t>()[1], 2);
  }
  EXPECT_EQ(parse_npy(npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", eight)).dims(), ir::Dims{});
  EXPECT_EQ(parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (8,)}", eight)).type(), element::boolean);
  EXPECT_EQ(parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", "")).dims(), (ir::Dims{0, 3}));
}

TEST(Npy, ReadsTypesNumpyDoesNotHave) {
  const std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}";
  const auto tensor = parse_npy(npy(header, std::string("\xc0\x3f", 2)), element::bf16);
  EXPECT_EQ(tensor.type(), element::bf16);
  EXPECT_EQ(static_cast<float>(tensor.as<bfloat16>()[0]), 1.5f);
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string good = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}";
  EXPECT_EQ(refusal(npy(good, "abcd")), "accepted");
  EXPECT_EQ(refusal(npy(good, "abc")), "3 bytes of elements, expected 4");
  EXPECT_EQ(refusal(npy(good, "abcde")), "5 bytes of elements, expected 4");
  EXPECT_EQ(refusal(npy(good, "abcd"), element::f32), "the elements are i32, expected f32");
  EXPECT_EQ(refusal("no"), "the file ends within its magic");
  EXPECT_EQ(refusal("NUMPY!!!!"), "the file does not begin with \\x93NUMPY");
  EXPECT_EQ(refusal(npy(good, "", 4)), "format version 4 is not supported");
  EXPECT_EQ(refusal(npy(good, "").substr(0, 20)), "the file ends within its header");
  EXPECT_EQ(refusal(npy("[]", "")), "the header is not a dictionary");
  EXPECT_EQ(refusal(npy("{'descr': '<i4'}", "")), "the header has no 'fortran_order'");
  EXPECT_EQ(refusal(npy("{'descr': '<i4', 'fortran_order': True, 'shape': ()}", "abcd")), "only C order is supported");
  EXPECT_EQ(refusal(npy("{'descr': '>i4', 'fortran_order': False, 'shape': ()}", "abcd")),
            "the element type '>i4' is not supported");
  EXPECT_EQ(refusal(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}", "")), "'-1' is not an extent");
  EXPECT_EQ(refusal(npy("{'descr': '<i4', 'descr': '<i4'}", "")), "a second key 'descr'");
}

}  // namespace
}  // namespace terroir::test
