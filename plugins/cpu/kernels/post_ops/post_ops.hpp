// What: a chain of elementwise steps over strided rows: the elementwise kernel, and the tail end of the fused ones.
//   Broadcast forms of a binary op are this kernel with one step: same shape = tensor operand; scalar operand; one
//   value per row ([C,1] against [C,n]) = per_channel with ChannelAxis::rows; one row against many = per_channel with
//   ChannelAxis::lanes.
// Aliasing: out may be in. Operands must not overlap out, but the first step's may be out.
// Cost: memory bound but for the transcendental kinds; every element is read and written once per strip of 4096.
// Threads: one caller per region; regions may be split anywhere.
#pragma once

#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct PostOpKernels {
  void (*run)(const PostOpRows& region, const PostOp* ops, int64_t n_ops);
};

const PostOpKernels& post_op_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
