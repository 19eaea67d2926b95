#pragma once
// What: Elementwise of the set "cpu": several elementwise ops whose results have one shape, as one node, made by the
// pass fuse_elementwise. Its inputs are the members' operands from outside; its output is the last member's.
// Shapes: operands broadcast as the members say. Types: any.
#include <memory>
#include <string>
#include <vector>

#include "ir/schema/attributes.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kElementwiseType = "Elementwise";

struct ElementwiseMember {
  const ir::OpSchema* schema = nullptr;
  std::shared_ptr<const ir::Attributes> attributes;
  /// i: input i of the node; -1 - m: the result of member m, an earlier one.
  std::vector<int> operands;
};

struct ElementwiseAttrs {
  std::vector<ElementwiseMember> members;

  template <class V>
  void visit(V& v) {
    std::vector<std::string> texts = member_texts();
    v("members", texts);
  }
  /// "Select(#0, m0, #2)": inputs by #, members by m, attributes left out.
  std::vector<std::string> member_texts() const;
};

ir::OpSchema elementwise_schema();

}  // namespace terroir::cpu
