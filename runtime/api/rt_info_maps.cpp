#include "runtime/api/rt_info_maps.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ir/base/error.hpp"

namespace terroir::detail {

namespace {

using Owner = RtInfoMaps::Owner;
using Of = RtInfoMaps::Of;
using ir::RtInfo;
using ir::RtTree;

constexpr std::string_view kUserData = "user_data";

const RtTree* child_of(const RtTree& tree, std::string_view name) {
  const auto child =
      std::find_if(tree.children.begin(), tree.children.end(), [&](const auto& entry) { return entry.first == name; });
  return child != tree.children.end() ? &child->second : nullptr;
}

RtTree& make_child(RtTree& tree, std::string_view name) {
  if (const RtTree* child = child_of(tree, name)) return const_cast<RtTree&>(*child);
  return tree.children.emplace_back(name, RtTree()).second;
}

Any to_any(const RtTree& tree) {
  if (tree.children.empty()) return tree.value;
  AnyMap map;
  for (const auto& [name, child] : tree.children) map.emplace(name, to_any(child));
  return map;
}

RtTree to_tree(const Any& value) {
  RtTree tree;
  if (const auto* map = value.get_if<AnyMap>()) {
    for (const auto& [name, item] : *map) tree.children.emplace_back(name, to_tree(item));
  } else {
    tree.value = value.as<std::string>();
  }
  return tree;
}

// A graph's key "user_data/outer/inner" or "custom/outer/inner", in which a backslash stands before slashes of names
// (ir/xml/walk.cpp), and the path of it.
std::vector<std::string> nested_path(const std::string& key) {
  std::vector<std::string> path;
  for (size_t i = key.find('/'); i < key.size(); ++i) {
    if (key[i] == '/') {
      path.emplace_back();
    } else {
      if (key[i] == '\\' && i + 1 < key.size()) ++i;
      path.back() += key[i];
    }
  }
  return path;
}
std::string nested_key(const std::string& outer, std::string_view name) {
  std::string key = outer + '/';
  for (const char c : name) {
    if (c == '/' || c == '\\') key += '\\';
    key += c;
  }
  return key;
}
bool is_user_data(const std::string& key) { return key.starts_with("user_data/"); }
bool is_nested(const std::string& key) { return is_user_data(key) || key.starts_with("custom/"); }

bool is_plain(const RtInfo::mapped_type& fields) { return fields.size() == 1 && fields.begin()->first.empty(); }

RtTree to_tree(const RtInfo& info) {
  RtTree tree;
  for (const auto& [key, fields] : info) {
    if (is_nested(key)) {
      std::vector<std::string> path = nested_path(key);
      if (is_user_data(key)) path.front().insert(0, kUserData);
      RtTree* node = &tree;
      for (const std::string& name : path) node = &make_child(*node, name);
      if (const auto value = fields.find("value"); value != fields.end()) node->value = value->second;
    } else if (is_plain(fields)) {
      make_child(tree, key).value = fields.begin()->second;
    } else {
      for (const auto& [field, value] : fields) make_child(make_child(tree, key), field).value = value;
    }
  }
  return tree;
}

bool is_record(const RtTree& tree) { return child_of(tree, "version") != nullptr; }
bool names_user_data(const std::string& name) { return name.size() > kUserData.size() && name.starts_with(kUserData); }

// Objects have no text but the name of their type, and that of a pointer is an address.
bool has_text(const Any& value) {
  if (const auto* map = value.get_if<AnyMap>())
    return std::all_of(map->begin(), map->end(), [](const auto& entry) { return has_text(entry.second); });
  const std::string_view type = value.type_info().name();
  return !value.empty() && value.runtime_attribute() == nullptr && type.front() != 'P' &&
         type.find("shared_ptr") == type.npos && value.as<std::string>() != concat("<", value.type_info().name(), ">");
}

bool is_written(const Owner& owner, const std::string& name, const Any& value, const RtTree& tree) {
  return owner.of == Of::model || names_user_data(name) || is_record(tree) ||
         (!name.starts_with("__") && has_text(value));
}

void write_nested(const std::string& key, const RtTree& tree, RtInfo& info) {
  auto& fields = info[key];
  if (is_user_data(key)) fields["version"];
  if (tree.children.empty()) fields["value"] = tree.value;
  for (const auto& [name, child] : tree.children) write_nested(nested_key(key, name), child, info);
}

/// No tree: the entry is gone.
void write_entry(const std::string& name, const RtTree* tree, RtInfo& info) {
  const auto known = info.find(name);
  if (known != info.end() && is_plain(known->second) && tree != nullptr && tree->children.empty()) {
    known->second.begin()->second = tree->value;
    return;
  }
  const std::string key = names_user_data(name)
                              ? nested_key(std::string(kUserData), std::string_view(name).substr(kUserData.size()))
                              : nested_key("custom", name);
  info.erase(name);
  std::erase_if(info, [&](const auto& entry) { return entry.first == key || entry.first.starts_with(key + '/'); });
  if (tree == nullptr) return;
  if (!names_user_data(name) && is_record(*tree)) {
    for (const auto& [field, value] : tree->children) info[name][field] = value.value;
  } else {
    write_nested(key, *tree, info);
  }
}

void write_entry(const std::string& name, const RtTree* tree, RtTree& root) {
  if (tree != nullptr) {
    make_child(root, name) = *tree;
  } else {
    std::erase_if(root.children, [&](const auto& child) { return child.first == name; });
  }
}

const RtInfo& texts(const ir::Graph& graph, const Owner& owner) {
  static const RtInfo none;
  const ir::Node& node = graph.node(owner.node);
  const auto index = static_cast<size_t>(owner.index);
  switch (owner.of) {
    case Of::input:
      return index < node.input_rt_info.size() ? node.input_rt_info[index] : none;
    case Of::output:
      return index < node.outputs.size() ? node.outputs[index].rt_info : none;
    default:
      return node.rt_info;
  }
}

RtInfo& writable_texts(ir::Graph& graph, const Owner& owner) {
  ir::Node& node = graph.node(owner.node);
  const auto index = static_cast<size_t>(owner.index);
  if (owner.of == Of::input && node.input_rt_info.size() <= index) node.input_rt_info.resize(index + 1);
  return const_cast<RtInfo&>(texts(graph, owner));
}

void write_entry(ir::Graph& graph, const Owner& owner, const std::string& name, const RtTree* tree) {
  if (owner.of == Of::model) {
    write_entry(name, tree, graph.rt_info());
  } else {
    write_entry(name, tree, writable_texts(graph, owner));
  }
}

bool is_there(const ir::Graph& graph, const Owner& owner) {
  if (owner.of == Of::model) return true;
  if (!graph.contains(owner.node)) return false;
  const ir::Node& node = graph.node(owner.node);
  const auto index = static_cast<size_t>(owner.index);
  return index < (owner.of == Of::input ? node.inputs.size() : owner.of == Of::output ? node.outputs.size() : 1);
}

RtTree tree_in(const ir::Graph& graph, const Owner& owner) {
  return owner.of == Of::model ? graph.rt_info() : to_tree(texts(graph, owner));
}

}  // namespace

void RtInfoMaps::take_over(Entry& entry, RtTree now) {
  for (const auto& [name, tree] : now.children) {
    const RtTree* before = child_of(entry.told, name);
    if (before == nullptr || *before != tree) entry.map[name] = to_any(tree);
  }
  for (const auto& [name, tree] : entry.told.children) {
    if (child_of(now, name) == nullptr) entry.map.erase(name);
  }
  entry.told = std::move(now);
}

AnyMap& RtInfoMaps::at(const ir::Graph& graph, const Owner& owner) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[owner];
  take_over(entry, tree_in(graph, owner));
  return entry.map;
}

