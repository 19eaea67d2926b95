// Every operation as a class: models made in code.
//
// Use: auto data = std::make_shared<op::v0::Parameter>(element::f32, Shape{1, 8});
//      auto half = op::v0::Constant::create(element::f32, Shape{}, {0.5f});
//      auto product = std::make_shared<op::v1::Multiply>(data, half);
//      Model model(OutputVector{std::make_shared<op::v0::Relu>(product)}, {data}, "halves");
// What: the classes of OpenVINO's namespace ov::op, by the versions of the operations; terroir/opsets.hpp has them by
//       sets. The constructors are OpenVINO's; every class also takes its inputs and its attributes by their names in
//       IR files:
//      std::make_shared<op::v0::PriorBoxClustered>(OutputVector{a, b}, AnyMap{{"width", "10,20"}, ...});
// Errors: Exception from the constructor: invalid_argument and not_found for attributes, and what the operation
// refuses.
#pragma once

#include "terroir/graph_util.hpp"
#include "terroir/model.hpp"
#include "terroir/op/activation.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/control_flow.hpp"
#include "terroir/op/convolution.hpp"
#include "terroir/op/detection.hpp"
#include "terroir/op/embedding.hpp"
#include "terroir/op/ends.hpp"
#include "terroir/op/framework_node.hpp"
#include "terroir/op/image.hpp"
#include "terroir/op/interpolate.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/op/movement.hpp"
#include "terroir/op/normalization.hpp"
#include "terroir/op/pooling.hpp"
#include "terroir/op/recurrent.hpp"
#include "terroir/op/regions.hpp"
#include "terroir/op/selection.hpp"
#include "terroir/op/signals.hpp"
#include "terroir/op/state.hpp"
#include "terroir/op/suppression.hpp"

#define TERROIR_OP_UNARY(space, Name, type, set, Base)                          \
  namespace terroir::op::space {                                                \
  class Name : public Base {                                                    \
    TERROIR_LAYER_OF(Base, Name, type, #set)                                    \
    explicit Name(const Output<Node>& operand) : Name(OutputVector{operand}) {} \
  };                                                                            \
  }
#define TERROIR_OP_BINARY(space, Name, type, set, Base)                      \
  namespace terroir::op::space {                                             \
  class Name : public Base {                                                 \
    TERROIR_LAYER_OF(Base, Name, type, #set)                                 \
    Name(const Output<Node>& a, const Output<Node>& b,                       \
         const AutoBroadcastSpec& auto_broadcast = AutoBroadcastType::NUMPY) \
        : Name(OutputVector{a, b}, detail::broadcasting(auto_broadcast)) {}  \
  };                                                                         \
  }
#define TERROIR_OP_REDUCE(space, Name, type, set, Base)                              \
  namespace terroir::op::space {                                                     \
  class Name : public Base {                                                         \
    TERROIR_LAYER_OF(Base, Name, type, #set)                                         \
    Name(const Output<Node>& data, const Output<Node>& axes, bool keep_dims = false) \
        : Name(OutputVector{data, axes}, {{"keep_dims", keep_dims}}) {}              \
  };                                                                                 \
  }
#define TERROIR_OP_WRITTEN(space, Name, type, set)
#include "terroir/op/ops.inc"
#undef TERROIR_OP_UNARY
#undef TERROIR_OP_BINARY
#undef TERROIR_OP_REDUCE
#undef TERROIR_OP_WRITTEN
