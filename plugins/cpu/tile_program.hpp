#pragma once
// What: TileProgram, elementwise steps over one shape, run tile by tile: the values between two steps stay in the L1
// cache, so memory is read and written once however many steps there are.
// Shapes: operands broadcast to the result by numpy's rule. Those of which a tile meets a piece as it lies in memory
// are read in place, and so are those of f32 steps with a value per channel block or pixel. Others are laid out, which
// costs a pass over L1: once for all tiles in a row that meet the same, such as channels of a block. Threads: slices of
// the flat result; their number depends on its size alone. Aliasing: the result may be an operand of its own shape
// whose elements are as wide.
#include <array>
#include <initializer_list>
#include <vector>

#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/kernels/typed/typed.hpp"
#include "plugins/cpu/tile_operand.hpp"

namespace terroir::cpu {

class TileProgram {
 public:
  /// For a result of these extents, in the order of memory.
  TileProgram(Isa isa, ir::Dims dims);

  // A register holds the value of an operand, a constant or a step. Elements are `width` bytes wide.
  int add_input(int index, const ir::Dims& dims, size_t width);
  int add_constant(const void* value, size_t width);
  int add_step(TileFn fn, std::initializer_list<int> operands, size_t width);
  /// An f32 step on register x; `operand` is a register for steps with a tensor operand, else -1.
  int add_step(const PostOp& op, int x, int operand = -1);

  /// Gives every register its place. False: too many values are alive at once, or there are too many registers.
  bool finish(int result);

  void run(const RunArgs& args) const noexcept;

 private:
  static constexpr size_t kMaxOperands = 6;
  static constexpr size_t kTileBytes = 4096;  // of the widest elements
  static constexpr int64_t kRowUnit = 8;      // shorter rows cost more than to lay them out
  static constexpr size_t kMaxRegisters = 64, kSlots = 24, kNoSlot = kSlots;
  // Not a whole number of pages: else equal places of all slots would compete for the same lines of the cache.
  static constexpr size_t kSlotBytes = kTileBytes + 64;

  enum class Kind { input, constant, step };
  struct Register {
    Kind kind;
    int index;
    size_t width;
    TileOperand operand;
    std::array<char, 8> value{};
    size_t slot = kNoSlot;
    bool may_be_rows = true;  // all steps that read it take one value per row
    bool single() const { return kind == Kind::constant || (kind == Kind::input && operand.single()); }
  };
  struct Step {
    TileFn fn = nullptr;  // null: post
    PostOp post;
    std::array<int, kMaxOperands> operands;
    int result = 0;
  };
  struct Place;
  struct Frame;

  void run_task(const RunArgs& args, int64_t begin, int64_t end) const noexcept;
  void meet(const Register& r, const void* input, int64_t begin, int64_t n, Place& place, char* slot) const noexcept;
  void run_tile(const RunArgs& args, Frame& frame, int64_t begin, int64_t n) const noexcept;
  int add_register(Kind kind, int index, size_t width);

  ir::Dims dims_;
  int64_t count_;
  decltype(PostOpKernels::run) post_;
  std::vector<Register> registers_;
  std::vector<Step> steps_;
  int result_ = -1;
  int64_t tile_ = 0;  // elements
};

}  // namespace terroir::cpu
