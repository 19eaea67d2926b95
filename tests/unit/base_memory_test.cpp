// overflow, aligned_buffer, mapped_file, tensor_view, log
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/element_memory.hpp"
#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/overflow.hpp"
#include "ir/base/returned_memory.hpp"
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

TEST(ElementMemory, RefusesInItsOwnWordsWhatNoProcessHas) {
  for (const element::Type type : {element::f32, element::string}) {
    const Exception error = caught([&] { allocate_elements(type, int64_t{1} << 48); });
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << type;
    EXPECT_NE(std::string(error.what()).find("cannot allocate"), std::string::npos) << error.what();
  }
}

TEST(ElementMemory, TextsAreEmptyAtFirst) {
  const auto memory = allocate_elements(element::string, 3);
  auto* const texts = static_cast<std::string*>(memory.get());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(texts[i], "");
  texts[1] = "longer than what lies in the object itself, so that it has memory to give back";
  EXPECT_EQ(allocate_elements(element::string, 0).get(), nullptr);
}

TEST(AlignedBuffer, GivesPagesBack) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's own memory is used";
#endif
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto there = [&](void* address) { return msync(address, page, MS_ASYNC) == 0; };
  for (const size_t alignment : {kPage, size_t{2} << 20}) {
    void* first = nullptr;
    {
      AlignedBuffer buffer(3 << 20, alignment);
      first = buffer.data();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % alignment, 0u);
      std::memset(first, 0x5a, buffer.size());
      AlignedBuffer moved(std::move(buffer));
      EXPECT_TRUE(there(first));
    }
    EXPECT_FALSE(there(first)) << alignment;
  }
}

TEST(ReturnedMemory, IsAlignedAndRefusesWhatCannotBeHad) {
  EXPECT_EQ(allocate_returned(0), nullptr);
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{300000}, size_t{5} << 20}) {
    const std::shared_ptr<void> memory = allocate_returned(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
    std::memset(memory.get(), 0x5a, bytes);
  }
  EXPECT_EQ(caught([] { allocate_returned(SIZE_MAX - 3); }).code(), ErrorCode::out_of_memory);
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

TEST_F(MappedFileTest, LiesWhereLargePagesCan) {
  constexpr size_t kLargePage = size_t{2} << 20;
  for (const size_t bytes : {size_t{10}, kLargePage - 1, kLargePage, kLargePage + 1, 3 * kLargePage + 4096}) {
    std::string text(bytes, ' ');
    for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i / 7 % 23);
    std::ofstream(dir_ / "file") << text;
    std::vector<std::unique_ptr<MappedFile>> files;  // several at once, so that the system cannot have aligned all
    for (int i = 0; i < 5; ++i) {
      files.push_back(std::make_unique<MappedFile>(dir_ / "file", MappedFile::Address::for_large_pages));
      files.push_back(std::make_unique<MappedFile>(dir_ / "file"));
    }
    for (size_t i = 0; i < files.size(); ++i) {
      ASSERT_EQ(files[i]->size(), bytes);
      EXPECT_EQ(std::memcmp(files[i]->data(), text.data(), bytes), 0);
      if (i % 2 == 0 && bytes >= kLargePage) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(files[i]->data()) % kLargePage, 0U);
      }
      EXPECT_EQ(MappedFile::place_of(files[i]->chars() + bytes - 1, 1)->offset, bytes - 1);
    }
  }
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

/// Pages of [begin, begin + count) that are in this process now; SIZE_MAX if the system does not tell. Bit 63 of an
/// entry of its table says "present".
size_t resident_pages(const char* begin, size_t count) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(begin) / page;
  std::vector<uint64_t> entries(count);
  const int table = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);  // wants whole entries, streams read others
  const size_t bytes = count * sizeof(uint64_t);
  const ssize_t got = ::pread(table, entries.data(), bytes, static_cast<off_t>(first * sizeof(uint64_t)));
  ::close(table);
  if (got != static_cast<ssize_t>(bytes)) return SIZE_MAX;
  return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](uint64_t entry) { return entry >> 63; }));
}

TEST_F(MappedFileTest, EvictedPagesLeaveAndComeBack) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::string text(1000 * page, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i / 7 % 23);
  std::ofstream(dir_ / "file") << text;
  const MappedFile file(dir_ / "file");
  EXPECT_EQ(std::memcmp(file.data(), text.data(), text.size()), 0);
  const size_t all = resident_pages(file.chars(), 1000);
  if (all == SIZE_MAX) GTEST_SKIP() << "the system does not say which pages are resident";
  ASSERT_EQ(all, 1000u);
  MappedFile::evict(file.chars() + 100 * page, 400 * page);
  EXPECT_EQ(resident_pages(file.chars() + 100 * page, 400), 0u);
  // A huge page that holds some of them may have gone as a whole, no more.
  const size_t left = resident_pages(file.chars(), 1000);
  EXPECT_GE(left, 400u);
  // What no mapping holds as a whole is left alone.
  MappedFile::evict(file.chars() + 900 * page, 101 * page);
  MappedFile::evict(file.chars() + 600 * page, 0);
  MappedFile::evict(file.chars() + 600 * page + 1, page);
  std::vector<char> own(10 * page, 'x');
  MappedFile::evict(own.data(), own.size());
  EXPECT_EQ(std::count(own.begin(), own.end(), 'x'), static_cast<std::ptrdiff_t>(own.size()));
  EXPECT_EQ(resident_pages(file.chars(), 1000), left);
  EXPECT_EQ(std::memcmp(file.data(), text.data(), text.size()), 0);
}

