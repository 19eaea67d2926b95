// RNN, GRU and LSTM cells and their sequences in f32: products with packed weights, then the gates.
// Layouts: plain. How: the products of the input of all times are one matrix product (of many times, where those of all
// would be too much memory); then each step multiplies the states of the rows that still run by R and computes the
// gates; where R leaves L2, one step takes its columns from the first to the last and the next one backwards. Rows are
// kept in order of falling length, so that those that still run are the first ones. Weights that are constant are
// packed once, others into scratch per run. Threads: directions and groups of rows run through all steps by themselves;
// where these are too few, every step is cut into ranges of hidden units. Every sum is one chain of multiply-adds over
// ascending k, and gates are elementwise, so neither shows in the result. Edge cases: lengths outside of [0, T] are an
// Exception, as in the reference.
#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/recurrent/recurrent.hpp"
#include "plugins/cpu/nodes/recurrent_weights.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Parts of scratch begin at cache lines.
int64_t whole_lines(int64_t floats) { return ceil_div(floats, 16) * 16; }

GateActivation for_kernels(const ops::reference::GateActivation& activation) {
  using Kind = ops::reference::GateActivation::Kind;
  const auto function = [&] {
    switch (activation.kind) {
      case Kind::sigmoid:
        return GateFunction::sigmoid;
      case Kind::tanh:
        return GateFunction::tanh;
      case Kind::relu:
        return GateFunction::relu;
      default:
        return GateFunction::hard_sigmoid;
    }
  };
  return {function(), activation.alpha, activation.beta};
}

/// How the work is shared out.
struct Shares {
  int64_t row_groups = 1;   // of the batch; each runs through all steps for itself
  int64_t unit_ranges = 1;  // of the blocks of hidden units; more than one: threads meet after each step
};

/// Where things are in one run.
struct Places {
  const float* x;
  const float *w, *r, *b, *p;
  float *own_w, *own_r, *own_b, *own_p;  // scratch for those that are no constants
  float* y;                              // all states, or null
  float *last_h, *last_c;
  float* projected;               // [batch][chunk][directions * width]
  float* hidden[2];               // [direction][batch][size]
  float *cell, *update, *damped;  // the same
  float* product;                 // [direction][batch][first_width]
  float* gemm;                    // by task
  int64_t gemm_floats;
  int64_t* rows;     // by row: item of the batch
  int64_t* lengths;  // by row, falling
};

class RecurrentExecutor final : public Executor {
 public:
  explicit RecurrentExecutor(const NodeContext& context)
      : matmul_(matmul_kernels(context.isa)),
        kernels_(recurrent_kernels(context.isa)),
        isa_(context.isa),
        s_(context, matmul_.panel),
        pack_w_(s_, matmul_, false),
        pack_r_(s_, matmul_, true) {
    const auto constant = [&](int port) { return port < 0 ? nullptr : context.constants[static_cast<size_t>(port)]; };
    if (const ir::Constant* w = constant(s_.ports.w)) w_ = context.weights.get(*w, pack_w_.packing());
    if (const ir::Constant* r = constant(s_.ports.r)) r_ = context.weights.get(*r, pack_r_.packing());
    if (s_.ports.b < 0 || constant(s_.ports.b)) {
      biases_.resize(static_cast<size_t>(s_.b_floats()));
      lay_out_biases(s_, s_.ports.b < 0 ? nullptr : constant(s_.ports.b)->view.as<float>(), biases_.data());
    }
    if (const ir::Constant* p = constant(s_.ports.p)) {
      peepholes_.resize(static_cast<size_t>(s_.p_floats()));
      lay_out_peepholes(s_, p->view.as<float>(), peepholes_.data());
    }
    if (s_.sequence) lengths_type_ = context.inputs[static_cast<size_t>(s_.ports.lengths)].type;
    const auto activations = ops::reference::activations_of(s_.params);
    GateActivation* const functions[] = {&gates_.f, &gates_.g, &gates_.h};
    for (size_t i = 0; i < activations.size(); ++i) *functions[i] = for_kernels(activations[i]);
    gates_.clip = static_cast<float>(s_.params.clip);
    gates_.input_forget = s_.params.input_forget;
    gates_.panel = s_.panel;
    gates_.x_block = s_.gates * s_.panel;
    gates_.h_block = s_.first_gates * s_.panel;
    gates_.peephole_stride = s_.padded();
    // More products of the input than this leave the caches, and in the end the memory.
    constexpr int64_t kMostBytes = int64_t{1} << 25;
    const int64_t step_bytes = s_.batch * s_.directions * s_.width() * static_cast<int64_t>(sizeof(float));
    chunk_ = std::min(s_.times, std::max(matmul_.tile_m, kMostBytes / step_bytes));
    switch (s_.params.kind) {
      case CellKind::rnn:
        steps_[0] = kernels_.rnn;
        break;
      case CellKind::lstm:
        steps_[0] = kernels_.lstm;
        break;
      default:
        steps_[0] = s_.resets_before() ? kernels_.gru_reset : kernels_.gru;
        if (s_.resets_before()) steps_[1] = kernels_.gru_update;
    }
  }