AnyMap* RtInfoMaps::find(const ir::Graph& graph, const Owner& owner) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(owner);
  if (entry == entries_.end()) return nullptr;
  take_over(entry->second, tree_in(graph, owner));
  return &entry->second.map;
}

bool RtInfoMaps::differ(const ir::Graph& graph, ir::Graph* copy) {
  const std::lock_guard lock(mutex_);
  bool any = false;
  for (auto& [owner, entry] : entries_) {
    if (!is_there(graph, owner)) continue;
    take_over(entry, tree_in(graph, owner));
    for (const auto& [name, value] : entry.map) {
      const RtTree* told = child_of(entry.told, name);
      const RtTree tree = to_tree(value);
      // Compared as what was made of the texts: a tree may say more than a map can hold.
      if (told != nullptr ? to_tree(to_any(*told)) == tree : !is_written(owner, name, value, tree)) continue;
      any = true;
      if (copy != nullptr) write_entry(*copy, owner, name, &tree);
    }
    for (const auto& [name, tree] : entry.told.children) {
      if (entry.map.count(name) != 0) continue;
      any = true;
      if (copy != nullptr) write_entry(*copy, owner, name, nullptr);
    }
  }
  return any;
}

void RtInfoMaps::rename(ir::NodeId from, ir::NodeId to) {
  std::vector<ir::NodeId> there(ir::index_of(from) + 1, ir::NodeId::none);
  there.back() = to;
  hand_over(*this, there, true);
}

void RtInfoMaps::hand_over(RtInfoMaps& to, const std::vector<ir::NodeId>& there, bool moved) {
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto entry = next++;
    const Owner& owner = entry->first;
    if (owner.of == Of::model || ir::index_of(owner.node) >= there.size()) continue;
    const Owner now{owner.of, there[ir::index_of(owner.node)], owner.index};
    if (now.node == ir::NodeId::none) continue;
    if (!moved) {
      to.entries_.insert_or_assign(now, entry->second);
      continue;
    }
    auto part = entries_.extract(entry);
    part.key() = now;
    to.entries_.insert(std::move(part));
  }
}

void RtInfoMaps::copy_to(RtInfoMaps& copy, const ir::Graph& graph) {
  const std::lock_guard lock(mutex_);
  for (const auto& [owner, entry] : entries_) {
    if (is_there(graph, owner)) copy.entries_[owner] = {entry.map, tree_in(graph, owner)};
  }
}

}  // namespace terroir::detail
