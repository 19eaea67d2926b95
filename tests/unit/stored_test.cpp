// What compiled models are stored with: hashes, bytes, graphs, files that appear whole.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "ir/base/byte_stream.hpp"
#include "ir/base/file_signature.hpp"
#include "ir/base/hash128.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/pending_file.hpp"
#include "ir/base/zero_pages.hpp"
#include "runtime/plugin/piece_hashes.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

namespace fs = std::filesystem;

std::string counted(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 131 >> 3);
  return text;
}

TEST(Hash128, SeesEveryBitAndTheLength) {
  for (const size_t bytes : {0, 1, 15, 63, 64, 65, 127, 1024, 1025, 2111}) {
    std::string text = counted(bytes);
    std::set<std::string> seen{hash128(text).text()};
    for (size_t i = 0; i < bytes; ++i)
      for (const int bit : {0, 7}) {
        text[i] = static_cast<char>(text[i] ^ (1 << bit));
        EXPECT_TRUE(seen.insert(hash128(text).text()).second) << bytes << ' ' << i << ' ' << bit;
        text[i] = static_cast<char>(text[i] ^ (1 << bit));
      }
    EXPECT_TRUE(seen.insert(hash128(text + '\0').text()).second) << bytes;
    EXPECT_TRUE(seen.insert(hash128(text.data(), bytes, 1).text()).second) << bytes;
  }
}

TEST(Hash128, SeesWhatChangesPlaces) {
  const std::string zeros(4096, '\0');
  std::set<std::string> seen;
  for (size_t i = 0; i < zeros.size(); i += 8) {
    std::string one = zeros;
    one[i] = 1;
    EXPECT_TRUE(seen.insert(hash128(one).text()).second) << i;
  }
}

TEST(Hash128, IsTheSameOnAnyNumberOfThreadsAndAtAnyAddress) {
  const std::string large = counted(3'500'001), small = counted(77);
  const plugin::Piece pieces[] = {
      {large.data(), large.size()}, {small.data(), small.size()}, {nullptr, 0}, {small.data() + 1, small.size() - 1}};
  const auto expected = plugin::hash_pieces(pieces, parallel::Arena(1));
  ASSERT_EQ(expected.size(), 4U);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(plugin::hash_pieces(pieces, parallel::Arena(threads)), expected);
  EXPECT_EQ(expected[3], hash128(small.substr(1)));
  EXPECT_EQ(expected[2], hash128(nullptr, 0));
}

