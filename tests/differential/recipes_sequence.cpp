// Sequences, attention, sparse look-ups, spectra.
#include <algorithm>

#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;

const Types kCellTypes = {element::f32, element::f32, element::f32, element::f16};

struct Cell {
  int64_t batch, inputs, hidden, gates, biases;
  element::Type type;
  AttributeTexts attributes;
};

Cell cell(Draw& d) {
  const std::string& type = d.schema().type;
  const bool lstm = type.starts_with("LSTM"), gru = type.starts_with("GRU");
  Cell c{d.between(1, 4), d.extent(17), d.extent(17), lstm ? 4 : gru ? 3 : 1, 0, d.one_of(kCellTypes), {}};
  d.need(c.inputs > 0 && c.hidden > 0);
  const bool linear = gru && d.chance(50);
  c.biases = linear ? 4 : c.gates;
  c.attributes = {{"hidden_size", std::to_string(c.hidden)}};
  if (gru) c.attributes.emplace_back("linear_before_reset", linear ? "true" : "false");
  bool clips = d.chance(30);
  if (d.chance(30)) {
    std::string names;
    for (int i = lstm ? 3 : gru ? 2 : 1; i > 0; --i)
      names += (names.empty() ? "" : ",") + d.one_of({"sigmoid", "tanh", "relu", "hardsigmoid"});
    c.attributes.emplace_back("activations", names);
    clips = clips || names.find("relu") != std::string::npos;  // else states, and what they lose, grow with every step
    c.attributes.emplace_back("activations_alpha", lstm ? "0.25,0.25,0.25" : gru ? "0.25,0.25" : "0.25");
    c.attributes.emplace_back("activations_beta", lstm ? "0.5,0.5,0.5" : gru ? "0.5,0.5" : "0.5");
  }
  if (clips) c.attributes.emplace_back("clip", "0.75");
  return c;
}

const Fill kWeights = Fill::in(-0.5, 0.5);

void recurrent_cell(Draw& d) {
  const Cell c = cell(d);
  const bool lstm = c.gates == 4;
  std::vector<Value> inputs = {d.like(c.type, {c.batch, c.inputs}), d.like(c.type, {c.batch, c.hidden})};
  if (lstm) inputs.push_back(d.like(c.type, {c.batch, c.hidden}));
  inputs.push_back(d.weights(c.type, {c.gates * c.hidden, c.inputs}, kWeights));
  inputs.push_back(d.weights(c.type, {c.gates * c.hidden, c.hidden}, kWeights));
  if (d.chance(80)) inputs.push_back(d.weights(c.type, {c.biases * c.hidden}, kWeights));
  d.op(inputs, c.attributes);
}

void recurrent_sequence(Draw& d) {
  Cell c = cell(d);
  const bool lstm = c.gates == 4;
  const std::string direction = d.one_of({"forward", "reverse", "bidirectional"});
  const int64_t ways = direction == "bidirectional" ? 2 : 1, time = d.between(1, 9);
  if (ways == 2)
    for (auto& [name, value] : c.attributes)
      if (name.starts_with("activations")) value += "," + value;
  c.attributes.emplace_back("direction", direction);
  std::vector<Value> inputs = {d.like(c.type, {c.batch, time, c.inputs}), d.like(c.type, {c.batch, ways, c.hidden})};
  if (lstm) inputs.push_back(d.like(c.type, {c.batch, ways, c.hidden}));
  const Fill lengths = Fill::in(d.chance(60) ? static_cast<double>(time) : 1, static_cast<double>(time));
  inputs.push_back(d.fresh(d.one_of(kIndex), {c.batch}, lengths));
  inputs.push_back(d.weights(c.type, {ways, c.gates * c.hidden, c.inputs}, kWeights));
  inputs.push_back(d.weights(c.type, {ways, c.gates * c.hidden, c.hidden}, kWeights));
  inputs.push_back(d.weights(c.type, {ways, c.biases * c.hidden}, kWeights));
  d.op(inputs, c.attributes);
}

void attention(Draw& d) {
  ir::Dims outer = {d.between(1, 2)};
  if (d.chance(60)) outer.push_back(d.between(1, 4));
  const int64_t rows = d.extent(17), keys = d.extent(17), depth = d.extent(33), width = d.extent(33);
  d.need(rows > 0 && keys > 0 && depth > 0);
  const element::Type type = d.one_of(kCellTypes);
  const auto shape = [&](int64_t a, int64_t b) {
    ir::Dims dims = outer;
    dims.insert(dims.end(), {a, b});
    return dims;
  };
  std::vector<Value> inputs = {d.like(type, shape(rows, depth)), d.like(type, shape(keys, depth)),
                               d.like(type, shape(keys, width))};
  const bool causal = d.chance(30);
  if (!causal && d.chance(50)) {
    if (d.chance(40)) {
      HostTensor mask(element::boolean, {rows, keys});
      for (int64_t i = 0; i < rows * keys; ++i) set_number(mask.writable(), i, i % keys == 0 || d.chance(70) ? 1 : 0);
      inputs.push_back(d.place(std::move(mask), 60));
    } else {
      inputs.push_back(d.fresh(type, {rows, keys}));
    }
    if (d.chance(50)) inputs.push_back(d.reals({0.375}, type, true));
  }
  if (d.chance(25)) {
    if (inputs.size() == 3) inputs.push_back(d.reals({0}, type, true));
    if (inputs.size() == 4) inputs.push_back(d.reals({0.375}, type, true));
    inputs.push_back(d.like(type, d.chance(50) ? ir::Dims{rows, 1} : ir::Dims{outer.back(), 1, 1}));
  }
  d.op(inputs, {{"causal", causal ? "true" : "false"}});
}

