#include "ops/reference/copy.hpp"

#include <cstring>
#include <string>

#include "ir/base/error.hpp"

namespace terroir::ops::reference {

void copy(const ir::EvalContext& ctx) {
  const ir::TensorView& src = ctx.inputs[0];
  const ir::MutableTensorView& dst = ctx.outputs[0];
  if (src.count() != dst.count())
    throw_error(ErrorCode::shape_mismatch, "the output was planned for ", dst.count(), " elements, the input has ",
                src.count());
  if (src.type == element::string) {
    const auto* from = static_cast<const std::string*>(src.data);
    std::copy(from, from + src.count(), static_cast<std::string*>(dst.data));
    return;
  }
  const size_t bytes = ir::byte_size(src.type, src.count());
  if (bytes > 0) std::memmove(dst.data, src.data, bytes);
}

}  // namespace terroir::ops::reference
