#pragma once
// A small registry of its own for tests of readers, writers and printers, so that they do not depend on which
// operations the library has today.
#include <vector>

#include "ir/schema/infrastructure.hpp"
#include "ir/schema/registry.hpp"
#include "ops/registry.hpp"

namespace terroir::test {

enum class ToyMode { first, second };

/// One attribute of every kind.
struct ToyAttrs {
  int64_t count = 1;
  double scale = 0.5;
  bool flag = false;
  ToyMode mode = ToyMode::first;
  std::string label;
  element::Type to = element::f32;
  PartialShape form;
  std::vector<int64_t> steps;
  std::vector<double> factors{1.0};
  std::vector<std::string> words;
  template <class V>
  void visit(V& v) {
    v("count", count, ir::Presence::required);
    v("scale", scale);
    v("flag", flag);
    v("mode", mode);
    v("label", label);
    v("to", to);
    v("form", form);
    v("steps", steps);
    v("factors", factors);
    v("words", words);
  }
};

struct ToyBroadcastAttrs {
  std::string auto_broadcast = "numpy";
  template <class V>
  void visit(V& v) {
    v("auto_broadcast", auto_broadcast);
  }
};
struct ToyVariableAttrs {
  std::string variable_id;
  template <class V>
  void visit(V& v) {
    v("variable_id", variable_id, ir::Presence::required);
  }
};
struct ToyConvertAttrs {
  element::Type destination_type = element::f32;
  template <class V>
  void visit(V& v) {
    v("destination_type", destination_type, ir::Presence::required);
  }
};

inline void infer_as_first(ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); }

inline ir::OpSchema toy(const char* type, const char* opset, ir::Arity arity, ir::InferFn infer) {
  ir::OpSchema schema;
  schema.type = type;
  schema.opset = opset;
  schema.arity = arity;
  schema.infer = infer;
  return schema;
}

/// Parameter, Const, Result and the control flow of the library, and: Add-1 (numpy broadcasting), Subtract-1, ReLU-1,
/// Convert-1, Toy-1 (all attributes; output as input), Halves-1 (any number of outputs, each like the input), Refuse-1,
/// ReadValue-6, Assign-6, MVN-2, GRUCell-3.
const ir::OpRegistry& toy_registry();

}  // namespace terroir::test

namespace terroir::ir {
template <>
struct EnumSpellings<test::ToyMode> {
  static constexpr std::string_view names[] = {"first", "second"};
};
}  // namespace terroir::ir

namespace terroir::test {

inline const ir::OpRegistry& toy_registry() {
  static const ir::OpRegistry registry = [] {
    ir::OpRegistry r;
    ir::OpRegistry library;
    ops::register_all(library);
    for (const char* type : {"Parameter", "Const", "Result", "TensorIterator", "Loop", "If"})
      if (const ir::OpSchema* schema = library.find(type, "opset16")) r.add(*schema);
    const auto infer_add = [](ir::InferContext& ctx) {
      PartialShape shape = ctx.shape(0);
      ctx.require(PartialShape::broadcast_merge_into(shape, ctx.shape(1), op::AutoBroadcastType::NUMPY), "the shapes ",
                  ctx.shape(0), " and ", ctx.shape(1), " do not broadcast");
      ctx.require(ctx.type(0).compatible(ctx.type(1)), "the types ", ctx.type(0), " and ", ctx.type(1), " differ");
      ctx.set_output(0, ctx.type(0), shape);
    };
    for (const char* type : {"Add", "Subtract"}) {
      ir::OpSchema schema = toy(type, "opset1", {2, 2, 1}, infer_add);
      schema.make_attributes = &ir::make_attributes<ToyBroadcastAttrs>;
      r.add(schema);
    }
    r.add(toy("ReLU", "opset1", {1, 1, 1}, infer_as_first));
    r.add(toy("MVN", "opset2", {1, 1, 1}, infer_as_first));
    r.add(toy("GRUCell", "opset3", {1, 1, 1}, infer_as_first));
    ir::OpSchema convert = toy("Convert", "opset1", {1, 1, 1}, [](ir::InferContext& ctx) {
      ctx.set_output(0, ctx.attrs<ToyConvertAttrs>().destination_type, ctx.shape(0));
    });
    convert.make_attributes = &ir::make_attributes<ToyConvertAttrs>;
    r.add(convert);
    ir::OpSchema all = toy("Toy", "opset1", {1, 2, 1}, infer_as_first);
    all.make_attributes = &ir::make_attributes<ToyAttrs>;
    r.add(all);
    ir::OpSchema halves = toy("Halves", "opset1", {1, 1, ir::kVariadic}, [](ir::InferContext& ctx) {
      ctx.set_output(0, ctx.type(0), ctx.shape(0));
      ctx.set_output(1, ctx.type(0), ctx.shape(0));
    });
    r.add(halves);
    r.add(toy("Refuse", "opset1", {1, 1, 1}, [](ir::InferContext& ctx) { ctx.fail("refused: ", ctx.shape(0)); }));
    ir::OpSchema read = toy("ReadValue", "opset6", {0, 1, 1}, infer_as_first);
    read.make_attributes = &ir::make_attributes<ToyVariableAttrs>;
    read.flags.pure = false;
    r.add(read);
    ir::OpSchema assign = toy("Assign", "opset6", {1, 1, 1}, infer_as_first);
    assign.make_attributes = &ir::make_attributes<ToyVariableAttrs>;
    assign.flags.pure = false;
    r.add(assign);
    return r;
  }();
  return registry;
}

}  // namespace terroir::test
