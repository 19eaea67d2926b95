#include "ops/op_rows.hpp"

#include <algorithm>
#include <tuple>

namespace terroir::ops {

#define TERROIR_OP(opset, type, name, inputs, allowed, narrow) ir::OpSchema name();
#include "ops/op_list.inc"
#undef TERROIR_OP

namespace {

std::vector<OpRow> sorted_rows() {
  using ir::ElementTypes;
  using namespace ir::types;
  using enum Narrow;
  std::vector<OpRow> rows;
  const auto add = [&rows](const char* opset, const char* type, ir::OpSchema (*make)(), const char* inputs,
                           ElementTypes allowed, Narrow narrow) {
    rows.push_back({type, opset, make, make().infer, {inputs, allowed, narrow}});
  };
#define TERROIR_OP(opset, type, name, inputs, allowed, narrow) add(#opset, #type, &name, inputs, allowed, narrow);
#include "ops/op_list.inc"
#undef TERROIR_OP
  std::sort(rows.begin(), rows.end(),
            [](const OpRow& a, const OpRow& b) { return std::tie(a.type, a.opset) < std::tie(b.type, b.opset); });
  return rows;
}

}  // namespace

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = sorted_rows();
  return rows;
}

}  // namespace terroir::ops
