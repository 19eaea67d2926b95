#include "plugins/cpu/kernels/recurrent/recurrent.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::GateActivation;
using cpu::GateArgs;
using cpu::GateFunction;

double activated(const GateActivation& a, double x) {
  switch (a.function) {
    case GateFunction::sigmoid:
      return 1 / (1 + std::exp(-x));
    case GateFunction::tanh:
      return std::tanh(x);
    case GateFunction::relu:
      return x < 0 ? 0 : x;
    default:
      return std::max(0.0, std::min(1.0, a.alpha * x + a.beta));
  }
}

double clipped(double x, double clip) { return clip > 0 ? std::max(-clip, std::min(clip, x)) : x; }

// One row of a layer: products by gate, in blocks, and the states.
struct GateRow {
  int64_t units, panel, gates, blocks;
  GuardedBuffer<float> x, hidden, state, next, y, c, peepholes, update, damped;

  GateRow(int64_t unit_count, int64_t panel_size, int64_t gate_count)
      : units(unit_count),
        panel(panel_size),
        gates(gate_count),
        blocks((unit_count + panel_size - 1) / panel_size),
        x(random_floats(blocks * gates * panel, 1, -3, 3)),
        hidden(random_floats(blocks * gates * panel, 2, -3, 3)),
        state(random_floats(units, 3)),
        next(units),
        y(units),
        c(random_floats(units, 4)),
        peepholes(random_floats(3 * units, 5)),
        update(units),
        damped(units) {}

  GateArgs args() {
    GateArgs a;
    a.f = {GateFunction::sigmoid};
    a.g = {GateFunction::tanh};
    a.h = {GateFunction::tanh};
    a.panel = panel;
    a.x_block = a.h_block = gates * panel;
    a.x = x.data();
    a.hidden = hidden.data();
    a.state = state.data();
    a.next = next.data();
    a.y = y.data();
    a.c = c.data();
    a.update = update.data();
    a.damped = damped.data();
    return a;
  }
  int64_t place(int64_t unit, int64_t gate) const { return (unit / panel * gates + gate) * panel + unit % panel; }
  double sum(int64_t unit, int64_t gate) const { return double(x[place(unit, gate)]) + hidden[place(unit, gate)]; }
  bool intact() const { return next.intact() && y.intact() && c.intact() && update.intact() && damped.intact(); }
};

class Recurrent : public KernelTest {
 protected:
  // A few roundings of values up to 8 before a function of slope 1, and its own.
  static constexpr double kTolerance = 16 * std::numeric_limits<float>::epsilon();
  int64_t panel() const { return 2 * lanes(); }
  const cpu::RecurrentKernels& kernels() const { return cpu::recurrent_kernels(isa()); }
};

const GateFunction kFunctions[] = {GateFunction::sigmoid, GateFunction::tanh, GateFunction::relu,
                                   GateFunction::hard_sigmoid};

TEST_P(Recurrent, Rnn) {
  for (const int64_t units : sizes_around(panel()))
    for (const GateFunction function : kFunctions)
      for (const float clip : {0.0f, 0.5f}) {
        GateRow row(units, panel(), 1);
        GateArgs a = row.args();
        a.f = {function, 0.2f, 0.5f};
        a.clip = clip;
        kernels().rnn(a, 0, units);
        ASSERT_TRUE(row.intact());
        for (int64_t k = 0; k < units; ++k) {
          ASSERT_NEAR(row.next[k], activated(a.f, clipped(row.sum(k, 0), clip)), kTolerance) << units << ' ' << k;
          ASSERT_EQ(row.next[k], row.y[k]);
        }
      }
}

