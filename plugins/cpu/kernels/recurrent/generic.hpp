// What: the gates of recurrent layers of one bucket. Contract: recurrent.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/recurrent/recurrent.hpp"
#include "plugins/cpu/simd/math.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

TERROIR_INLINE V activated(const GateActivation& a, V x) {
  switch (a.function) {
    case GateFunction::sigmoid:
      return sigmoid(x);
    case GateFunction::tanh:
      return tanh(x);
    case GateFunction::relu:
      return max(zero(), x);
    default:
      return max(min(V(a.alpha) * x + V(a.beta), V(1.0f)), zero());
  }
}

// The limits, written so that no clip at all is the same code: a NaN passes then, as no comparison catches it.
struct Clip {
  V limit;
  bool some;
  explicit TERROIR_INLINE_MEMBER Clip(float clip) : limit(clip), some(clip > 0) {}
  TERROIR_INLINE_MEMBER V operator()(V x) const { return some ? max(min(x, limit), -limit) : x; }
};

// Calls body(unit, place in a gate's panel, block, access) for each vector of units.
template <typename Body>
TERROIR_INLINE void each_vector(const GateArgs& a, int64_t begin, int64_t end, const Body& body) {
  for (int64_t block = begin / a.panel; block * a.panel < end; ++block) {
    const int64_t first = block * a.panel;
    const int64_t units = end - first < a.panel ? end - first : a.panel;
    for (int64_t at = 0; at < units; at += kLanes) {
      const int64_t n = units - at < kLanes ? units - at : kLanes;
      body(first + at, block * a.x_block + at, block * a.h_block + at, tail(n), n == kLanes);
    }
  }
}

TERROIR_INLINE V fetch(const float* p, Tail t, bool whole) { return whole ? loadu(p) : load_tail(p, t); }
TERROIR_INLINE void put(float* p, V v, Tail t, bool whole) {
  if (whole) {
    storeu(p, v);
  } else {
    store_tail(p, v, t);
  }
}
TERROIR_INLINE void put_state(const GateArgs& a, int64_t unit, V v, Tail t, bool whole) {
  put(a.next + unit, v, t, whole);
  if (a.y != nullptr) put(a.y + unit, v, t, whole);
}

void rnn_step(const GateArgs& a, int64_t begin, int64_t end) {
  const Clip clip(a.clip);
  each_vector(a, begin, end, [&](int64_t unit, int64_t x, int64_t h, Tail t, bool whole) TERROIR_INLINE_LAMBDA {
    put_state(a, unit, activated(a.f, clip(loadu(a.x + x) + loadu(a.hidden + h))), t, whole);
  });
}

void lstm_step(const GateArgs& a, int64_t begin, int64_t end) {
  const Clip clip(a.clip);
  each_vector(a, begin, end, [&](int64_t unit, int64_t x, int64_t h, Tail t, bool whole) TERROIR_INLINE_LAMBDA {
    const auto sum = [&](int64_t gate) TERROIR_INLINE_LAMBDA {
      return loadu(a.x + x + gate * a.panel) + loadu(a.hidden + h + gate * a.panel);
    };
    const auto peephole = [&](int64_t gate, V s, V cell) TERROIR_INLINE_LAMBDA {
      return a.peepholes == nullptr ? s : fma(fetch(a.peepholes + gate * a.peephole_stride + unit, t, whole), cell, s);
    };
    const V c = fetch(a.c + unit, t, whole);
    const V forget = activated(a.f, clip(peephole(2, sum(0), c)));
    const V input = a.input_forget ? V(1.0f) - forget : activated(a.f, clip(peephole(0, sum(1), c)));
    const V next = fma(forget, c, input * activated(a.g, clip(sum(2))));
    put(a.c + unit, next, t, whole);
    const V output = activated(a.f, clip(peephole(1, sum(3), next)));
    put_state(a, unit, output * activated(a.h, next), t, whole);
  });
}

TERROIR_INLINE V mixed(V update, V candidate, V state) { return fma(update, state, (V(1.0f) - update) * candidate); }

void gru_step(const GateArgs& a, int64_t begin, int64_t end) {
  const Clip clip(a.clip);
  each_vector(a, begin, end, [&](int64_t unit, int64_t x, int64_t h, Tail t, bool whole) TERROIR_INLINE_LAMBDA {
    const auto gate = [&](int64_t i) TERROIR_INLINE_LAMBDA {
      return activated(a.f, clip(loadu(a.x + x + i * a.panel) + loadu(a.hidden + h + i * a.panel)));
    };
    const V update = gate(0), reset = gate(1);
    const V sum = fma(reset, loadu(a.hidden + h + 2 * a.panel), loadu(a.x + x + 2 * a.panel));
    put_state(a, unit, mixed(update, activated(a.g, clip(sum)), fetch(a.state + unit, t, whole)), t, whole);
  });
}

void gru_reset(const GateArgs& a, int64_t begin, int64_t end) {
  const Clip clip(a.clip);
  each_vector(a, begin, end, [&](int64_t unit, int64_t x, int64_t h, Tail t, bool whole) TERROIR_INLINE_LAMBDA {
    const auto gate = [&](int64_t i) TERROIR_INLINE_LAMBDA {
      return activated(a.f, clip(loadu(a.x + x + i * a.panel) + loadu(a.hidden + h + i * a.panel)));
    };
    put(a.update + unit, gate(0), t, whole);
    put(a.damped + unit, gate(1) * fetch(a.state + unit, t, whole), t, whole);
  });
}

void gru_update(const GateArgs& a, int64_t begin, int64_t end) {
  const Clip clip(a.clip);
  each_vector(a, begin, end, [&](int64_t unit, int64_t x, int64_t h, Tail t, bool whole) TERROIR_INLINE_LAMBDA {
    const V candidate = activated(a.g, clip(loadu(a.x + x + 2 * a.panel) + loadu(a.hidden + h)));
    put_state(a, unit, mixed(fetch(a.update + unit, t, whole), candidate, fetch(a.state + unit, t, whole)), t, whole);
  });
}

}  // namespace

const RecurrentKernels& recurrent_table() {
  static constexpr RecurrentKernels kTable = {&rnn_step, &lstm_step, &gru_step, &gru_reset, &gru_update};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
