#include "ir/base/pending_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "ir/base/error.hpp"

namespace terroir {
namespace {

namespace fs = std::filesystem;

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

PendingFile::PendingFile(fs::path path) : path_(place_of(path)), temporary_(path_), in_place_(path_.empty()) {
  if (in_place_)
    temporary_ = std::move(path);
  else
    temporary_ += ".partial-" + std::to_string(std::random_device()());
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  check();
  if (!in_place_) take_over_rights(path_, temporary_);
}

PendingFile::~PendingFile() {
  if (done_ || in_place_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void PendingFile::write(const void* data, size_t size) {
  stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  check();
}

void PendingFile::close() {
  stream_.close();
  check();
}

void PendingFile::rename() {
  if (in_place_) return;
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw_error(ErrorCode::file_not_found, "cannot write '", path_.string(), "': ", error.message());
  done_ = true;
}

void PendingFile::check() const {
  if (!stream_)
    throw_error(ErrorCode::file_not_found, "cannot write '", temporary_.string(), "': ", std::strerror(errno));
}

}  // namespace terroir
