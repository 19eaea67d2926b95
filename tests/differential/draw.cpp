#include "tests/differential/draw.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "ops/registry.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/infer_added.hpp"

namespace terroir::test {
namespace {

// An input of this many elements is enough to be split between threads.
constexpr int64_t kMostElements = 600, kManyElements = 20000;
// Results of other operations grow no further.
constexpr int64_t kMostShared = 40000;

/// Booleans, enumerations and types of indices by chance; what only a recipe can know stays as it is.
class RandomAttributes final : public ir::AttributeVisitor {
 public:
  explicit RandomAttributes(Random& random) : random_(random) {}

 protected:
  void on(const char*, bool& value, ir::Presence) override { value = random_.chance(50); }
  void on(const char*, int64_t&, ir::Presence) override {}
  void on(const char*, double&, ir::Presence) override {}
  void on(const char*, std::string&, ir::Presence) override {}
  void on(const char*, element::Type& value, ir::Presence) override {
    value = random_.chance(50) ? element::i64 : element::i32;
  }
  void on(const char*, PartialShape&, ir::Presence) override {}
  void on(const char*, std::vector<int64_t>&, ir::Presence) override {}
  void on(const char*, std::vector<double>&, ir::Presence) override {}
  void on(const char*, std::vector<std::string>&, ir::Presence) override {}
  void on_enum(const char*, int64_t& index, std::span<const std::string_view> names, ir::Presence) override {
    index = static_cast<int64_t>(random_.below(names.size()));
  }

 private:
  Random& random_;
};

template <class T>
std::string joined(const std::vector<T>& values) {
  std::string text;
  for (const T value : values) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
    text += (text.empty() ? "" : ",") + std::string(buffer, end.ptr);
  }
  return text;
}

bool has_numbers(element::Type type) { return type.size() * 8 == type.bitwidth() && type.bitwidth() >= 8; }

std::string random_word(Random& random) {
  static const char* const kPieces[] = {"a", "open", "\xc3\xa4", " ", "0", "Zeta"};
  std::string word;
  for (size_t i = random.below(4); i > 0; --i) word += kPieces[random.below(std::size(kPieces))];
  return word;
}

}  // namespace

const Types kReal = {element::f32, element::f32, element::f32,  element::f32, element::f32,
                     element::f32, element::f16, element::bf16, element::f64};
const Types kSigned = {element::i32, element::i32, element::i64, element::i8, element::i16};
const Types kInteger = {element::i32, element::i32, element::i64, element::i64, element::i8,
                        element::u8,  element::i16, element::u16, element::u32, element::u64};
const Types kIndex = {element::i64, element::i64, element::i64, element::i32};
const Types kNumber = {element::f32, element::f32,  element::f32, element::f32, element::f32, element::f32,
                       element::f16, element::bf16, element::f64, element::i32, element::i64, element::i8,
                       element::u8,  element::i16,  element::u16, element::u32, element::u64};
const Types kAny = {element::f32, element::f32, element::f32,     element::f32,    element::f32,
                    element::f32, element::f16, element::bf16,    element::f64,    element::i32,
                    element::i64, element::i8,  element::u8,      element::i16,    element::u16,
                    element::u32, element::u64, element::boolean, element::boolean};

std::string list(const std::vector<int64_t>& values) { return joined(values); }
std::string list(const std::vector<double>& values) { return joined(values); }

int64_t Draw::extent(int64_t limit) {
  static const std::vector<int64_t> kAwkward = {1, 1,  2,  2,  3,  3,  4,  5,  6,  7,  8,
                                                9, 11, 15, 16, 17, 19, 24, 31, 32, 33, 40};
  if (chance(1)) return 0;
  for (;;)
    if (const int64_t value = one_of(kAwkward); value <= limit) return value;
}

ir::Dims Draw::dims(int64_t min_rank, int64_t max_rank) {
  const int64_t most = chance(8) ? kManyElements : kMostElements;
  ir::Dims dims;
  int64_t count = 1;
  for (int64_t axis = between(min_rank, max_rank); axis > 0; --axis) {
    int64_t next = extent();
    if (count * next > most) next = 1 + below(2);
    dims.push_back(next);
    count = std::max<int64_t>(1, count * next);
  }
  std::rotate(dims.begin(), dims.begin() + (dims.empty() ? 0 : below(static_cast<int64_t>(dims.size()))), dims.end());
  return dims;
}

