#include "plugins/cpu/tile_program.hpp"
#include "plugins/cpu/rounding.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/error.hpp"

namespace terroir::cpu {

/// Memory of one task and where the registers are for the current tile.
struct TileProgram::Frame {
  alignas(64) char slots[kSlots * kSlotBytes];
  std::array<const void*, kMaxRegisters> where;
  std::array<int64_t, kMaxRegisters> constant;  // the element that a register's whole slot repeats, or -1
  char* slot(const Register& r) { return slots + r.slot * kSlotBytes; }
};

TileProgram::TileProgram(Isa isa, ir::Dims dims)
    : dims_(std::move(dims)), count_(ir::element_count(dims_)), post_(post_op_kernels(isa).run) {}

int TileProgram::add_register(Kind kind, int index, size_t width) {
  registers_.push_back({kind, index, width, {}, {}, kNoSlot});
  return static_cast<int>(registers_.size()) - 1;
}

int TileProgram::add_input(int index, const ir::Dims& dims, size_t width) {
  const int r = add_register(Kind::input, index, width);
  registers_.back().operand = TileOperand(dims, dims_, width);
  return r;
}

int TileProgram::add_constant(const void* value, size_t width) {
  const int r = add_register(Kind::constant, -1, width);
  std::memcpy(registers_.back().value.data(), value, width);
  return r;
}

int TileProgram::add_step(TileFn fn, std::initializer_list<int> operands, size_t width) {
  Step step;
  step.fn = fn;
  step.operands.fill(-1);
  std::copy(operands.begin(), operands.end(), step.operands.begin());
  step.result = add_register(Kind::step, static_cast<int>(steps_.size()), width);
  steps_.push_back(step);
  return step.result;
}

int TileProgram::add_step(const PostOp& op, int x, int operand) {
  Step step;
  step.post = op;
  step.operands.fill(-1);
  step.operands[0] = x;
  step.operands[1] = operand;
  step.result = add_register(Kind::step, static_cast<int>(steps_.size()), sizeof(float));
  steps_.push_back(step);
  return step.result;
}

bool TileProgram::finish(int result) {
  result_ = result;
  TERROIR_ASSERT(!steps_.empty() && steps_.back().result == result, result);
  if (registers_.size() > kMaxRegisters) return false;
  size_t used = 0, widest = 1;
  for (const Register& r : registers_) widest = std::max(widest, r.width);
  tile_ = static_cast<int64_t>(kTileBytes / widest);
  for (Register& r : registers_)
    if (r.kind != Kind::step) r.slot = used++;
  if (used > kSlots) return false;
  std::vector<size_t> last_use(registers_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s)
    for (int operand : steps_[s].operands)
      if (operand >= 0) last_use[static_cast<size_t>(operand)] = s;
  std::vector<size_t> free;
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (free.empty()) free.push_back(used++);
    if (used > kSlots) return false;
    registers_[static_cast<size_t>(steps_[s].result)].slot = free.back();
    free.pop_back();
    for (size_t i = 0; i < steps_[s].operands.size(); ++i) {
      const int operand = steps_[s].operands[i];
      if (operand < 0 ||
          std::find(steps_[s].operands.begin(), steps_[s].operands.begin() + static_cast<std::ptrdiff_t>(i), operand) !=
              steps_[s].operands.begin() + static_cast<std::ptrdiff_t>(i))
        continue;  // the same operand twice
      const Register& r = registers_[static_cast<size_t>(operand)];
      if (r.kind == Kind::step && last_use[static_cast<size_t>(operand)] == s) free.push_back(r.slot);
    }
  }
  return true;
}

void TileProgram::run(const RunArgs& args) const noexcept {
  const int64_t task_elements = 16 * tile_;
  args.arena.parallel_for(ceil_div(count_, task_elements), [&](int64_t task) {
    run_task(args, task * task_elements, std::min(count_, (task + 1) * task_elements));
  });
}

void TileProgram::run_task(const RunArgs& args, int64_t begin, int64_t end) const noexcept {
  Frame frame;
  for (size_t i = 0; i < registers_.size(); ++i) {
    const Register& r = registers_[i];
    frame.constant[i] = -1;
    if (!r.single()) continue;
    fill_elements(r.kind == Kind::constant ? r.value.data() : args.inputs[r.index], r.width, tile_, frame.slot(r));
    frame.where[i] = frame.slot(r);
  }
  for (int64_t at = begin; at < end; at += tile_) run_tile(args, frame, at, std::min(tile_, end - at));
}

void TileProgram::run_tile(const RunArgs& args, Frame& frame, int64_t begin, int64_t n) const noexcept {
  // Loops work on whole units; what is behind the last element is zero, and its results stay in the frame.
  const int64_t padded = round_up(n, kTileUnit);
  for (size_t i = 0; i < registers_.size(); ++i) {
    const Register& r = registers_[i];
    if (r.kind != Kind::input || r.single()) continue;
    const auto* src = static_cast<const char*>(args.inputs[r.index]);
    const size_t bytes = static_cast<size_t>(n) * r.width;
    if (r.operand.whole() && padded == n) {
      frame.where[i] = src + static_cast<size_t>(begin) * r.width;
      continue;
    }
    char* slot = frame.slot(r);
    frame.where[i] = slot;
    if (const int64_t element = r.operand.whole() ? -1 : r.operand.constant_over(begin, n); element >= 0) {
      if (frame.constant[i] != element)
        fill_elements(src + static_cast<size_t>(element) * r.width, r.width, tile_, slot);
      frame.constant[i] = element;
      continue;
    }
    frame.constant[i] = -1;
    if (r.operand.whole())
      std::memcpy(slot, src + static_cast<size_t>(begin) * r.width, bytes);
    else
      r.operand.expand(src, begin, n, slot);
    std::memset(slot + bytes, 0, static_cast<size_t>(padded - n) * r.width);
  }
  for (const Step& step : steps_) {
    const Register& r = registers_[static_cast<size_t>(step.result)];
    char* dst = static_cast<char*>(args.outputs[0]) + static_cast<size_t>(begin) * r.width;
    const bool last = step.result == result_;
    char* out = last && padded == n ? dst : frame.slot(r);
    frame.where[static_cast<size_t>(step.result)] = out;
    std::array<const void*, kMaxOperands> in{};
    for (size_t i = 0; i < in.size(); ++i)
      if (step.operands[i] >= 0) in[i] = frame.where[static_cast<size_t>(step.operands[i])];
    if (step.fn) {
      step.fn(in.data(), out, padded);
    } else {
      PostOp op = step.post;
      if (in[1]) op.operand = static_cast<const float*>(in[1]);
      post_({static_cast<const float*>(in[0]), reinterpret_cast<float*>(out), 1, padded, padded, padded, 0, padded, 0,
             ChannelAxis::lanes},
            &op, 1);
    }
    if (last && out != dst) std::memcpy(dst, out, static_cast<size_t>(n) * r.width);
  }
}

}  // namespace terroir::cpu
