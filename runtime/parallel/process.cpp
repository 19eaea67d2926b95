#include "runtime/parallel/process.hpp"

#include <unistd.h>

namespace terroir::parallel {

int this_process() noexcept { return getpid(); }

}  // namespace terroir::parallel
