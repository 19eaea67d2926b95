#include "terroir/remote_context.hpp"

#include "ir/base/error.hpp"

namespace terroir::detail {

void throw_no_remote_memory(const char* what) {
  throw_error(ErrorCode::unsupported, what, " needs a device with memory of its own; the devices here compute in main ",
              "memory, which any Tensor is in");
}

}  // namespace terroir::detail