HostTensor Draw::tensor(element::Type type, const ir::Dims& dims, Fill fill) {
  HostTensor tensor(type, dims);
  const ir::MutableTensorView view = tensor.writable();
  const int64_t count = view.count();
  if (type == element::string) {
    for (int64_t i = 0; i < count; ++i) static_cast<std::string*>(view.data)[i] = random_word(random_);
    return tensor;
  }
  if (!has_numbers(type) || (type.is_real() && type.bitwidth() == 8)) {
    auto* bytes = static_cast<uint8_t*>(view.data);
    for (size_t i = 0; i < view.bytes(); ++i) bytes[i] = static_cast<uint8_t>(random_.next());
    return tensor;
  }
  if (type == element::boolean) fill.low = 0, fill.high = 1;
  if (!type.is_signed()) fill.low = std::max(fill.low, 0.0);
  if (fill.anything && type.is_integral_number()) fill.low *= 4, fill.high *= 4;
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values)
    value = type.is_real()
                ? real(fill.low, fill.high)
                : static_cast<double>(between(static_cast<int64_t>(fill.low), static_cast<int64_t>(fill.high)));
  if (fill.order == Fill::Order::distinct) {
    // The values of a grid, shuffled; steps are wide enough for 16-bit types as long as there are few elements.
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = type.is_real()
                      ? fill.low + (fill.high - fill.low) * static_cast<double>(i) / static_cast<double>(count)
                      : fill.low + static_cast<double>(i);
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random_.below(i)]);
  }
  if (fill.order == Fill::Order::ascending && !dims.empty() && count > 0)
    for (auto row = values.begin(); row != values.end(); row += dims.back()) std::sort(row, row + dims.back());
  for (int64_t i = 0; i < count; ++i) set_number(view, i, values[static_cast<size_t>(i)]);
  return tensor;
}

std::string Draw::next_name(const std::string& type) {
  const int count = ++names_[type];
  return type + (count == 1 ? "" : std::to_string(count));
}

ir::Value Draw::finish(ir::NodeId id) {
  try {
    return infer_added(graph_, id);
  } catch (...) {
    graph_.erase(id);
    throw;
  }
}

bool Draw::is_exact(ir::Value value) const {
  const auto found = exact_.find(value);
  return found != exact_.end() && found->second;
}

void Draw::offer(ir::Value value, bool exact) {
  exact_[value] = exact;
  offered_.push_back(value);
}

ir::Value Draw::input(element::Type type, const ir::Dims& dims, Fill fill) {
  ir::ParameterAttrs attrs{ir::to_shape(dims), type};
  const ir::NodeId id = graph_.add(ops::builtin_registry().get(ir::kParameterType, "opset1"), next_name("x"),
                                   ir::make_attributes_of(std::move(attrs)));
  const ir::Value value = finish(id);
  contents_.emplace(id, tensor(type, dims, fill));
  fed_[id] = true;
  exact_[value] = true;
  if (fill.anything) offered_.push_back(value);
  return value;
}

ir::Value Draw::constant(HostTensor tensor) {
  const ir::NodeId id = graph_.add_constant(ops::builtin_registry().get(ir::kConstType, "opset1"), next_name("c"),
                                            std::move(tensor).to_constant());
  exact_[{id, 0}] = true;
  return {id, 0};
}

ir::Value Draw::place(HostTensor tensor, int percent_inputs) {
  if (!inputs_allowed_ || !chance(percent_inputs)) return constant(std::move(tensor));
  const ir::Value value = input(tensor.type(), tensor.dims(), Fill::in(0, 0));
  contents_[value.node] = std::move(tensor);
  return value;
}

void Draw::give_up() const { throw_error(ErrorCode::invalid_argument, "the recipe gives up"); }

ir::Value Draw::fresh(element::Type type, const ir::Dims& dims, Fill fill) {
  if (inputs_allowed_ && (contents_.empty() || chance(75))) return input(type, dims, fill);
  return constant(tensor(type, dims, fill));
}

ir::Value Draw::weights(element::Type type, const ir::Dims& dims, Fill fill) {
  if (inputs_allowed_ && chance(15)) return input(type, dims, fill);
  return constant(tensor(type, dims, fill));
}