  void run(const RunArgs& args) const override {
    Places at{};
    place(static_cast<float*>(args.scratch), args.arena.threads(), at);
    sort_rows(args, at);
    bind(args, at);
    const Shares shares = shares_of(args.arena.threads());
    const int64_t groups = s_.directions * shares.row_groups;
    args.arena.parallel_for(groups, [&](int64_t group) { begin_group(args, at, shares, group); });
    for (int64_t first = 0; first < at.lengths[0]; first += chunk_) {
      if (s_.sequence) project(args, at, first);
      run_steps(args, at, shares, first, std::min(first + chunk_, at.lengths[0]));
    }
  }

  size_t scratch_bytes(int threads) const override {
    Places at{};
    return static_cast<size_t>(place(nullptr, threads, at)) * sizeof(float);
  }

  std::string kernel_name() const override {
    const char* kind = s_.params.kind == CellKind::rnn ? "rnn" : s_.params.kind == CellKind::gru ? "gru" : "lstm";
    return concat("f32_", kind, s_.sequence ? "_sequence" : "_cell", w_ && r_ ? "_packed" : "", "__", isa_name(isa_));
  }

 private:
  // ---- how the work is shared out

  Shares shares_of(int64_t threads) const {
    Shares shares;
    const int64_t wanted = ceil_div(threads, s_.directions);
    if (wanted == 1) return shares;
    const int64_t r_bytes = s_.width() * s_.size * static_cast<int64_t>(sizeof(float));
    // Weights that the caches of a core hold may be read by every thread, for its own rows. Others are shared out.
    if (r_bytes <= cache_sizes().l2) shares.row_groups = std::clamp<int64_t>(s_.batch / matmul_.tile_m, 1, wanted);
    const int64_t per_group = ceil_div(wanted, shares.row_groups);
    // Threads meet after each step, for about a microsecond: it has to be worth that. So many bytes are read from the
    // second cache in two.
    constexpr int64_t kBytesOfRange = 1 << 18;
    const int64_t work = r_bytes * ceil_div(s_.batch, kRowsPerRead);
    shares.unit_ranges = std::min({per_group, s_.blocks, std::max<int64_t>(1, work / kBytesOfRange)});
    return shares;
  }
  // As many rows take about as long as reading the weights for one.
  static constexpr int64_t kRowsPerRead = 4;

  /// Weights that L2 does not hold are read to and fro: a step begins with those that the last one has left there.
  int64_t blocks_of_piece(int64_t blocks, int64_t gates) const {
    const int64_t block_bytes = gates * s_.panel * s_.size * static_cast<int64_t>(sizeof(float));
    const int64_t l2 = cache_sizes().l2;
    return blocks * block_bytes <= l2 / 2 ? blocks : std::max<int64_t>(1, l2 / 8 / block_bytes);
  }

