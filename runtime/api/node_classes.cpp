// What classes of layers are called, and what they are derived from.
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ops/registry.hpp"
#include "runtime/api/framework_node.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/api/model_ends.hpp"
#include "terroir/op/framework_node.hpp"
#include "terroir/op/op.hpp"
#include "terroir/ops.hpp"

namespace terroir::detail {

namespace {

struct Row {
  const char* type;
  const char* opset;
  const DiscreteTypeInfo* info;
};
#define TERROIR_ROW(space, Name, type, set, ...) {type, #set, &op::space::Name::get_type_info_static()},
#define TERROIR_OP_UNARY TERROIR_ROW
#define TERROIR_OP_BINARY TERROIR_ROW
#define TERROIR_OP_REDUCE TERROIR_ROW
#define TERROIR_OP_WRITTEN TERROIR_ROW
constexpr Row kRows[] = {
#include "terroir/op/ops.inc"
};

using InfoOfSchema = std::unordered_map<const ir::OpSchema*, const DiscreteTypeInfo*>;
InfoOfSchema info_of_rows() {
  InfoOfSchema infos;
  for (const Row& row : kRows) infos.emplace(&ops::builtin_registry().get(row.type, row.opset), row.info);
  return infos;
}

/// Of operations without a class in terroir/ops.hpp: those of extensions and of the program. Entries are never changed,
/// and live as long as the process.
struct OtherClasses {
  using Key = std::pair<std::string, std::string>;
  struct Less {
    using is_transparent = void;
    using View = std::pair<std::string_view, std::string_view>;
    bool operator()(const View& a, const View& b) const { return a < b; }
  };

  std::mutex mutex;
  std::map<Key, DiscreteTypeInfo, Less> named;
  std::map<Key, DiscreteTypeInfo, Less> told;  // by their classes

  const DiscreteTypeInfo& get(std::string_view type, std::string_view opset) {
    const Less::View key(type, opset);
    const std::lock_guard lock(mutex);
    if (const auto known = told.find(key); known != told.end()) return known->second;
    if (const auto known = named.find(key); known != named.end()) return known->second;
    const auto added = named.emplace(Key(type, opset), DiscreteTypeInfo()).first;
    added->second = {added->first.first.c_str(), added->first.second.c_str(), nullptr};
    return added->second;
  }
};
OtherClasses& other_classes() {
  static OtherClasses& classes = *new OtherClasses;
  return classes;
}

}  // namespace

const DiscreteTypeInfo& class_info(const ir::OpSchema& schema) {
  static const InfoOfSchema& known = *new InfoOfSchema(info_of_rows());
  const auto found = known.find(&schema);
  if (found != known.end()) return *found->second;
  if (is_framework_node(schema)) return op::util::FrameworkNode::get_type_info_static();
  const ir::OpSchema& its = listed(schema);
  return &its != &schema ? class_info(its) : other_classes().get(class_name(schema.type), schema.opset);
}

void know_class(const DiscreteTypeInfo& info) {
  OtherClasses& classes = other_classes();
  const std::lock_guard lock(classes.mutex);
  classes.told.emplace(OtherClasses::Key(info.name, info.version_id), info);
}

}  // namespace terroir::detail