void ctc_greedy(Draw& d) {
  const int64_t time = d.between(1, 12), batch = d.between(1, 3), classes = d.between(2, 6);
  HostTensor mask(element::f32, {time, batch});
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = d.between(1, time);
    for (int64_t t = 0; t < time; ++t) set_number(mask.writable(), t * batch + n, t < length ? 1 : 0);
  }
  d.op({d.fresh(element::f32, {time, batch, classes}, Fill::in(0, 1, Fill::Order::distinct)),
        d.place(std::move(mask), 80)});
}

void ctc_greedy_lengths(Draw& d) {
  const int64_t time = d.between(1, 12), batch = d.between(1, 3), classes = d.between(2, 6);
  const element::Type index = d.one_of(kIndex);
  std::vector<Value> inputs = {d.fresh(element::f32, {batch, time, classes}, Fill::in(0, 1, Fill::Order::distinct)),
                               d.fresh(index, {batch}, Fill::in(1, static_cast<double>(time)))};
  if (d.chance(50)) inputs.push_back(d.number(d.below(classes), {index}));
  d.op(inputs);
}

void ctc_loss(Draw& d) {
  const int64_t time = d.between(2, 9), batch = d.between(1, 3), classes = d.between(2, 5);
  const element::Type index = d.one_of(kIndex);
  HostTensor frames(index, {batch}), labels(index, {batch});
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = d.between(1, time);
    set_number(frames.writable(), n, static_cast<double>(length));
    set_number(labels.writable(), n, static_cast<double>(d.between(1, (length + 1) / 2)));
  }
  d.op({d.fresh(element::f32, {batch, time, classes}), d.place(std::move(frames), 60),
        d.fresh(index, {batch, time}, Fill::in(0, static_cast<double>(classes - 2))), d.place(std::move(labels), 60),
        d.number(classes - 1, {index})});
}

struct Table {
  Value rows;
  int64_t count;
  element::Type index;
};

Table table(Draw& d) {
  const Value rows = d.data({element::f32, element::f32, element::f32, element::f16, element::i32}, 2, 3);
  const int64_t count = d.dims(rows)[0];
  d.need(count > 0);
  return {rows, count, d.one_of(kIndex)};
}

Value rows_of(Draw& d, const Table& t, const ir::Dims& dims) {
  return d.fresh(t.index, dims, Fill::in(0, static_cast<double>(t.count - 1)));
}

// Of one sign: where a bag holds one row several times, weights that cancel would leave results that say nothing of how
// large the terms of their sums are.
const Fill kRowWeights = Fill::in(0.25, 2);

void add_default_and_weights(Draw& d, const Table& t, const ir::Dims& weights, std::vector<Value>& inputs,
                             bool may_weigh) {
  if (!d.chance(60)) return;
  inputs.push_back(d.number(d.between(-1, t.count - 1), {t.index}));
  if (may_weigh && d.chance(60)) inputs.push_back(d.fresh(d.type(t.rows), weights, kRowWeights));
}

void embedding_offsets(Draw& d) {
  const Table t = table(d);
  const int64_t taken = d.between(1, 12), bags = d.between(1, 5);
  HostTensor offsets = d.tensor(t.index, {bags}, Fill::in(0, static_cast<double>(taken), Fill::Order::ascending));
  set_number(offsets.writable(), 0, 0);
  std::vector<Value> inputs = {t.rows, rows_of(d, t, {taken}), d.place(std::move(offsets), 60)};
  const bool sums = d.schema().opset == "opset3";
  const bool weighs = sums || d.chance(50);
  add_default_and_weights(d, t, {taken}, inputs, weighs);
  AttributeTexts attributes;
  if (!sums) attributes = {{"reduction", inputs.size() == 5 ? "sum" : d.one_of({"sum", "mean"})}};
  d.op(inputs, attributes);
}

void embedding_packed(Draw& d) {
  const Table t = table(d);
  const ir::Dims dims = {d.between(1, 5), d.between(1, 6)};
  std::vector<Value> inputs = {t.rows, rows_of(d, t, dims)};
  const bool sums = d.schema().opset == "opset3";
  if (d.chance(50)) inputs.push_back(d.fresh(d.type(t.rows), dims, kRowWeights));
  AttributeTexts attributes;
  if (!sums) attributes = {{"reduction", inputs.size() == 3 ? "sum" : d.one_of({"sum", "mean"})}};
  d.op(inputs, attributes);
}

