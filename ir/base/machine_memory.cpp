#include "ir/base/machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <limits>

#include "ir/base/control_groups.hpp"
#include "ir/base/error.hpp"

namespace terroir::ir {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

uint64_t memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages <= 0 || page <= 0 ? kUnlimited : static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

/// What `ulimit -v` allows.
uint64_t memory_of_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return limit.rlim_cur;
}

uint64_t memory_of_process() noexcept {
  const uint64_t most = std::min(memory_of_machine(), memory_of_addresses());
  try {
    return std::min(most, memory_of_groups("/"));
  } catch (const std::exception&) {
    return most;
  }
}

}  // namespace

uint64_t machine_memory() noexcept {
  static const uint64_t bytes = memory_of_process();
  return bytes;
}

uint64_t memory_of_groups(const std::filesystem::path& root) {
  const ControlGroups groups = control_groups(root, "memory");
  uint64_t least = kUnlimited;
  const auto lower = [&](const std::vector<std::filesystem::path>& folders, const char* name) {
    for (const std::filesystem::path& folder : folders) {
      std::ifstream file(folder / name);
      uint64_t limit = 0;
      if (file >> limit && limit > 0) least = std::min(least, limit);  // "max" is no number
    }
  };
  lower(groups.v2, "memory.max");
  lower(groups.v1, "memory.limit_in_bytes");
  return least;
}

void require_table_fits(const char* what, int64_t count, size_t bytes) {
  if (static_cast<uint64_t>(count) > machine_memory() / 2 / bytes)
    throw_error(ErrorCode::out_of_memory, what, " of ", count,
                " entries takes more than half of the memory that this process may use: correct the values that its "
                "size comes from");
}

void require_table_fits(const std::string& layer, const char* what, int64_t count, size_t bytes) {
  with_context([&] { return layer; }, [&] { require_table_fits(what, count, bytes); });
}

}  // namespace terroir::ir