TEST(Hash128, IsTheSameOfPagesThatLeave) {
  const fs::path path = fs::path(testing::TempDir()) / ("terroir_pages" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << counted(5'000'001);
  {
    const MappedFile file(path, MappedFile::Address::for_large_pages);
    const plugin::Piece pieces[] = {{file.chars() + 64, 3'000'000}, {file.chars() + 3'000'064, 1'999'937}};
    const auto expected = plugin::hash_pieces(pieces, parallel::Arena(1));
    for (const int threads : {1, 2})
      EXPECT_EQ(plugin::hash_pieces(pieces, parallel::Arena(threads), plugin::ReadAgain::no), expected);
    EXPECT_EQ(std::string(file.chars(), file.size()), counted(5'000'001)) << "they come back";
  }
  fs::remove(path);
}

TEST(ByteStream, GivesBackWhatWasPut) {
  ByteWriter writer;
  writer.put(int64_t{-5});
  writer.text("text");
  writer.numbers(std::vector<double>{1.5, -2});
  writer.put(uint8_t{1});
  ByteReader reader(writer.bytes().data(), writer.bytes().size());
  EXPECT_EQ(reader.take<int64_t>(), -5);
  EXPECT_EQ(reader.text(), "text");
  EXPECT_EQ(reader.numbers<double>(), (std::vector<double>{1.5, -2}));
  EXPECT_TRUE(reader.flag());
  EXPECT_TRUE(reader.done());
}

TEST(ByteStream, NeverLooksBehindItsEnd) {
  ByteWriter writer;
  writer.count(1'000'000'000);
  const auto over = [&] { return ByteReader(writer.bytes().data(), writer.bytes().size()); };
  for (const auto& read : std::vector<std::function<void()>>{[&] { over().take<int64_t>(); }, [&] { over().text(); },
                                                             [&] { over().numbers<int>(); }, [&] { over().index(7); },
                                                             [&] { over().flag(), over().count(); }})
    EXPECT_EQ(caught(read).code(), ErrorCode::parse_error);
}

TEST(ZeroPages, AreZerosWithAddresses) {
  const ZeroPages pages(10'000'000'000);
  EXPECT_EQ(pages.size(), 10'000'000'000U);
  EXPECT_EQ(pages.data()[9'999'999'999], 0);
  EXPECT_EQ(ZeroPages(0).size(), 0U);
}

TEST(PendingFile, AppearsWhole) {
  const fs::path folder = fs::path(testing::TempDir()) / ("terroir_pending_file" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path path = folder / "file";
  {
    PendingFile given_up(path);
    given_up.write("half", 4);
  }
  EXPECT_TRUE(fs::is_empty(folder));
  PendingFile file(path);
  file.write("whole", 5);
  EXPECT_FALSE(fs::exists(path));
  file.close();
  file.rename();
  EXPECT_EQ(fs::file_size(path), 5U);
  fs::remove_all(folder);
  EXPECT_EQ(caught([&] { PendingFile nowhere(path); }).code(), ErrorCode::file_not_found);
}

TEST(PendingFile, WritesPartsOfAllSizesInOrder) {
  const fs::path path = fs::path(testing::TempDir()) / ("terroir_parts" + std::to_string(getpid()));
  const std::string source = counted(7'000'000);
  std::vector<std::string_view> parts;
  size_t at = 0;
  // More parts than one call takes, none, and some beyond a large page.
  for (size_t i = 0; i < 2500; ++i) parts.push_back(std::string_view(source).substr(at, i % 7)), at += i % 7;
  for (const size_t bytes : {size_t{2'500'000}, size_t{0}, size_t{1}, size_t{70'000}, size_t{4'300'000}})
    parts.push_back(std::string_view(source).substr(at, bytes)), at += bytes;
  ASSERT_LT(at, source.size());
  PendingFile file(path);
  file.write("small", 5);
  file.write(parts);
  file.write({});
  file.write("er", 2);
  file.write(source.data(), 66'000);
  file.write("end", 3);
  file.close();
  file.rename();
  std::ifstream stream(path, std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_TRUE(written == "small" + source.substr(0, at) + "er" + source.substr(0, 66'000) + "end");
  fs::remove(path);
}

TEST(PendingFile, ThatIsOldShowsEveryChange) {
  const fs::path path = fs::path(testing::TempDir()) / ("terroir_old_file" + std::to_string(getpid()));
  for (const bool set_back : {false, true}) {
    PendingFile file(path);
    file.write("whole", 5);
    if (set_back) file.set_time_back();
    file.close();
    file.rename();
    const FileSignature signature = FileSignature::of(path).value();
    EXPECT_EQ(signature.bytes, 5U);
    EXPECT_EQ(signature.time_was_set_back(), set_back);
    EXPECT_FALSE(signature.settled());
    if (!set_back) continue;
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << "W";
    EXPECT_NE(FileSignature::of(path), signature);
    EXPECT_FALSE(FileSignature::of(path)->time_was_set_back());
  }
  fs::remove(path);
}

class FileThatIsThere : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  static void write(const fs::path& path, const std::string& text) {
    PendingFile file(path);
    file.write(text.data(), text.size());
    file.close();
    file.rename();
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const fs::path folder_ = fs::path(testing::TempDir()) / ("terroir_file_there" + std::to_string(getpid()));
};

TEST_F(FileThatIsThere, KeepsItsRights) {
  write(folder_ / "file", "old");
  const auto rights = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(folder_ / "file", rights);
  write(folder_ / "file", "new");
  EXPECT_EQ(read(folder_ / "file"), "new");
  EXPECT_EQ(fs::status(folder_ / "file").permissions(), rights);
}

TEST_F(FileThatIsThere, IsWrittenBehindLinks) {
  fs::create_directories(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/file", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "link_of_link");
  for (const char* text : {"first", "second"}) {
    write(folder_ / "link_of_link", text);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link_of_link"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(read(folder_ / "elsewhere" / "file"), text);
  }
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_EQ(caught([&] { write(folder_ / "circle", "text"); }).code(), ErrorCode::file_not_found);
  EXPECT_TRUE(fs::is_symlink(folder_ / "circle"));
}

TEST_F(FileThatIsThere, StaysAPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // so that nobody waits for one
  write(pipe, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  char text[5] = {};
  EXPECT_EQ(::read(reader, text, 4), 4);
  EXPECT_STREQ(text, "text");
  { PendingFile given_up(pipe); }
  EXPECT_TRUE(fs::is_fifo(pipe));
  close(reader);
}

TEST_F(FileThatIsThere, IsWrittenWhereAProcessHasItOpen) {
  const int file = open((folder_ / "file").c_str(), O_RDWR | O_CREAT, 0600);
  write("/proc/self/fd/" + std::to_string(file), "text");
  char text[5] = {};
  EXPECT_EQ(::read(file, text, 4), 4) << "of the same file, not of another one of this name";
  EXPECT_STREQ(text, "text");
  close(file);
}

}  // namespace
}  // namespace terroir