  int64_t row_begin(const Shares& shares, int64_t group) const { return s_.batch * group / shares.row_groups; }

  struct ProjectionSlices {
    bool rows;
    int64_t count, units;
  };
  ProjectionSlices projection_slices(int64_t threads) const {
    const int64_t row_units = ceil_div(s_.batch * s_.times, matmul_.tile_m);
    const int64_t panels = s_.directions * s_.blocks * s_.gates;
    const bool by_rows = panels < 4 * threads && panels < row_units;
    const int64_t units = by_rows ? row_units : panels;
    return {by_rows, std::min(threads, units), units};
  }

  // ---- memory

  /// Cuts scratch into its parts; their floats in all.
  int64_t place(float* scratch, int64_t threads, Places& at) const {
    int64_t used = 0;
    const auto take = [&](int64_t floats) {
      float* part = scratch == nullptr ? nullptr : scratch + used;
      used += whole_lines(floats);
      return part;
    };
    if (!w_) at.own_w = take(s_.w_floats());
    if (!r_) at.own_r = take(s_.r_floats());
    if (biases_.empty()) at.own_b = take(s_.b_floats());
    if (peepholes_.empty() && s_.ports.p >= 0) at.own_p = take(s_.p_floats());
    const int64_t states = s_.directions * s_.batch * s_.size;
    at.hidden[0] = take(states);
    at.hidden[1] = take(states);
    if (s_.params.kind == CellKind::lstm) at.cell = take(states);
    if (s_.resets_before()) {
      at.update = take(states);
      at.damped = take(states);
    }
    at.projected = take(s_.batch * chunk_ * s_.directions * s_.width());
    at.product = take(s_.directions * s_.batch * s_.first_width());
    at.rows = reinterpret_cast<int64_t*>(take(2 * s_.batch));
    at.lengths = reinterpret_cast<int64_t*>(take(2 * s_.batch));
    const Shares shares = shares_of(threads);
    const int64_t tasks =
        std::max(s_.directions * shares.row_groups * shares.unit_ranges, projection_slices(threads).count);
    at.gemm_floats =
        whole_lines(std::max({matmul_.scratch_floats(s_.batch * s_.times, s_.inputs),
                              matmul_.scratch_floats(s_.batch, s_.inputs), matmul_.scratch_floats(s_.batch, s_.size)}));
    at.gemm = take(tasks * at.gemm_floats);
    return used;
  }

  const float* input(const RunArgs& args, int port) const {
    return static_cast<const float*>(args.inputs[static_cast<size_t>(port)]);
  }

  /// Pointers to operands; those that are no constants are packed first.
  void bind(const RunArgs& args, Places& at) const noexcept {
    at.x = input(args, s_.ports.x);
    at.y = s_.sequence ? static_cast<float*>(args.outputs[0]) : nullptr;
    at.last_h = static_cast<float*>(args.outputs[s_.sequence ? 1 : 0]);
    at.last_c = s_.ports.c < 0 ? nullptr : static_cast<float*>(args.outputs[s_.sequence ? 2 : 1]);
    const auto packed = [&](const PackGates& packer, int port, float* own) {
      const float* weights = input(args, port);
      args.arena.parallel_for(packer.pieces(), [&](int64_t i) { packer(weights, own, i); });
      return own;
    };
    at.w = w_ ? w_->as<float>() : packed(pack_w_, s_.ports.w, at.own_w);
    at.r = r_ ? r_->as<float>() : packed(pack_r_, s_.ports.r, at.own_r);
    if (biases_.empty()) lay_out_biases(s_, input(args, s_.ports.b), at.own_b);
    at.b = biases_.empty() ? at.own_b : biases_.data();
    if (s_.ports.p < 0) return;
    if (peepholes_.empty()) lay_out_peepholes(s_, input(args, s_.ports.p), at.own_p);
    at.p = peepholes_.empty() ? at.own_p : peepholes_.data();
  }