TEST_F(MappedFileTest, ReadsAndFetchesWhatItHolds) {
  std::string text(300001, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i / 7 % 23);
  std::ofstream(dir_ / "file") << text;
  const MappedFile file(dir_ / "file");
  for (const auto& [begin, bytes] : std::vector<std::pair<size_t, size_t>>{
           {0, 1}, {5, 100}, {0, 300001}, {4097, 200000}, {8192, 65536}, {300000, 1}, {299000, 1001}, {7, 0}}) {
    std::vector<char> copy(bytes + 1, '.');
    file.read(begin, bytes, copy.data());
    EXPECT_EQ(std::string(copy.data(), bytes), text.substr(begin, bytes)) << begin;
    EXPECT_EQ(copy[bytes], '.');
    std::vector<char> scratch(bytes + 1, '.');
    const void* const fetched = MappedFile::fetch(file.chars() + begin, bytes, scratch.data());
    EXPECT_TRUE(fetched == scratch.data() || fetched == file.chars() + begin);
    EXPECT_EQ(std::memcmp(fetched, text.data() + begin, bytes), 0) << begin;
    EXPECT_EQ(scratch[bytes], '.');
  }
}

TEST_F(MappedFileTest, ReadsNothingElse) {
  std::ofstream(dir_ / "file") << std::string(300000, 'a');
  const MappedFile file(dir_ / "file");
  std::vector<char> own(100000, 'o'), to(300000, '.');
  EXPECT_EQ(MappedFile::fetch(own.data(), own.size(), to.data()), own.data());
  EXPECT_EQ(std::count(to.begin(), to.end(), '.'), 300000);
  // What is no longer in the file is not looked for in the mapping, where it would end the process.
  std::filesystem::resize_file(dir_ / "file", 100000);
  EXPECT_EQ(MappedFile::fetch(file.chars() + 50000, 100000, to.data()), file.chars() + 50000);
  const Exception cut = caught([&] { file.read(50000, 50001, to.data()); });
  EXPECT_EQ(cut.code(), ErrorCode::file_not_found);
  EXPECT_NE(std::strstr(cut.what(), "50001 bytes of '"), nullptr) << cut.what();
  file.read(50000, 50000, to.data());
}

TEST_F(MappedFileTest, AReplacedFileStaysMapped) {
  std::ofstream(dir_ / "file") << std::string(100000, 'a');
  const MappedFile file(dir_ / "file");
  std::ofstream(dir_ / "new") << std::string(100000, 'b');
  std::filesystem::rename(dir_ / "new", dir_ / "file");
  MappedFile::evict(file.data(), file.size());
  EXPECT_EQ(std::string(file.chars(), file.size()), std::string(100000, 'a'));
}

TEST(TensorView, CountsElementsAndBytes) {
  EXPECT_EQ(ir::element_count({}), 1);
  EXPECT_EQ(ir::element_count({2, 3, 4}), 24);
  EXPECT_EQ(ir::element_count({2, 3, 4, 5}, 1, 3), 12);
  EXPECT_EQ(ir::element_count({2, 3}, 2, 2), 1);
  EXPECT_EQ(ir::element_count({INT64_MAX, 3, 2}, 1, 3), 6) << "other axes do not count";
  EXPECT_EQ(ir::element_count({INT64_MAX, INT64_MAX, 0}), 0);
  EXPECT_EQ(caught([] { ir::element_count({INT64_MAX, 2}); }).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(caught([] { ir::element_count({2, -1}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(ir::byte_size(element::f32, 3), 12u);
  EXPECT_EQ(ir::byte_size(element::u1, 0), 0u);
  EXPECT_EQ(ir::byte_size(element::u1, 9), 2u);
  EXPECT_EQ(ir::byte_size(element::i4, 3), 2u);
  EXPECT_EQ(ir::byte_size(element::u3, 8), 3u);
  EXPECT_EQ(ir::byte_size(element::u3, 9), 6u);
  EXPECT_EQ(ir::byte_size(element::u6, 3), 3u);
  EXPECT_EQ(ir::byte_size(element::u6, 5), 6u);
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
  EXPECT_EQ(parse_log_categories("all"), 31u);
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