ir::Value Draw::numbers(const std::vector<int64_t>& values, const Types& types, int percent_inputs) {
  const element::Type type = types.empty() ? one_of(kIndex) : types[random_.below(types.size())];
  HostTensor host(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    set_number(host.writable(), static_cast<int64_t>(i), static_cast<double>(values[i]));
  return place(std::move(host), percent_inputs);
}

ir::Value Draw::number(int64_t value, const Types& types, int percent_inputs) {
  const element::Type type = types.empty() ? one_of(kIndex) : types[random_.below(types.size())];
  HostTensor host(type, {});
  set_number(host.writable(), 0, static_cast<double>(value));
  return place(std::move(host), percent_inputs);
}

ir::Value Draw::reals(const std::vector<double>& values, element::Type type, bool scalar) {
  HostTensor host(type, scalar ? ir::Dims{} : ir::Dims{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) set_number(host.writable(), static_cast<int64_t>(i), values[i]);
  return constant(std::move(host));
}

ir::Value Draw::choose(const Types& types, int64_t min_rank, int64_t max_rank, Fill fill, bool exact) {
  if (fill.anything && chance(70)) {
    std::vector<ir::Value> fitting;
    for (const ir::Value value : offered_) {
      const ir::OutputPort& port = graph_.port(value);
      if (!port.shape.is_static() || (exact && !is_exact(value))) continue;
      const ir::Dims extents = dims(value);
      const auto rank = static_cast<int64_t>(extents.size());
      if (rank < min_rank || rank > max_rank || ir::element_count(extents) > kMostShared) continue;
      if (std::find(types.begin(), types.end(), port.type) == types.end()) continue;
      fitting.push_back(value);
    }
    // Mostly a recent one, so that chains arise.
    if (!fitting.empty()) return chance(70) ? fitting.back() : one_of(fitting);
  }
  return fresh(one_of(types), dims(min_rank, max_rank), fill);
}

ir::Value Draw::choose_like(element::Type type, const ir::Dims& extents, Fill fill, bool exact) {
  if (fill.anything && chance(60)) {
    std::vector<ir::Value> fitting;
    for (const ir::Value value : offered_) {
      const ir::OutputPort& port = graph_.port(value);
      if (port.type == type && port.shape.is_static() && dims(value) == extents && (!exact || is_exact(value)))
        fitting.push_back(value);
    }
    if (!fitting.empty()) return one_of(fitting);
  }
  return fresh(type, extents, fill);
}

ir::Value Draw::data(const Types& types, int64_t min_rank, int64_t max_rank, Fill fill) {
  return choose(types, min_rank, max_rank, fill, false);
}
ir::Value Draw::exact(const Types& types, int64_t min_rank, int64_t max_rank, Fill fill) {
  return choose(types, min_rank, max_rank, fill, true);
}
ir::Value Draw::like(element::Type type, const ir::Dims& extents, Fill fill) {
  return choose_like(type, extents, fill, false);
}
ir::Value Draw::exact_like(element::Type type, const ir::Dims& extents, Fill fill) {
  return choose_like(type, extents, fill, true);
}

ir::Value Draw::op(const std::vector<ir::Value>& inputs, const AttributeTexts& attributes) {
  return control(inputs, {}, attributes);
}

ir::Value Draw::control(const std::vector<ir::Value>& inputs, std::vector<ir::Body> bodies,
                        const AttributeTexts& attributes) {
  auto filled = schema_->make_attributes();
  RandomAttributes random(random_);
  filled->visit(random);
  set_attributes(*filled, attributes);
  const ir::NodeId id = graph_.add(*schema_, next_name(schema_->type), std::move(filled), inputs);
  graph_.node(id).bodies = std::move(bodies);
  finish(id);
  const bool computes_exactly = schema_->accuracy == ir::Accuracy::exact;
  bool given_exact = true, fed = false;
  for (const ir::Value input : inputs) {
    given_exact = given_exact && is_exact(input);
    fed = fed || fed_.contains(input.node);
  }
  if (fed) fed_[id] = true;
  const ir::Node& node = graph_.node(id);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    offer({id, static_cast<int32_t>(i)}, given_exact && (computes_exactly || node.outputs[i].type.is_integral()));
  return {id, 0};
}

}  // namespace terroir::test
