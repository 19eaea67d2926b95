#include "ir/base/pending_file.hpp"

#include <cerrno>
#include <cstring>
#include <random>

#include "ir/base/error.hpp"

namespace terroir {

PendingFile::PendingFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".partial-" + std::to_string(std::random_device()());
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  check();
}

PendingFile::~PendingFile() {
  if (done_) return;
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
