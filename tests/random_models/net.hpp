#pragma once
// What: a network that grows block by block, with weights of such ranges that values stay about as large as they are.
// Axis 0 of every value that blocks see is the batch, and no block mixes the images of a batch.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/differential/draw.hpp"

namespace terroir::test {

using ir::Value;

class Net {
 public:
  /// Data and weights are of `type`.
  Net(ir::Graph& graph, Random& random, element::Type type, int64_t products);

  // Numbers.
  bool chance(int percent) { return random_.chance(percent); }
  int64_t between(int64_t low, int64_t high) { return random_.between(low, high); }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + random_.below(list.size()));
  }
  /// Exception unless `condition`: the block does not fit its operand. What it has added so far stays.
  static void need(bool condition);
  /// The same when the model has no room for so many multiplications, which the interpreter has to do.
  void spend(int64_t products);

  // Layers. `opset`: the newest version of the operation in it.
  Value op(const std::string& type, const std::vector<Value>& inputs, const AttributeTexts& attributes = {},
           const char* opset = "opset16");
  /// If, Loop, TensorIterator.
  Value control(const std::string& type, const std::vector<Value>& inputs, std::vector<ir::Body> bodies);
  Value output(Value first, int32_t index) const { return {first.node, index}; }
  /// An input of the model, of values in [-1, 1].
  Value input(const ir::Dims& dims);
  Value input(element::Type type, const ir::Dims& dims, Fill fill);
  /// A constant of values in [low, high).
  Value constant(const ir::Dims& dims, double low, double high);
  /// Weights of which `terms` are added up; at times stored in f16, or quantised.
  Value weights(const ir::Dims& dims, int64_t terms);
  /// While one lives, weights are whole multiples of a step, one of all of them or one of each output.
  class Quantised {
   public:
    explicit Quantised(Net& net) : net_(net) { ++net_.quantised_; }
    ~Quantised() { --net_.quantised_; }
    Quantised(const Quantised&) = delete;
    Quantised& operator=(const Quantised&) = delete;

   private:
    Net& net_;
  };
  Value scalar(double value);
  Value integers(const std::vector<int64_t>& values);
  Value integer(int64_t value);
  /// One number per channel (axis 1) of `x`, to be broadcast.
  Value per_channel(Value x, double low, double high);
  /// One number per element of the last axis.
  Value per_column(Value x, double low, double high);

  // Shapes.
  ir::Dims dims(Value value) const { return draw_.dims(value); }
  int64_t rank(Value value) const { return draw_.rank(value); }
  int64_t dim(Value value, int64_t axis) const { return dims(value).at(static_cast<size_t>(axis)); }
  element::Type type() const { return type_; }
  /// Reshape: 0 takes the extent of the same axis, -1 the rest; at times computed from ShapeOf, as exporters write it.
  Value reshape(Value x, const std::vector<int64_t>& extents);
  Value transpose(Value x, const std::vector<int64_t>& order) { return op("Transpose", {x, integers(order)}); }
  /// An i64 vector with some extents of `x`, computed when the model runs.
  Value extents_of(Value x, const std::vector<int64_t>& axes);

  // Values that blocks may read; others are parts of a block.
  void offer(Value value);
  /// One of these ranks, mostly a recent one. Exception if there is none.
  Value recent(int64_t min_rank, int64_t max_rank);
  /// Another value of the same extents: one there is, a new input or one made of x.
  Value partner(Value x);
  const std::vector<Value>& offered() const { return offered_; }
  /// A few elementwise layers that keep the extents; at times none.
  Value activation(Value x);
  /// Exactly one of them.
  Value activated(Value x);

  /// For a body: there are no inputs but those of the body.
  void forbid_inputs() { inputs_allowed_ = false; }
  /// For a block that lets the images of a batch see each other.
  void mix_images() { batched_ = false; }
  bool batched() const { return batched_; }
  Draw& draw() { return draw_; }
  Random& random() { return random_; }
  ir::Graph& graph() { return graph_; }
  size_t layers() const { return layers_; }

 private:
  Value add(const ir::OpSchema& schema, const std::vector<Value>& inputs, const AttributeTexts& attributes,
            std::vector<ir::Body> bodies);
  Value quantised_weights(const ir::Dims& dims, double scale);

  ir::Graph& graph_;
  Random& random_;
  Draw draw_;
  const element::Type type_;
  int64_t products_;
  size_t layers_ = 0;
  int quantised_ = 0;
  bool inputs_allowed_ = true, batched_ = true;
  std::vector<Value> offered_;
  std::map<std::string, int> names_;
};

/// Grows from a value of the ranks it takes; returns its result. Exception when it does not fit.
struct Block {
  const char* name;
  int weight;
  int64_t min_rank, max_rank;
  Value (*grow)(Net&, Value);
};

// By what they are typical of: images [N, C, spatial...], sequences [N, T, E], rows [N, F].
std::span<const Block> convolution_blocks();
std::span<const Block> image_blocks();
std::span<const Block> sequence_blocks();
std::span<const Block> common_blocks();
/// Bodies, variables, sizes that depend on data.
std::span<const Block> control_blocks();

/// Blocks, with how much each of them counts.
struct Family {
  std::span<const Block> blocks;
  int weight;
};

/// Grows by so many layers or a few more, or fewer where hardly any block fits.
void grow(Net& net, const std::vector<Family>& families, size_t layers);

}  // namespace terroir::test