  /// Rows by falling length, equal ones in the order of the batch.
  void sort_rows(const RunArgs& args, const Places& at) const {
    const auto length = [&](int64_t n) -> int64_t {
      if (!s_.sequence) return 1;
      const void* lengths = args.inputs[static_cast<size_t>(s_.ports.lengths)];
      return lengths_type_ == element::i64 ? static_cast<const int64_t*>(lengths)[n]
                                           : static_cast<const int32_t*>(lengths)[n];
    };
    for (int64_t n = 0; n < s_.batch; ++n) {
      at.rows[n] = n;
      if (length(n) < 0 || length(n) > s_.times)
        throw_error(ErrorCode::invalid_argument, "sequence_lengths must be in [0, ", s_.times, "], got ", length(n));
    }
    std::sort(at.rows, at.rows + s_.batch,
              [&](int64_t a, int64_t b) { return length(a) != length(b) ? length(a) > length(b) : a < b; });
    for (int64_t row = 0; row < s_.batch; ++row) at.lengths[row] = length(at.rows[row]);
  }

  // ---- the products of the input

  GemmArgs projection(const Places& at) const {
    GemmArgs gemm;
    gemm.a = at.x;
    gemm.lda = gemm.k = s_.inputs;
    gemm.b = at.w;
    gemm.c = at.projected;
    gemm.n = gemm.ldc = s_.directions * s_.width();
    gemm.bias = at.b;
    return gemm;
  }

  /// For the steps from `first` on, up to a chunk of them.
  void project(const RunArgs& args, const Places& at, int64_t first) const noexcept {
    if (chunk_ < s_.times) return project_items(args, at, first);
    const ProjectionSlices slices = projection_slices(args.arena.threads());
    const int64_t rows = s_.batch * s_.times, panels = s_.directions * s_.blocks * s_.gates;
    args.arena.parallel_for(slices.count, [&](int64_t slice) {
      GemmArgs gemm = projection(at);
      gemm.scratch = at.gemm + slice * at.gemm_floats;
      const int64_t begin = slices.units * slice / slices.count, end = slices.units * (slice + 1) / slices.count;
      if (slices.rows) {
        matmul_.gemm(gemm, begin * matmul_.tile_m, std::min(rows, end * matmul_.tile_m), 0, panels);
      } else {
        matmul_.gemm(gemm, 0, rows, begin, end);
      }
    });
  }

  /// The same for each item of the batch and direction: of their own times, where lengths differ.
  void project_items(const RunArgs& args, const Places& at, int64_t first) const noexcept {
    const int64_t panels = s_.blocks * s_.gates, ranges = std::min<int64_t>(panels, args.arena.threads());
    const int64_t units = s_.batch * s_.directions * ranges, slices = projection_slices(args.arena.threads()).count;
    args.arena.parallel_for(slices, [&](int64_t slice) {
      GemmArgs gemm = projection(at);
      gemm.scratch = at.gemm + slice * at.gemm_floats;
      for (int64_t unit = units * slice / slices; unit < units * (slice + 1) / slices; ++unit) {
        const int64_t range = unit % ranges, direction = unit / ranges % s_.directions;
        const int64_t row = unit / ranges / s_.directions, item = at.rows[row];
        gemm.a = at.x + (item * s_.times + first_time(at, row, direction, first)) * s_.inputs;
        gemm.c = at.projected + item * chunk_ * gemm.ldc;
        matmul_.gemm(gemm, 0, std::min(chunk_, at.lengths[row] - first), direction * panels + panels * range / ranges,
                     direction * panels + panels * (range + 1) / ranges);
      }
    });
  }

  /// The first of the times whose products are there, for the steps from `first` on.
  int64_t first_time(const Places& at, int64_t row, int64_t direction, int64_t first) const noexcept {
    if (chunk_ == s_.times) return 0;
    return s_.backwards(direction) ? std::max<int64_t>(0, at.lengths[row] - first - chunk_) : first;
  }

  // ---- steps

