#pragma once
// What: Col2Im: adds sliding blocks up to an image. Element types: numbers.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

struct Col2ImParams {
  int64_t size[2], kernel[2], strides[2], dilations[2], pads_begin[2];
  int64_t blocks[2];  // rows and columns of blocks
};

void col2im(const ir::EvalContext& ctx, const Col2ImParams& params);

}  // namespace terroir::ops::reference
