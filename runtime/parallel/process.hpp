// Which process this is: a child of fork() has a copy of everything but the threads of its parent.
#pragma once

#include <cstdint>

namespace terroir::parallel {

/// A number of the calling process that none of its ancestors has. One system call.
int this_process() noexcept;

/// How many forks led from the process that asked first to this one. No system call.
uint32_t forks() noexcept;

}  // namespace terroir::parallel