  /// Initial states, and zeros behind the ends of sequences.
  void begin_group(const RunArgs& args, const Places& at, const Shares& shares, int64_t task) const noexcept {
    const int64_t direction = task / shares.row_groups, group = task % shares.row_groups;
    const auto bytes = static_cast<size_t>(s_.size) * sizeof(float);
    for (int64_t row = row_begin(shares, group); row < row_begin(shares, group + 1); ++row) {
      const int64_t from = at.rows[row] * s_.directions + direction, to = direction * s_.batch + row;
      const bool runs = at.lengths[row] > 0, empty = !runs && s_.times > 0;
      const auto copy = [&](int port, float* state, float* last) {
        float* into = runs ? state + to * s_.size : last + from * s_.size;
        if (empty)
          std::memset(into, 0, bytes);
        else
          std::memcpy(into, input(args, port) + from * s_.size, bytes);
      };
      copy(s_.ports.h, at.hidden[0], at.last_h);
      if (s_.ports.c >= 0) copy(s_.ports.c, at.cell, at.last_c);
      if (at.y != nullptr)
        std::fill_n(at.y + (from * s_.times + at.lengths[row]) * s_.size, (s_.times - at.lengths[row]) * s_.size, 0.0f);
    }
  }

  void run_steps(const RunArgs& args, const Places& at, const Shares& shares, int64_t first,
                 int64_t last) const noexcept {
    const int64_t groups = s_.directions * shares.row_groups, phases = steps_[1] == nullptr ? 1 : 2;
    if (shares.unit_ranges == 1) {
      args.arena.parallel_for(groups, [&](int64_t group) {
        for (int64_t i = first; i < last; ++i)
          for (int64_t phase = 0; phase < phases; ++phase) step(at, shares, group, 0, i, phase, group);
      });
      return;
    }
    for (int64_t i = first; i < last; ++i)
      for (int64_t phase = 0; phase < phases; ++phase)
        args.arena.parallel_for(groups * shares.unit_ranges, [&](int64_t task) {
          step(at, shares, task / shares.unit_ranges, task % shares.unit_ranges, i, phase, task);
        });
  }

  /// Step i of a group of rows, for one range of hidden units.
  void step(const Places& at, const Shares& shares, int64_t task, int64_t range, int64_t i, int64_t phase,
            int64_t worker) const noexcept {
    const int64_t direction = task / shares.row_groups, group = task % shares.row_groups;
    const int64_t begin = row_begin(shares, group);
    int64_t end = row_begin(shares, group + 1);
    while (end > begin && at.lengths[end - 1] <= i) --end;
    const int64_t block0 = s_.blocks * range / shares.unit_ranges,
                  block1 = s_.blocks * (range + 1) / shares.unit_ranges;
    const int64_t states = direction * s_.batch * s_.size;

    if (!s_.sequence) {  // rows are in the order of the batch
      GemmArgs gemm = projection(at);
      gemm.scratch = at.gemm + worker * at.gemm_floats;
      if (phase == 0) matmul_.gemm(gemm, begin, end, block0 * s_.gates, block1 * s_.gates);
    }
    GemmArgs gemm;
    gemm.scratch = at.gemm + worker * at.gemm_floats;
    gemm.a = (phase == 0 ? at.hidden[i % 2] : at.damped) + states;
    gemm.lda = gemm.k = s_.size;
    const int64_t gates = phase == 0 ? s_.first_gates : 1;
    gemm.n = s_.blocks * gates * s_.panel;
    gemm.ldc = s_.first_width();  // in both phases: groups of rows may be in different ones
    gemm.b = at.r + direction * s_.width() * s_.size + (phase == 0 ? 0 : s_.first_width() * s_.size);
    gemm.c = at.product + direction * s_.batch * s_.first_width();
    if (s_.params.linear_before_reset) gemm.bias = at.b + (s_.directions + direction) * s_.width();
    const int64_t pieces = ceil_div(block1 - block0, blocks_of_piece(block1 - block0, gates));
    for (int64_t k = 0; k < pieces; ++k) {
      const int64_t piece = i % 2 == 0 ? k : pieces - 1 - k;
      matmul_.gemm(gemm, begin, end, (block0 + (block1 - block0) * piece / pieces) * gates,
                   (block0 + (block1 - block0) * (piece + 1) / pieces) * gates);
    }

    const int64_t unit0 = block0 * s_.panel, unit1 = std::min(s_.size, block1 * s_.panel);
    GateArgs gate = gates_;
    gate.h_block = gates * s_.panel;
    if (at.p != nullptr) gate.peepholes = at.p + direction * 3 * s_.padded();
    for (int64_t row = begin; row < end; ++row) {
      const int64_t item = at.rows[row], length = at.lengths[row], t = s_.backwards(direction) ? length - 1 - i : i;
      const int64_t state = states + row * s_.size, out = item * s_.directions + direction;
      const bool ends = i + 1 == length && (phase == 1 || steps_[1] == nullptr);
      const int64_t place = item * chunk_ + t - first_time(at, row, direction, i / chunk_ * chunk_);
      gate.x = at.projected + (place * s_.directions + direction) * s_.width();
      gate.hidden = gemm.c + row * gemm.ldc;
      gate.state = at.hidden[i % 2] + state;
      gate.next = ends ? at.last_h + out * s_.size : at.hidden[(i + 1) % 2] + state;
      if (at.y != nullptr) gate.y = at.y + (out * s_.times + t) * s_.size;
      if (at.cell != nullptr) gate.c = at.cell + state;
      if (at.update != nullptr) {
        gate.update = at.update + state;
        gate.damped = at.damped + state;
      }
      steps_[phase](gate, unit0, unit1);
      if (ends && at.last_c != nullptr) std::copy(gate.c + unit0, gate.c + unit1, at.last_c + out * s_.size + unit0);
    }
  }

