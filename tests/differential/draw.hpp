#pragma once
// What: a graph that grows by random operations. A recipe (recipes.hpp) draws its operands, extents and attributes
// here; operands are new inputs and constants, or results of the operations before, so that chains and branches arise.
// Every random number comes from one seed.
#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"
#include "tests/support/attribute_setter.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// Element types to choose from; one that stands there twice is twice as likely.
using Types = std::vector<element::Type>;

extern const Types kReal, kSigned, kInteger, kIndex, kNumber, kAny;

/// The elements of a new tensor.
struct Fill {
  enum class Order { any, ascending, distinct };  // ascending along the last axis; distinct: no two are equal
  double low = -2, high = 2;                      // integers: inclusive
  Order order = Order::any;
  bool anything = true;  // results of other operations will do as well

  static Fill in(double low, double high, Order order = Order::any) { return {low, high, order, false}; }
};

class Draw {
 public:
  Draw(ir::Graph& graph, Random& random) : graph_(graph), random_(random) {}

  // Numbers.
  bool chance(int percent) { return random_.chance(percent); }
  int64_t below(int64_t bound) { return random_.between(0, bound - 1); }
  int64_t between(int64_t low, int64_t high) { return random_.between(low, high); }
  double real(double low, double high) { return low + (high - low) * random_.unit(); }
  template <class T>
  T one_of(const std::vector<T>& list) {
    return list.at(random_.below(list.size()));
  }
  /// Of a list of types for data: the one asked for, if there is one.
  element::Type one_of(const Types& list) {
    const element::Type drawn = list.at(random_.below(list.size()));
    return wanted_.is_static() && &list != &kIndex ? wanted_ : drawn;
  }
  std::string one_of(std::initializer_list<const char*> words) {
    return *(words.begin() + random_.below(words.size()));
  }

  // Extents: mostly around the sizes of vectors, seldom 0.
  int64_t extent(int64_t limit = 40);
  ir::Dims dims(int64_t min_rank, int64_t max_rank);

  // Operands of the next operation.
  /// Of any extents; `exact` ones do not depend on rounding, for operations that jump.
  ir::Value data(const Types& types, int64_t min_rank, int64_t max_rank, Fill fill = {});
  ir::Value exact(const Types& types, int64_t min_rank, int64_t max_rank, Fill fill = {});
  /// Of these extents.
  ir::Value like(element::Type type, const ir::Dims& dims, Fill fill = {});
  ir::Value exact_like(element::Type type, const ir::Dims& dims, Fill fill = {});
  /// No result of another operation: an input or a constant; weights: mostly a constant.
  ir::Value fresh(element::Type type, const ir::Dims& dims, Fill fill = {});
  ir::Value weights(element::Type type, const ir::Dims& dims, Fill fill = {});
  /// Integers that say what to do: mostly constants, and mostly i64.
  ir::Value numbers(const std::vector<int64_t>& values, const Types& types = {}, int percent_inputs = 10);
  ir::Value number(int64_t value, const Types& types = {}, int percent_inputs = 10);
  ir::Value reals(const std::vector<double>& values, element::Type type, bool scalar = false);
  ir::Value input(element::Type type, const ir::Dims& dims, Fill fill = {});
  ir::Value constant(HostTensor tensor);
  /// A tensor of the recipe's own making, as an input or a constant.
  ir::Value place(HostTensor tensor, int percent_inputs);
  /// For a recipe that finds it cannot go on with what it drew: as if the operation had refused.
  [[noreturn]] void give_up() const;
  void need(bool condition) const {
    if (!condition) give_up();
  }

  element::Type type(ir::Value value) const { return graph_.port(value).type; }
  ir::Dims dims(ir::Value value) const { return ir::to_dims(graph_.port(value).shape.to_shape()); }
  int64_t rank(ir::Value value) const { return static_cast<int64_t>(dims(value).size()); }
  /// Counted from the front or, at times, from the end.
  int64_t maybe_negative(int64_t axis, int64_t rank) { return chance(30) ? axis - rank : axis; }

  /// Adds the operation the recipe is for. Attributes that are not given are drawn: booleans, enumerations and types of
  /// indices; others keep their default. Exception when the operation refuses; the graph is as before then. The first
  /// output.
  ir::Value op(const std::vector<ir::Value>& inputs, const AttributeTexts& attributes = {});
  ir::Value control(const std::vector<ir::Value>& inputs, std::vector<ir::Body> bodies,
                    const AttributeTexts& attributes = {});

  // For those who drive recipes.
  void set_schema(const ir::OpSchema& schema) { schema_ = &schema; }
  const ir::OpSchema& schema() const { return *schema_; }
  /// Data are of this type from now on, whatever the recipes choose from.
  void want(element::Type type) { wanted_ = type; }
  /// New operands are constants only, as in a body.
  void forbid_inputs() { inputs_allowed_ = false; }
  /// A value that recipes may use; `exact`: it does not depend on rounding.
  void offer(ir::Value value, bool exact);
  /// Whether the operation was given something that is not known before the run.
  bool is_fed(ir::NodeId node) const { return fed_.contains(node); }
  bool is_exact(ir::Value value) const;
  ir::Graph& graph() { return graph_; }
  Random& random() { return random_; }
  const std::vector<ir::Value>& offered() const { return offered_; }
  /// What to feed to the Parameters.
  const std::map<ir::NodeId, HostTensor>& contents() const { return contents_; }
  /// The elements drawn.
  HostTensor tensor(element::Type type, const ir::Dims& dims, Fill fill = {});

 private:
  ir::Value choose(const Types& types, int64_t min_rank, int64_t max_rank, Fill fill, bool exact);
  ir::Value choose_like(element::Type type, const ir::Dims& dims, Fill fill, bool exact);
  ir::Value finish(ir::NodeId id);
  std::string next_name(const std::string& type);

  ir::Graph& graph_;
  Random& random_;
  const ir::OpSchema* schema_ = nullptr;
  bool inputs_allowed_ = true;
  element::Type wanted_;
  std::vector<ir::Value> offered_;
  std::map<ir::Value, bool> exact_;
  std::map<ir::NodeId, bool> fed_;
  std::map<ir::NodeId, HostTensor> contents_;
  std::map<std::string, int> names_;
};

/// "1,2,3"
std::string list(const std::vector<int64_t>& values);
std::string list(const std::vector<double>& values);

}  // namespace terroir::test