TEST_P(Recurrent, Lstm) {
  for (const int64_t units : sizes_around(panel()))
    for (const bool peepholes : {false, true})
      for (const bool input_forget : {false, true})
        for (const float clip : {0.0f, 0.7f}) {
          GateRow row(units, panel(), 4);
          GateArgs a = row.args();
          a.clip = clip;
          a.input_forget = input_forget;
          a.peepholes = peepholes ? row.peepholes.data() : nullptr;
          a.peephole_stride = units;
          const std::vector<float> before(row.c.data(), row.c.data() + units);
          kernels().lstm(a, 0, units);
          ASSERT_TRUE(row.intact());
          for (int64_t k = 0; k < units; ++k) {
            const auto gate = [&](const GateActivation& f, int64_t i, int64_t peephole, double cell) {
              const double p = peepholes && peephole >= 0 ? row.peepholes[peephole * units + k] * cell : 0.0;
              return activated(f, clipped(row.sum(k, i) + p, clip));
            };
            const double c = before[static_cast<size_t>(k)], forget = gate(a.f, 0, 2, c);
            const double input = input_forget ? 1 - forget : gate(a.f, 1, 0, c);
            const double next = forget * c + input * gate(a.g, 2, -1, c);
            ASSERT_NEAR(row.c[k], next, kTolerance);
            ASSERT_NEAR(row.next[k], gate(a.f, 3, 1, next) * std::tanh(next), kTolerance);
            ASSERT_EQ(row.next[k], row.y[k]);
          }
        }
}

TEST_P(Recurrent, Gru) {
  for (const int64_t units : sizes_around(panel())) {
    GateRow row(units, panel(), 3);
    const GateArgs a = row.args();
    // In two ranges: only their units are written.
    const int64_t half = units / 2 / panel() * panel();
    kernels().gru(a, half, units);
    kernels().gru(a, 0, half);
    ASSERT_TRUE(row.intact());
    for (int64_t k = 0; k < units; ++k) {
      const double z = activated(a.f, row.sum(k, 0)), r = activated(a.f, row.sum(k, 1));
      const double n = std::tanh(row.x[row.place(k, 2)] + r * row.hidden[row.place(k, 2)]);
      ASSERT_NEAR(row.next[k], (1 - z) * n + z * row.state[k], kTolerance);
    }
  }
}

TEST_P(Recurrent, GruInTwoPhases) {
  for (const int64_t units : sizes_around(panel())) {
    GateRow row(units, panel(), 3);
    GateArgs a = row.args();
    kernels().gru_reset(a, 0, units);
    for (int64_t k = 0; k < units; ++k) {
      ASSERT_NEAR(row.update[k], activated(a.f, row.sum(k, 0)), kTolerance);
      ASSERT_NEAR(row.damped[k], activated(a.f, row.sum(k, 1)) * row.state[k], kTolerance);
    }
    a.h_block = panel();
    a.y = nullptr;
    kernels().gru_update(a, 0, units);
    ASSERT_TRUE(row.intact());
    for (int64_t k = 0; k < units; ++k) {
      const double n = std::tanh(double(row.x[row.place(k, 2)]) + row.hidden[k]);
      ASSERT_NEAR(row.next[k], (1 - row.update[k]) * n + row.update[k] * double(row.state[k]), kTolerance);
    }
  }
}

// As the reference has it: a NaN stays, but for a clip or a hard sigmoid, which give their upper bound.
TEST_P(Recurrent, NanAndInfinities) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  GateRow row(3, panel(), 1);
  row.hidden[0] = row.hidden[1] = row.hidden[2] = 0;
  row.x[0] = kNan;
  row.x[1] = kInf;
  row.x[2] = -kInf;
  GateArgs a = row.args();
  for (const GateFunction function : kFunctions) {
    a.f = {function, 0.2f, 0.5f};
    a.clip = 0;
    kernels().rnn(a, 0, 3);
    const bool hard = function == GateFunction::hard_sigmoid;
    EXPECT_TRUE(hard ? row.next[0] == 1.0f : std::isnan(row.next[0]));
    EXPECT_EQ(row.next[1], function == GateFunction::relu ? kInf : 1.0f);
    EXPECT_EQ(row.next[2], function == GateFunction::tanh ? -1.0f : 0.0f);
    a.clip = 2;
    kernels().rnn(a, 0, 3);
    EXPECT_EQ(row.next[0], row.next[1]);
    EXPECT_NEAR(row.next[1], activated(a.f, 2), kTolerance);
    EXPECT_NEAR(row.next[2], activated(a.f, -2), kTolerance);
  }
}

TERROIR_INSTANTIATE_PER_ISA(Recurrent);

}  // namespace
}  // namespace terroir::testing
