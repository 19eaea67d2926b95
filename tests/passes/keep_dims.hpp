#pragma once
// What: whether reductions keep the axes that they reduce.
#include "tests/support/attribute_setter.hpp"

namespace terroir::test {

inline const AttributeTexts kKeep = {{"keep_dims", "true"}}, kDrop = {{"keep_dims", "false"}};

}  // namespace terroir::test
