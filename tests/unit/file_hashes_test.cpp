// What is remembered of files, so that unchanged ones are not hashed again.
#include "runtime/plugin/file_hashes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/pending_file.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/small_network.hpp"

namespace terroir::plugin {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void change_a_byte(const fs::path& path, size_t at = 5000) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

/// Until a file written before is old enough to be remembered.
void settle(const fs::path& path) {
  while (!FileSignature::of(path)->settled()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

class Folder : public testing::Test {
 protected:
  Folder() { fs::create_directories(folder_); }
  ~Folder() override { fs::remove_all(folder_); }

  std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
      if (entry.path().extension() == extension) found.push_back(entry.path());
    return found;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("terroir_hashes_" + std::to_string(std::random_device()()));
};

using FileSignatures = Folder;

TEST_F(FileSignatures, TellEveryChange) {
  const fs::path path = folder_ / "file";
  EXPECT_FALSE(FileSignature::of(path));
  write(path, "content");
  const FileSignature first = FileSignature::of(path).value();
  EXPECT_EQ(first.bytes, 7U);
  EXPECT_EQ(FileSignature::of(path), first);
  EXPECT_FALSE(first.settled());
  settle(path);
  EXPECT_EQ(MappedFile(path).signature(), first);
  write(path, "CONTENT");
  const FileSignature changed = FileSignature::of(path).value();
  EXPECT_NE(changed, first);
  // Replaced by another file, with the times of the former: another number, and the time of the change shows.
  write(folder_ / "other", "Content");
  const timespec times[] = {{first.modified / 1'000'000'000, first.modified % 1'000'000'000},
                            {first.modified / 1'000'000'000, first.modified % 1'000'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / "other").c_str(), times, 0), 0);
  fs::rename(folder_ / "other", path);
  const FileSignature replaced = FileSignature::of(path).value();
  EXPECT_EQ(replaced.modified, first.modified);
  EXPECT_NE(replaced, first);
}

using RememberedHashes = Folder;

TEST_F(RememberedHashes, HoldForTheVerySameFile) {
  const parallel::Arena arena(2);
  const FileHashes seen(folder_ / "cache");
  const fs::path path = folder_ / "weights";
  write(path, std::string(3 << 20, 'w'));
  const FileHashes::Content fresh = seen.content_of(path, arena);
  EXPECT_FALSE(fs::exists(folder_ / "cache")) << "a further change might not show";
  settle(path);
  EXPECT_EQ(seen.content_of(path, arena).hash, fresh.hash);
  ASSERT_EQ(files(".seen").size(), 1U);
  EXPECT_EQ(seen.recall(path, fresh.signature), fresh.hash);
  // A hash that reading the file does not give shows that it is not read.
  const Hash128 other{1, 2};
  seen.remember(path, fresh.signature, other);
  EXPECT_EQ(seen.content_of(path, arena).hash, other);
  EXPECT_EQ(seen.content_of(folder_ / "cache" / ".." / "weights", arena).hash, other) << "the same file";
  fs::copy(path, folder_ / "copy");
  EXPECT_EQ(seen.content_of(folder_ / "copy", arena).hash, fresh.hash);
  // What is remembered badly is not used.
  const fs::path entry = files(".seen")[0];
  const std::string good = read(entry);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    write(entry, bad);
    EXPECT_EQ(seen.recall(path, fresh.signature), std::nullopt) << at;
    write(entry, good.substr(0, at));
    EXPECT_EQ(seen.recall(path, fresh.signature), std::nullopt) << at;
  }
  write(entry, good);
  EXPECT_EQ(seen.recall(path, fresh.signature), other);
  change_a_byte(path);
  const Hash128 changed = seen.content_of(path, arena).hash;
  EXPECT_NE(changed, other);
  EXPECT_NE(changed, fresh.hash);
  change_a_byte(path);
  EXPECT_EQ(seen.content_of(path, arena).hash, fresh.hash);
}

TEST_F(RememberedHashes, OfFilesThatTheirWriterHasRead) {
  const parallel::Arena arena(1);
  const FileHashes seen(folder_ / "cache");
  const fs::path path = folder_ / "compiled";
  const Hash128 other{1, 2};  // see above
  const std::string content(2 << 20, 'c');
  for (const bool set_back : {false, true}) {
    PendingFile file(path);
    file.write(content.data(), content.size());
    if (set_back) file.set_time_back();
    file.close();
    file.rename();
    const FileSignature signature = FileSignature::of(path).value();
    seen.remember_written(path, signature, other);
    EXPECT_EQ(seen.recall(path, signature), set_back ? std::optional(other) : std::nullopt);
  }
  const fs::path entry = files(".seen").at(0);
  const std::string good = read(entry);
  change_a_byte(path);
  EXPECT_NE(seen.content_of(path, arena).hash, other) << "although it was written a moment ago";
  EXPECT_EQ(read(entry), good) << "and a further change might not show";

  // Of another run of the system, which may have ended before the disk had the file.
  const FileSignature changed = FileSignature::of(path).value();
  std::string bad = good;
  std::memcpy(&bad[16], &changed, sizeof changed);
  const auto sealed = [](std::string text) {
    const Hash128 check = hash128(text.data(), 88);
    std::memcpy(&text[88], &check, sizeof check);
    return text;
  };
  write(entry, sealed(bad));
  EXPECT_EQ(seen.recall(path, changed), other) << "such entries are read";
  bad[80] = static_cast<char>(bad[80] ^ 1);
  write(entry, sealed(bad));
  EXPECT_EQ(seen.recall(path, changed), std::nullopt);
}

TEST_F(RememberedHashes, NotOfSmallFilesNorWhereNothingCanBeWritten) {
  const parallel::Arena arena(1);
  write(folder_ / "small", "few bytes");
  write(folder_ / "large", std::string(2 << 20, 'l'));
  write(folder_ / "no_folder", "");
  settle(folder_ / "no_folder");
  const FileHashes seen(folder_ / "cache"), nowhere(folder_ / "no_folder");
  const Hash128 small = seen.content_of(folder_ / "small", arena).hash;
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
  EXPECT_EQ(nowhere.content_of(folder_ / "small", arena).hash, small);
  EXPECT_EQ(nowhere.content_of(folder_ / "large", arena).hash, seen.content_of(folder_ / "large", arena).hash);
  EXPECT_EQ(caught([&] { seen.content_of(folder_ / "missing", arena); }).code(), ErrorCode::file_not_found);
}

class CacheOfLargeModel : public Folder {
 protected:
  CacheOfLargeModel() {
    set_log_sink([this](std::string_view line) { warnings_.emplace_back(line); });
    serialize(network({1, 3, 9, 9}, 256), xml_);
    core_.set_property(cache_dir((folder_ / "cache").string()));
  }
  ~CacheOfLargeModel() override { set_log_sink({}); }

  static std::vector<float> results(CompiledModel compiled) {
    InferRequest request = compiled.create_infer_request();
    const Tensor image = request.get_input_tensor(), scores = request.get_output_tensor();
    const std::vector<float> values = noise(image.get_size(), 11);
    std::copy(values.begin(), values.end(), image.data<float>());
    request.infer();
    return std::vector<float>(scores.data<float>(), scores.data<float>() + scores.get_size());
  }
  std::vector<float> both() {
    const std::vector<float> from_path = results(core_.compile_model(xml_.string(), "CPU"));
    EXPECT_EQ(results(core_.compile_model(core_.read_model(xml_.string()), "CPU")), from_path);
    return from_path;
  }

  const fs::path xml_ = folder_ / "network.xml", bin_ = folder_ / "network.bin";
  Core core_;
  std::vector<std::string> warnings_;
};

TEST_F(CacheOfLargeModel, NoticesDamageOfFilesItHasChecked) {
  settle(bin_);
  const std::vector<float> expected = both();
  const std::vector<fs::path> compiled = files(".terroir");
  ASSERT_EQ(compiled.size(), 2U) << "one by the files, one by the graph";
  EXPECT_EQ(files(".seen").size(), 3U) << "the weights, and the compiled ones, by who wrote them";
  EXPECT_EQ(both(), expected);
  settle(compiled[0]);
  settle(compiled[1]);
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(files(".seen").size(), 3U);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  for (const fs::path& file : compiled) change_a_byte(file);
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(warnings_.size(), 2U);
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(warnings_.size(), 2U) << "they were compiled anew and stored";
  // A changed weight is another model, in both ways.
  change_a_byte(bin_);
  both();
  EXPECT_EQ(files(".terroir").size(), 4U);
}

TEST_F(CacheOfLargeModel, NoticesDamageOfWhatItHasJustWritten) {
  const auto start = [&] { return core_.compile_model(xml_.string(), "CPU"); };
  const std::vector<float> expected = results(start());
  ASSERT_EQ(files(".terroir").size(), 1U);
  const fs::path file = files(".terroir")[0];
  ASSERT_TRUE(start().get_property(loaded_from_cache));
  const size_t bytes = fs::file_size(file);
  size_t round = 0;
  // Letters, description, the first and the last weights.
  for (const size_t at : {size_t{3}, size_t{100}, bytes / 3, bytes - 200}) {
    for (const bool hides : {false, true}) {
      const FileSignature before = FileSignature::of(file).value();
      if (hides) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // clocks of file systems are coarse
      change_a_byte(file, at);
      if (hides) {  // the time of modification is what it was; that of the change is not
        const timespec time = {before.modified / 1'000'000'000, before.modified % 1'000'000'000};
        const timespec times[] = {time, time};
        ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
      }
      EXPECT_FALSE(start().get_property(loaded_from_cache)) << at;
      EXPECT_EQ(warnings_.size(), ++round);
      EXPECT_EQ(results(start()), expected) << "it was compiled anew and stored";
      EXPECT_TRUE(start().get_property(loaded_from_cache));
      EXPECT_EQ(warnings_.size(), round);
    }
  }
  fs::resize_file(file, bytes / 2);
  EXPECT_EQ(results(start()), expected);
  EXPECT_EQ(warnings_.size(), ++round);
}

}  // namespace
}  // namespace terroir::plugin
