// What is remembered of files, so that unchanged ones are not hashed again.
#include "runtime/plugin/file_hashes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
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

void change_a_byte(const fs::path& path) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(5000);
  const char byte = static_cast<char>(file.get());
  file.seekp(5000);
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

using CacheOfLargeModel = Folder;

TEST_F(CacheOfLargeModel, NoticesDamageOfFilesItHasChecked) {
  std::vector<std::string> warnings;
  set_log_sink([&warnings](std::string_view line) { warnings.emplace_back(line); });
  const fs::path xml = folder_ / "network.xml", bin = folder_ / "network.bin";
  serialize(network({1, 3, 9, 9}, 256), xml);
  Core core;
  core.set_property(cache_dir((folder_ / "cache").string()));
  const auto results = [&core](CompiledModel compiled) {
    InferRequest request = compiled.create_infer_request();
    const Tensor image = request.get_input_tensor(), scores = request.get_output_tensor();
    const std::vector<float> values = noise(image.get_size(), 11);
    std::copy(values.begin(), values.end(), image.data<float>());
    request.infer();
    return std::vector<float>(scores.data<float>(), scores.data<float>() + scores.get_size());
  };
  const auto both = [&] {
    const std::vector<float> from_path = results(core.compile_model(xml.string(), "CPU"));
    EXPECT_EQ(results(core.compile_model(core.read_model(xml.string()), "CPU")), from_path);
    return from_path;
  };
  settle(bin);
  const std::vector<float> expected = both();
  const std::vector<fs::path> compiled = files(".terroir");
  ASSERT_EQ(compiled.size(), 2U) << "one by the files, one by the graph";
  EXPECT_EQ(files(".seen").size(), 1U) << "the weights; the compiled ones were written a moment ago";
  settle(compiled[0]);
  settle(compiled[1]);
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(files(".seen").size(), 3U);
  EXPECT_EQ(both(), expected);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  for (const fs::path& file : compiled) change_a_byte(file);
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(warnings.size(), 2U);
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(warnings.size(), 2U) << "they were compiled anew and stored";
  // A changed weight is another model, in both ways.
  change_a_byte(bin);
  both();
  EXPECT_EQ(files(".terroir").size(), 4U);
  set_log_sink({});
}

}  // namespace
}  // namespace terroir::plugin
