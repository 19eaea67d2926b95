// Which process this is: a child of fork() has a copy of everything but the threads of its parent.
#pragma once

namespace terroir::parallel {

/// A number of the calling process that none of its ancestors has. One system call.
int this_process() noexcept;

}  // namespace terroir::parallel
