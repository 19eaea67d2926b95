#include "plugins/cpu/tile_program.hpp"
#include "plugins/cpu/rounding.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/base/error.hpp"

namespace terroir::cpu {

/// Where a register is for the current tile.
struct TileProgram::Place {
  const void* at;
  int64_t row;      // elements that meet the same one of what is there; 0: laid out
  int64_t end;      // of the result: for tiles until there it is `advance` bytes further on
  int64_t advance;  // from tile to tile
  int64_t held;     // Stretch::element of what its slot is full of, or -1
};

/// Memory of one task and where the registers are for the current tile.
struct TileProgram::Frame {
  alignas(64) char slots[kSlots * kSlotBytes];
  std::array<Place, kMaxRegisters> places;
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
  // Tiles that begin where rows do meet the same channels, or a value per row.
  int64_t unit = kTileUnit;
  for (const Register& r : registers_)
    if (count_ > 0 && r.kind == Kind::input && !r.operand.whole() && !r.single())
      if (const int64_t both = std::lcm(unit, r.operand.row()); both <= tile_) unit = both;
  tile_ = tile_ / unit * unit;
  for (Register& r : registers_)
    if (r.kind != Kind::step) r.slot = used++;
  if (used > kSlots) return false;
  std::vector<size_t> last_use(registers_.size(), 0);
  for (size_t s = 0; s < steps_.size(); ++s)
    for (int operand : steps_[s].operands)
      if (operand >= 0) last_use[static_cast<size_t>(operand)] = s;
  for (const Step& step : steps_)
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (step.operands[i] >= 0 && (step.fn || i != 1))
        registers_[static_cast<size_t>(step.operands[i])].may_be_rows = false;
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
    frame.places[i] = {nullptr, 0, 0, 0, -1};
    if (!r.single()) continue;
    fill_elements(r.kind == Kind::constant ? r.value.data() : args.inputs[r.index], r.width, tile_, frame.slot(r));
    frame.places[i].at = frame.slot(r);
  }
  for (int64_t at = begin; at < end; at += tile_) run_tile(args, frame, at, std::min(tile_, end - at));
}

void TileProgram::meet(const Register& r, const void* input, int64_t begin, int64_t n, Place& place,
                       char* slot) const noexcept {
  using Form = TileOperand::Stretch::Form;
  const int64_t padded = round_up(n, kTileUnit);
  if (padded == n && begin + n <= place.end) {
    place.at = static_cast<const char*>(place.at) + place.advance;
    return;
  }
  const auto* src = static_cast<const char*>(input);
  TileOperand::Stretch stretch{Form::contiguous, begin, 0, count_};
  if (!r.operand.whole()) stretch = r.operand.stretch(begin, n);
  const char* const first = src + stretch.element * static_cast<int64_t>(r.width);
  const bool by_rows = stretch.form == Form::rows && r.may_be_rows && stretch.row % kRowUnit == 0;
  if (padded == n && (stretch.form == Form::contiguous || by_rows)) {
    place = {first, stretch.row, stretch.end, tile_ / std::max<int64_t>(1, stretch.row) * static_cast<int64_t>(r.width),
             -1};
    return;
  }
  const bool repeats = stretch.form == Form::constant || stretch.form == Form::periodic;
  const bool every_tile = stretch.form == Form::constant || tile_ % r.operand.row() == 0;
  const bool is_there = repeats && place.held == stretch.element;
  place = {slot, 0, repeats && every_tile ? stretch.end : 0, 0, repeats ? stretch.element : -1};
  if (is_there) return;
  if (stretch.form == Form::constant) return fill_elements(first, r.width, tile_, slot);
  const size_t bytes = static_cast<size_t>(n) * r.width;
  if (stretch.form == Form::contiguous)
    std::memcpy(slot, first, bytes);
  else
    r.operand.expand(src, begin, n, slot);
  std::memset(slot + bytes, 0, static_cast<size_t>(padded - n) * r.width);
}

void TileProgram::run_tile(const RunArgs& args, Frame& frame, int64_t begin, int64_t n) const noexcept {
  // Loops work on whole units; what is behind the last element is zero, and its results stay in the frame.
  const int64_t padded = round_up(n, kTileUnit);
  for (size_t i = 0; i < registers_.size(); ++i) {
    const Register& r = registers_[i];
    if (r.kind == Kind::input && !r.single()) meet(r, args.inputs[r.index], begin, n, frame.places[i], frame.slot(r));
  }
  for (const Step& step : steps_) {
    const Register& r = registers_[static_cast<size_t>(step.result)];
    char* dst = static_cast<char*>(args.outputs[0]) + static_cast<size_t>(begin) * r.width;
    const bool last = step.result == result_;
    char* out = last && padded == n ? dst : frame.slot(r);
    frame.places[static_cast<size_t>(step.result)].at = out;
    std::array<const void*, kMaxOperands> in;  // not cleared first: this file is small, and string instructions slow
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = step.operands[i] >= 0 ? frame.places[static_cast<size_t>(step.operands[i])].at : nullptr;
    if (step.fn) {
      step.fn(in.data(), out, padded);
    } else {
      PostOp op = step.post;
      int64_t row = padded;
      if (in[1]) {
        op.operand = static_cast<const float*>(in[1]);
        if (const int64_t length = frame.places[static_cast<size_t>(step.operands[1])].row; length > 0) {
          op.mode = OperandMode::per_channel;
          row = length;
        }
      }
      post_({static_cast<const float*>(in[0]), reinterpret_cast<float*>(out), padded / row, row, row, row, 0, row, 0,
             ChannelAxis::rows},
            &op, 1);
    }
    if (last && out != dst) std::memcpy(dst, out, static_cast<size_t>(n) * r.width);
  }
}

}  // namespace terroir::cpu
