#include "ir/base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ir/base/error.hpp"

namespace terroir {

namespace {
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};
}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  // Not blocking: opening a named pipe would wait for its writer before we can refuse it.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    throw_error(ErrorCode::file_not_found, "cannot open '", path.string(), "': ", std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) {
    throw_error(ErrorCode::file_not_found, "cannot read '", path.string(), "': ", std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    throw_error(ErrorCode::file_not_found, "cannot read '", path.string(), "': it is ",
                S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapping == MAP_FAILED) {
    throw_error(ErrorCode::out_of_memory, "cannot map '", path.string(), "' (", size_,
                " bytes): ", std::strerror(errno));
  }
  data_ = mapping;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace terroir
