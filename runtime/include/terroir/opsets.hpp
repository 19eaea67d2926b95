// The operation sets opset1 to opset16: the classes of terroir/ops.hpp by the sets that contain them.
//
// What: opsetN::Name is the newest version of an operation that is in set N or an earlier one, and the only one that a
// program sees which says `using namespace terroir::opsetN`.
#pragma once

#include "terroir/ops.hpp"

#define TERROIR_IN_SET(space, Name) using op::space::Name;

namespace terroir::opset1 {
#define TERROIR_SET 1
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset1

namespace terroir::opset2 {
#define TERROIR_SET 2
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset2

namespace terroir::opset3 {
#define TERROIR_SET 3
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset3

namespace terroir::opset4 {
#define TERROIR_SET 4
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset4

namespace terroir::opset5 {
#define TERROIR_SET 5
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset5

namespace terroir::opset6 {
#define TERROIR_SET 6
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset6

namespace terroir::opset7 {
#define TERROIR_SET 7
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset7

namespace terroir::opset8 {
#define TERROIR_SET 8
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset8

namespace terroir::opset9 {
#define TERROIR_SET 9
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset9

namespace terroir::opset10 {
#define TERROIR_SET 10
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset10

namespace terroir::opset11 {
#define TERROIR_SET 11
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset11

namespace terroir::opset12 {
#define TERROIR_SET 12
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset12

namespace terroir::opset13 {
#define TERROIR_SET 13
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset13

namespace terroir::opset14 {
#define TERROIR_SET 14
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset14

namespace terroir::opset15 {
#define TERROIR_SET 15
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset15

namespace terroir::opset16 {
#define TERROIR_SET 16
#include "terroir/op/sets.inc"
#undef TERROIR_SET
}  // namespace terroir::opset16

#undef TERROIR_IN_SET
