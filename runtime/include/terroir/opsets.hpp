// The operation sets opset1 to opset16: the classes of terroir/ops.hpp by the sets that contain them.
//
// What: opsetN::Name is the newest version of an operation that is in set N or an earlier one.
// Limits: `using namespace opset8` makes names with several versions ambiguous; write opset8::MaxPool.
#pragma once

#include "terroir/ops.hpp"

// What a set declares itself hides what it has from the set before it.
namespace terroir {
namespace opset1 {}
namespace opset2 {
using namespace opset1;
}
namespace opset3 {
using namespace opset2;
}
namespace opset4 {
using namespace opset3;
}
namespace opset5 {
using namespace opset4;
}
namespace opset6 {
using namespace opset5;
}
namespace opset7 {
using namespace opset6;
}
namespace opset8 {
using namespace opset7;
}
namespace opset9 {
using namespace opset8;
}
namespace opset10 {
using namespace opset9;
}
namespace opset11 {
using namespace opset10;
}
namespace opset12 {
using namespace opset11;
}
namespace opset13 {
using namespace opset12;
}
namespace opset14 {
using namespace opset13;
}
namespace opset15 {
using namespace opset14;
}
namespace opset16 {
using namespace opset15;
}
}  // namespace terroir

#define TERROIR_OP_IN_SET(space, Name, type, set) \
  namespace terroir::set {                        \
  using op::space::Name;                          \
  }
#define TERROIR_OP_OF_KIND(space, Name, type, set, Base) TERROIR_OP_IN_SET(space, Name, type, set)
#define TERROIR_OP_UNARY TERROIR_OP_OF_KIND
#define TERROIR_OP_BINARY TERROIR_OP_OF_KIND
#define TERROIR_OP_REDUCE TERROIR_OP_OF_KIND
#define TERROIR_OP_WRITTEN TERROIR_OP_IN_SET
#include "terroir/op/ops.inc"
#undef TERROIR_OP_UNARY
#undef TERROIR_OP_BINARY
#undef TERROIR_OP_REDUCE
#undef TERROIR_OP_WRITTEN
#undef TERROIR_OP_OF_KIND
#undef TERROIR_OP_IN_SET
