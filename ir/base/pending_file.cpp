#include "ir/base/pending_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

#include "ir/base/error.hpp"

namespace terroir {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr size_t kLargePage = size_t{2} << 20, kSmallerPage = kLargePage / 4;
// Three times what copying a large page takes, and what slow ones may take together. Where a host has to find the
// memory of its virtual machine, large pages are ten times as slow as smaller ones, which come from memory in use
// before.
constexpr auto kSlow = std::chrono::milliseconds(1);
constexpr auto kPatience = std::chrono::milliseconds(5);

/// Where a file of this name is, or would be made; empty for what is no file that another one could take the place of:
/// a device, a pipe, what a process has open (/dev/stdout).
fs::path place_of(fs::path path) {
  std::error_code ignored;
  constexpr int kMaxLinks = 40;
  for (int links = 0;; ++links) {
    if (const fs::path folder = fs::canonical(path.parent_path() / ".", ignored); !folder.empty()) {
      if (folder.native().starts_with("/proc/")) return {};
      path = folder / path.filename();
    }
    if (!fs::is_symlink(path, ignored)) break;
    if (links == kMaxLinks) return {};  // opening it says why that cannot be
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) ? fs::path() : path;
}

/// What a file is to whom stays when another one takes its place, as far as this process may see to that.
void take_over_rights(const fs::path& from, const fs::path& to) {
  struct stat before {};
  if (stat(from.c_str(), &before) != 0) return;
  [[maybe_unused]] const bool took_owner = chown(to.c_str(), before.st_uid, before.st_gid) == 0;
  [[maybe_unused]] const bool took_rights = chmod(to.c_str(), before.st_mode & 07777) == 0;
}

}  // namespace

PendingFile::PendingFile(fs::path path)
    : path_(place_of(path)), temporary_(path_), in_place_(path_.empty()), step_(kLargePage) {
  if (in_place_)
    temporary_ = std::move(path);
  else
    temporary_ += ".partial-" + std::to_string(std::random_device()());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail();
  if (!in_place_) take_over_rights(path_, temporary_);
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (done_ || in_place_) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void PendingFile::write(const void* data, size_t size) {
  constexpr size_t kSmall = size_t{1} << 16;
  const std::string_view part(static_cast<const char*>(data), size);
  if (collected_.size() + size > kSmall) return put({&part, 1});
  collected_ += part;
}

void PendingFile::write(std::span<const std::string_view> parts) { put(parts); }

void PendingFile::put(std::span<const std::string_view> parts) {
  std::vector<iovec> left;
  const auto add = [&left](std::string_view part) {
    if (!part.empty()) left.push_back({const_cast<char*>(part.data()), part.size()});
  };
  add(collected_);
  for (const std::string_view part : parts) add(part);
  for (size_t next = 0; next < left.size();) {
    // Whole large pages with each call: a page is as large as what the call that begins it has for it.
    const size_t room = step_ - offset_ % step_;
    size_t end = next, bytes = 0;
    while (end < left.size() && end < next + IOV_MAX && bytes < room) bytes += left[end++].iov_len;
    const size_t beyond = bytes > room ? bytes - room : 0;
    left[end - 1].iov_len -= beyond;
    const auto start = Clock::now();
    const ssize_t written = ::writev(descriptor_, &left[next], static_cast<int>(end - next));
    if (written < 0 && errno != EINTR) fail();
    left[end - 1].iov_len += beyond;
    if (written < 0) continue;
    if (const auto time = Clock::now() - start; time > kSlow && (slow_ += time) > kPatience) step_ = kSmallerPage;
    offset_ += static_cast<size_t>(written);
    auto taken = static_cast<size_t>(written);
    for (; next < end && taken >= left[next].iov_len; ++next) taken -= left[next].iov_len;
    if (taken == 0) continue;
    left[next].iov_base = static_cast<char*>(left[next].iov_base) + taken;
    left[next].iov_len -= taken;
  }
  collected_.clear();
}

void PendingFile::set_time_back() {
  put({});
  constexpr std::time_t kSeconds = 10;
  const timespec times[] = {{0, UTIME_OMIT}, {std::time(nullptr) - kSeconds, 0}};
  static_cast<void>(::futimens(descriptor_, times));
}

void PendingFile::close() {
  put({});
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void PendingFile::rename() {
  if (in_place_) return;
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw_error(ErrorCode::file_not_found, "cannot write '", path_.string(), "': ", error.message());
  done_ = true;
}

void PendingFile::fail() const {
  throw_error(ErrorCode::file_not_found, "cannot write '", temporary_.string(), "': ", std::strerror(errno));
}

}  // namespace terroir
