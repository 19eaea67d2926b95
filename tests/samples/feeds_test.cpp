// From the words of -i to the elements of tensors.
#include "samples/benchmark_app/feeds.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "samples/common/image.hpp"
#include "samples/common/npy.hpp"

namespace benchmark_app {
namespace {

using terroir::Shape;
using terroir::Tensor;
namespace element = terroir::element;
namespace fs = std::filesystem;

class Feeds : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  template <typename T>
  static std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  std::string write_npy(const std::string& name, const std::string& shape, const std::string& type,
                        const std::string& bytes) const {
    const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    const std::string length{static_cast<char>(header.size()), '\0'};
    return write(name, std::string("\x93NUMPY\x01\x00", 8) + length + header + bytes);
  }

  /// The feeds of a model with these inputs, for the arguments of -i.
  static std::vector<Feed> feeds(const std::vector<std::tuple<std::string, element::Type, std::string>>& ports,
                                 const std::vector<std::string>& arguments, std::vector<ShapeSet> shapes = {}) {
    terroir::ModelBuilder builder;
    std::vector<element::Type> types;
    for (const auto& [name, type, shape] : ports) {
      builder.result(builder.op("ShapeOf", "opset3", {builder.parameter(type, shape, name)}), name + "_out");
      types.push_back(type);
    }
    const auto model = builder.build();
    const Options options;
    const Ports inputs_of = std::as_const(*model).inputs();
    std::vector<Input> inputs = describe_inputs(inputs_of, options, nullptr);
    assign_sources(arguments, inputs_of, inputs);
    if (shapes.empty()) shapes = data_shapes(inputs, inputs_of, options);
    return make_feeds(inputs, types, shapes, 1);
  }
  template <typename T>
  static std::vector<T> values(const Tensor& tensor) {
    return {tensor.data<T>(), tensor.data<T>() + tensor.get_size()};
  }

  const fs::path folder_ = fs::path(testing::TempDir()) /
                           ("feeds_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(Feeds, AreRandomWithoutFiles) {
  const auto made = feeds({{"a", element::f32, "[2,50]"}, {"b", element::u8, "[1,1000]"}}, {"b:random[5..7]"});
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].samples, 2u);
  for (const float value : values<float>(made[0].tensors[0])) EXPECT_TRUE(value >= 0 && value < 1) << value;
  std::vector<int> count(256);
  for (const uint8_t value : values<uint8_t>(made[0].tensors[1])) ++count[value];
  EXPECT_EQ(count[5] + count[6] + count[7], 1000);
  for (const int value : {5, 6, 7}) EXPECT_GT(count[value], 250) << value;
  EXPECT_THROW(feeds({{"b", element::u8, "[1,4]"}}, {"random[0..256]"}), std::runtime_error);
}

TEST_F(Feeds, TakeBytesOfTensorsOrSamples) {
  const std::string whole = write("whole.bin", bytes_of<int32_t>({1, 2, 3, 4}));
  const std::string one = write("one.bin", bytes_of<int32_t>({5, 6}));
  const std::string two = write("two.bin", bytes_of<int32_t>({7, 8}));
  const auto made = feeds({{"ids", element::i32, "[2,2]"}}, {"ids:" + whole + "," + one + "," + two});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(values<int32_t>(made[0].tensors[0]), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(values<int32_t>(made[1].tensors[0]), (std::vector<int32_t>{5, 6, 7, 8}));
  const auto repeated = feeds({{"ids", element::i32, "[2,2]"}}, {one});
  EXPECT_EQ(values<int32_t>(repeated.at(0).tensors[0]), (std::vector<int32_t>{5, 6, 5, 6}));
}

TEST_F(Feeds, TakeArrays) {
  const std::string bytes = bytes_of<float>({1, 2, 3, 4, 5, 6});
  for (const char* shape : {"(2, 3)", "(2,3,)"}) {
    const auto made = feeds({{"x", element::f32, "[2,3]"}}, {write_npy("a.npy", shape, "<f4", bytes)});
    EXPECT_EQ(values<float>(made.at(0).tensors[0]), (std::vector<float>{1, 2, 3, 4, 5, 6})) << shape;
  }
  const std::string sample = write_npy("s.npy", "(3,)", "<f4", bytes.substr(0, 12));
  const auto samples = feeds({{"x", element::f32, "[2,3]"}}, {sample});
  EXPECT_EQ(values<float>(samples.at(0).tensors[0]), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  // It also settles unknown extents.
  const auto sized = feeds({{"x", element::f32, "[?,3]"}}, {write_npy("a.npy", "(2, 3)", "<f4", bytes)});
  EXPECT_EQ(sized.at(0).tensors[0].get_shape(), (Shape{2, 3}));
}

TEST_F(Feeds, TakePicturesAsBlueGreenRed) {
  const samples::Image picture{2, 1, {10, 20, 30, 40, 50, 60}};
  const std::string path = (folder_ / "p.png").string();
  samples::save_png(picture, path);
  const auto first = feeds({{"x", element::f32, "[1,3,1,2]"}}, {path});
  EXPECT_EQ(values<float>(first.at(0).tensors[0]), (std::vector<float>{30, 60, 20, 50, 10, 40}));
  const auto last = feeds({{"x", element::u8, "[1,?,?,3]"}}, {path});
  EXPECT_EQ(values<uint8_t>(last.at(0).tensors[0]), (std::vector<uint8_t>{30, 20, 10, 60, 50, 40}));
}

TEST_F(Feeds, GiveTheSizeOfTheImageInput) {
  const auto made = feeds({{"x", element::f32, "[1,3,4,6]"}, {"info", element::f32, "[2,3]"}}, {"info:image_info"});
  EXPECT_EQ(values<float>(made.at(0).tensors[1]), (std::vector<float>{6, 4, 1, 6, 4, 1}));
}

TEST_F(Feeds, UseEverySetOfShapesAndEveryFileEquallyOften) {
  const std::string a = write("a.bin", "1"), b = write("b.bin", "2"), c = write("c.bin", "3");
  const std::vector<ShapeSet> sets{{Shape{1, 1}}, {Shape{2, 1}}};
  const auto made = feeds({{"x", element::u8, "[?,1]"}}, {a + "," + b + "," + c}, sets);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(values<uint8_t>(made[0].tensors[0]), (std::vector<uint8_t>{'1'}));
  EXPECT_EQ(values<uint8_t>(made[1].tensors[0]), (std::vector<uint8_t>{'2', '3'}));
  EXPECT_EQ(made[1].shape_set, 1u);
  EXPECT_EQ(made[1].samples, 2u);
}

TEST_F(Feeds, NpyFilesThatAreWrongAreRefused) {
  const std::string good = bytes_of<float>({1, 2});
  EXPECT_EQ(samples::load_npy(write_npy("good.npy", "(2,)", "<f4", good)).shape, Shape{2});
  EXPECT_TRUE(samples::load_npy(write_npy("scalar.npy", "()", "<f4", good.substr(0, 4))).shape.empty());
  for (const std::string& path :
       {write("text.npy", "text"), write("empty.npy", ""), write_npy("short.npy", "(3,)", "<f4", good),
        write_npy("big_endian.npy", "(2,)", ">f4", good),
        write_npy("huge.npy", "(4611686018427387904, 4)", "<f4", good),
        write("cut.npy", std::string("\x93NUMPY\x01\x00\xff\x00{", 11)), (folder_ / "none.npy").string()}) {
    try {
      samples::load_npy(path);
      ADD_FAILURE() << path << " was read";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace benchmark_app
