// overflow, aligned_buffer, mapped_file, tensor_view, log
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/overflow.hpp"
#include "ir/base/tensor_view.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

TEST(Overflow, ReportsWhatDoesNotFit) {
  EXPECT_EQ(checked_mul<int64_t>(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_EQ(checked_mul<int64_t>(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul<size_t>(SIZE_MAX, 1), SIZE_MAX);
  EXPECT_EQ(checked_mul<size_t>(SIZE_MAX, 2), std::nullopt);
  EXPECT_EQ(checked_add<int64_t>(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_sub<size_t>(1, 2), std::nullopt);
  EXPECT_EQ(checked_sub<int64_t>(1, 2), -1);
}

TEST(AlignedBuffer, IsAlignedMovableAndHonestAboutItsSize) {
  for (size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{100000}}) {
    AlignedBuffer buffer(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    std::memset(buffer.data(), 0x5a, bytes);
    void* const address = buffer.data();
    AlignedBuffer moved(std::move(buffer));
    EXPECT_EQ(moved.data(), address);
    EXPECT_EQ(buffer.data(), nullptr);  // NOLINT: the moved-from state is part of the contract
    buffer = std::move(moved);
    EXPECT_EQ(buffer.data(), address);
  }
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(AlignedBuffer(10, 4096).data()) % 4096, 0u);
}

TEST(AlignedBuffer, RefusesWhatCannotBeHad) {
  EXPECT_EQ(caught([] { AlignedBuffer buffer(SIZE_MAX - 3); }).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(caught([] { AlignedBuffer buffer(SIZE_MAX / 2); }).code(), ErrorCode::out_of_memory);
}

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(testing::TempDir()) / ("terroir_mapped_file_" + std::to_string(getpid()));
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::filesystem::path dir_;
};

TEST_F(MappedFileTest, ShowsTheBytes) {
  const std::string text = "some bytes";
  std::ofstream(dir_ / "file") << text;
  const auto file = MappedFile::open(dir_ / "file");
  EXPECT_EQ(std::string(file->chars(), file->size()), text);
  EXPECT_EQ(file->path(), dir_ / "file");
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  std::ofstream(dir_ / "empty").flush();
  const MappedFile file(dir_ / "empty");
  EXPECT_EQ(file.size(), 0u);
  EXPECT_EQ(file.data(), nullptr);
}

TEST_F(MappedFileTest, RefusesWhatIsNoFileAndSaysWhy) {
  const Exception missing = caught([&] { MappedFile file(dir_ / "missing"); });
  EXPECT_EQ(missing.code(), ErrorCode::file_not_found);
  EXPECT_NE(std::strstr(missing.what(), "missing': No such file"), nullptr) << missing.what();
  const Exception directory = caught([&] { MappedFile file(dir_); });
  EXPECT_EQ(directory.code(), ErrorCode::file_not_found);
  EXPECT_NE(std::strstr(directory.what(), "it is a directory"), nullptr) << directory.what();
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(std::strstr(caught([&] { MappedFile file(dir_ / "pipe"); }).what(), "not a regular file"), nullptr);
}

TEST(TensorView, CountsElementsAndBytes) {
  EXPECT_EQ(ir::element_count({}), 1);
  EXPECT_EQ(ir::element_count({2, 3, 4}), 24);
  EXPECT_EQ(ir::element_count({INT64_MAX, INT64_MAX, 0}), 0);
  EXPECT_EQ(caught([] { ir::element_count({INT64_MAX, 2}); }).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(caught([] { ir::element_count({2, -1}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(ir::byte_size(element::f32, 3), 12u);
  EXPECT_EQ(ir::byte_size(element::u1, 0), 0u);
  EXPECT_EQ(ir::byte_size(element::u1, 9), 2u);
  EXPECT_EQ(ir::byte_size(element::i4, 3), 2u);
  EXPECT_EQ(ir::byte_size(element::u3, 8), 3u);
  EXPECT_EQ(ir::byte_size(element::u6, 3), 3u);
  EXPECT_EQ(ir::byte_size(element::u1, INT64_MAX), (size_t{1} << 60));
  EXPECT_EQ(caught([] { ir::byte_size(element::i64, INT64_MAX / 4); }).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(caught([] { ir::byte_size(element::dynamic, 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(ir::row_major({2, 3, 4}), (ir::Dims{12, 4, 1}));
  EXPECT_EQ(ir::to_shape({2, 3}), (Shape{2, 3}));
  EXPECT_EQ(ir::to_dims(Shape{2, 3}), (ir::Dims{2, 3}));
}

TEST(TensorView, MutableViewsConvertToConstViews) {
  float data[2] = {1, 2};
  const ir::MutableTensorView writable{element::f32, {2}, data};
  writable.as<float>()[1] = 5;
  const ir::TensorView view = writable;
  EXPECT_EQ(view.as<float>()[1], 5);
  EXPECT_EQ(view.bytes(), 8u);
}

TEST(Log, ParsesCategories) {
  const auto bit = [](LogCategory category) { return static_cast<unsigned>(category); };
  EXPECT_EQ(parse_log_categories(""), bit(LogCategory::warning));
  EXPECT_EQ(parse_log_categories("pass,exec,nonsense"),
            bit(LogCategory::warning) | bit(LogCategory::pass) | bit(LogCategory::exec));
  EXPECT_EQ(parse_log_categories("quiet,dispatch"), bit(LogCategory::dispatch));
  EXPECT_EQ(parse_log_categories("all"), 15u);
}

TEST(Log, WritesWholeLinesFromManyThreadsAndEvaluatesLazily) {
  std::vector<std::string> lines;
  set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  const unsigned before = set_log_categories(static_cast<unsigned>(LogCategory::pass));
  int evaluations = 0;
  TERROIR_LOG(dispatch, ++evaluations);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) TERROIR_LOG(pass, "fold ", 7);
    });
  }
  for (auto& thread : threads) thread.join();
  set_log_categories(before);
  set_log_sink({});
  EXPECT_EQ(evaluations, 0);
  ASSERT_EQ(lines.size(), 200u);
  for (const auto& line : lines) EXPECT_EQ(line, "terroir: pass: fold 7");
}

}  // namespace
}  // namespace terroir
