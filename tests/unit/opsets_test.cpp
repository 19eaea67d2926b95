// The sets have every operation once, in the version of their time, also for programs that use them without a prefix.
#include "terroir/opsets.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace {

using Classes = std::map<std::string, terroir::DiscreteTypeInfo>;  // by name

}  // namespace

// What a program sees after `using namespace`; two versions of a name would be ambiguous here.
#define TERROIR_IN_SET(space, Name) classes.emplace(#Name, Name::get_type_info_static());

static Classes classes_of_set_1() {
  using namespace terroir::opset1;
  Classes classes;
#define TERROIR_SET 1
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_2() {
  using namespace terroir::opset2;
  Classes classes;
#define TERROIR_SET 2
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_3() {
  using namespace terroir::opset3;
  Classes classes;
#define TERROIR_SET 3
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_4() {
  using namespace terroir::opset4;
  Classes classes;
#define TERROIR_SET 4
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_5() {
  using namespace terroir::opset5;
  Classes classes;
#define TERROIR_SET 5
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_6() {
  using namespace terroir::opset6;
  Classes classes;
#define TERROIR_SET 6
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_7() {
  using namespace terroir::opset7;
  Classes classes;
#define TERROIR_SET 7
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_8() {
  using namespace terroir::opset8;
  Classes classes;
#define TERROIR_SET 8
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_9() {
  using namespace terroir::opset9;
  Classes classes;
#define TERROIR_SET 9
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_10() {
  using namespace terroir::opset10;
  Classes classes;
#define TERROIR_SET 10
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_11() {
  using namespace terroir::opset11;
  Classes classes;
#define TERROIR_SET 11
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_12() {
  using namespace terroir::opset12;
  Classes classes;
#define TERROIR_SET 12
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_13() {
  using namespace terroir::opset13;
  Classes classes;
#define TERROIR_SET 13
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_14() {
  using namespace terroir::opset14;
  Classes classes;
#define TERROIR_SET 14
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_15() {
  using namespace terroir::opset15;
  Classes classes;
#define TERROIR_SET 15
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

static Classes classes_of_set_16() {
  using namespace terroir::opset16;
  Classes classes;
#define TERROIR_SET 16
#include "terroir/op/sets.inc"
#undef TERROIR_SET
  return classes;
}

namespace terroir {
namespace {

/// What ops.inc says of set `number`.
Classes expected(int number) {
  Classes newest;
  std::map<std::string, int> since;
  const auto add = [&](const char* name, const std::string& set, const DiscreteTypeInfo& type) {
    const int introduced = std::stoi(set.substr(5));
    if (introduced > number || introduced < since[name]) return;
    since[name] = introduced;
    newest.insert_or_assign(name, type);
  };
#define TERROIR_ROW(space, Name, in_files, set, ...) add(#Name, #set, op::space::Name::get_type_info_static());
#include "tests/support/every_op.inc"
  return newest;
}

TEST(Opsets, HaveTheNewestVersionsOfTheirTime) {
  Classes (*const sets[])() = {&classes_of_set_1,  &classes_of_set_2,  &classes_of_set_3,  &classes_of_set_4,
                               &classes_of_set_5,  &classes_of_set_6,  &classes_of_set_7,  &classes_of_set_8,
                               &classes_of_set_9,  &classes_of_set_10, &classes_of_set_11, &classes_of_set_12,
                               &classes_of_set_13, &classes_of_set_14, &classes_of_set_15, &classes_of_set_16};
  int number = 0;
  for (const auto set : sets) {
    SCOPED_TRACE(++number);
    const Classes classes = set(), wanted = expected(number);
    EXPECT_EQ(classes.size(), wanted.size());
    for (const auto& [name, type] : wanted) {
      const auto found = classes.find(name);
      ASSERT_NE(found, classes.end()) << name;
      EXPECT_EQ(found->second, type) << name;
    }
  }
}

}  // namespace
}  // namespace terroir