void embedding_segments(Draw& d) {
  const Table t = table(d);
  const int64_t taken = d.between(1, 12), segments = d.between(1, 6);
  HostTensor ids = d.tensor(t.index, {taken}, Fill::in(0, static_cast<double>(segments - 1), Fill::Order::ascending));
  std::vector<Value> inputs = {t.rows, rows_of(d, t, {taken}), d.place(std::move(ids), 60),
                               d.number(segments, {t.index})};
  add_default_and_weights(d, t, {taken}, inputs, true);
  d.op(inputs);
}

void fill_empty_rows(Draw& d) {
  const int64_t count = d.between(1, 9), rows = d.between(1, 9), columns = d.between(1, 9);
  HostTensor at(element::i64, {count, 2});
  const HostTensor row =
      d.tensor(element::i64, {count}, Fill::in(0, static_cast<double>(rows - 1), Fill::Order::ascending));
  for (int64_t i = 0; i < count; ++i) {
    set_number(at.writable(), 2 * i, static_cast<double>(row.as<int64_t>()[i]));
    set_number(at.writable(), 2 * i + 1, static_cast<double>(d.below(columns)));
  }
  const element::Type type = d.one_of(kNumber);
  d.op({d.fresh(type, {count}), d.numbers({rows, columns}, {element::i64}), d.place(std::move(at), 60),
        d.weights(type, {})});
}

std::vector<int64_t> transformed(Draw& d, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (d.chance(60)) axes.push_back(axis);
  if (axes.empty()) axes.push_back(d.below(rank));
  for (size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[d.random().below(i)]);
  return axes;
}

void fourier(Draw& d, bool complex_input, bool halves) {
  ir::Dims dims;
  for (int64_t rank = d.between(1, 3); rank > 0; --rank) dims.push_back(1 + d.extent(17));
  const auto axes = transformed(d, static_cast<int64_t>(dims.size()));
  std::vector<int64_t> sizes;
  for (const int64_t axis : axes)
    sizes.push_back(d.chance(50) ? -1 : d.between(1, 2 * dims[static_cast<size_t>(axis)]));
  if (halves && complex_input && dims[static_cast<size_t>(axes.back())] < 2) sizes.back() = 1;
  if (complex_input) dims.push_back(2);
  std::vector<Value> inputs = {d.like(d.one_of(Types{element::f32, element::f32, element::f16, element::f64}), dims),
                               d.numbers(axes)};
  if (d.chance(50) || (halves && complex_input)) inputs.push_back(d.numbers(sizes));
  d.op(inputs);
}

void stft(Draw& d) {
  const int64_t frame = d.between(1, 16), step = d.between(1, 9), window = d.between(1, frame);
  ir::Dims dims = {frame + d.between(0, 40)};
  if (d.chance(60)) dims.insert(dims.begin(), d.between(1, 3));
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::f64});
  d.op({d.like(type, dims), d.weights(type, {window}, Fill::in(0.25, 1)), d.number(frame), d.number(step)});
}

void istft(Draw& d) {
  const int64_t frame = d.between(1, 16), step = d.between(1, frame), frames = d.between(1, 6);
  ir::Dims dims = {frame / 2 + 1, frames, 2};
  if (d.chance(60)) dims.insert(dims.begin(), d.between(1, 3));
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::f64});
  std::vector<Value> inputs = {d.like(type, dims), d.weights(type, {frame}, Fill::in(0.5, 1)), d.number(frame),
                               d.number(step)};
  if (d.chance(40)) inputs.push_back(d.number(d.between(1, 40)));
  d.op(inputs);
}

const RecipeRow kSequenceRows[] = {
    {"LSTMCell-1 LSTMCell-4 GRUCell-3 RNNCell-1", recurrent_cell},
    {"LSTMSequence-1 LSTMSequence-5 GRUSequence-5 RNNSequence-5", recurrent_sequence},
    {"ScaledDotProductAttention-13", attention},
    {"CTCGreedyDecoder-1", ctc_greedy},
    {"CTCGreedyDecoderSeqLen-6", ctc_greedy_lengths},
    {"CTCLoss-4", ctc_loss},
    {"EmbeddingBagOffsetsSum-3 EmbeddingBagOffsets-15", embedding_offsets},
    {"EmbeddingBagPackedSum-3 EmbeddingBagPacked-15", embedding_packed},
    {"EmbeddingSegmentsSum-3", embedding_segments},
    {"SparseFillEmptyRows-16", fill_empty_rows},
    {"DFT-7 IDFT-7", [](Draw& d) { fourier(d, true, false); }},
    {"RDFT-9", [](Draw& d) { fourier(d, false, true); }},
    {"IRDFT-9", [](Draw& d) { fourier(d, true, true); }},
    {"STFT-15", stft},
    {"ISTFT-16", istft},
};

}  // namespace

std::span<const RecipeRow> sequence_recipes() { return kSequenceRows; }

}  // namespace terroir::test
