#include "ops/op_rows.hpp"

#include <algorithm>
#include <tuple>

namespace terroir::ops {

#define TERROIR_OP(opset, type, name, ...) ir::OpSchema name();
#include "ops/op_list.inc"
#undef TERROIR_OP

namespace {

enum class Sizes { inferred, sizes_itself };

std::vector<OpRow> sorted_rows() {
  using ir::ElementTypes;
  using namespace ir::types;
  using enum Narrow;
  using enum Sizes;
  std::vector<OpRow> rows;
  const auto add = [&rows](const char* opset, const char* type, ir::OpSchema (*make)(), const char* inputs,
                           ElementTypes allowed, Narrow narrow, Sizes sizes = inferred) {
    rows.push_back({type, opset, make, make().infer, {inputs, allowed, narrow}, sizes == sizes_itself});
  };
#define TERROIR_OP(opset, type, name, ...) add(#opset, #type, &name, __VA_ARGS__);
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

const OpRow* find_row(const ir::OpSchema& schema) {
  const auto before = [](const OpRow& row, const ir::OpSchema& wanted) {
    const int order = row.type.compare(wanted.type);
    return order != 0 ? order < 0 : row.opset < wanted.opset;
  };
  const auto found = std::lower_bound(op_rows().begin(), op_rows().end(), schema, before);
  return found != op_rows().end() && found->type == schema.type && found->opset == schema.opset ? &*found : nullptr;
}

}  // namespace terroir::ops
