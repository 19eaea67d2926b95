#include "ir/base/machine_memory.hpp"

#include <unistd.h>

#include <limits>

#include "ir/base/error.hpp"

namespace terroir::ir {

uint64_t machine_memory() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::numeric_limits<uint64_t>::max();
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

void require_table_fits(const char* what, int64_t count, size_t bytes) {
  if (static_cast<uint64_t>(count) > machine_memory() / 2 / bytes)
    throw_error(ErrorCode::out_of_memory, what, " of ", count,
                " entries takes more than half of this machine's memory");
}

}  // namespace terroir::ir
