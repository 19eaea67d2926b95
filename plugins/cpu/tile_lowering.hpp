#pragma once
// What: elementwise ops as steps of a tile program: which op of which element type becomes which loops.
// Types: every type of a byte and wider for moves and conversions (but f64 to 8-bit floating point), for arithmetic the
// integers, boolean, f32, and of f64 what needs no function of the C library but pow and fmod.
#include <span>
#include <variant>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/post_op_table.hpp"
#include "plugins/cpu/tile_program.hpp"

namespace terroir::cpu {

/// `none` for types without loops.
NumberType number_type(element::Type type);

/// The first inputs, whose elements the op reads; of ConvertLike the type of the other one is enough.
size_t operands_read(const StepView& op);

/// Extents of operand `input` written with the rank of the result, aligned as the op's attributes say.
ir::Dims aligned_operand(const StepView& op, size_t input);

/// Appends the steps of `op` on the registers of its operands: the register of its result, or why there are none.
std::variant<int, Reject> lower(const StepView& op, std::span<const int> operands, Isa isa, TileProgram& program);

}  // namespace terroir::cpu