  const MatmulKernels& matmul_;
  const RecurrentKernels& kernels_;
  Isa isa_;
  RecurrentShape s_;
  PackGates pack_w_, pack_r_;
  PackedWeights w_, r_;
  std::vector<float> biases_, peepholes_;  // empty: known at run time only
  element::Type lengths_type_;
  GateArgs gates_;
  int64_t chunk_ = 1;  // steps whose products of the input are there at once
  RecurrentKernels::Step steps_[2] = {nullptr, nullptr};
};

Proposal propose(const NodeContext& context) {
  const MatmulKernels& matmul = matmul_kernels(context.isa);
  if (context.inputs[0].type != element::f32)
    return Reject{"only f32 is vectorised, not " + context.inputs[0].type.get_type_name()};
  for (const TensorDesc& desc : context.inputs)
    if (desc.count() == 0) return Reject{"an input without elements"};
  const RecurrentShape shape(context, matmul.panel);
  if (shape.ports.lengths >= 0) {
    const element::Type type = context.inputs[static_cast<size_t>(shape.ports.lengths)].type;
    if (type != element::i32 && type != element::i64) return Reject{"sequence_lengths that are neither i32 nor i64"};
  }
  LayoutChoice choice;
  for (const TensorDesc& desc : context.inputs) choice.inputs.push_back(desc.layout);
  for (const int port : {shape.ports.w, shape.ports.r, shape.ports.b, shape.ports.p})
    if (port >= 0 && context.constants[static_cast<size_t>(port)]) choice.inputs[static_cast<size_t>(port)].reset();
  for (const TensorDesc& desc : context.outputs) choice.outputs.push_back(desc.layout);
  choice.cost = compute_ns(2.0 * static_cast<double>(shape.directions * shape.batch * shape.times) *
                               static_cast<double>(shape.width()) * static_cast<double>(shape.inputs + shape.size),
                           context.isa);
  return std::vector{choice};
}

constexpr Impl kRecurrent[] = {
    {"recurrent", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<RecurrentExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> recurrent_impls() { return kRecurrent; }

}  // namespace terroir::cpu
