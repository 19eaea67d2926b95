// Runtime information goes from layers to those that take their place.
//
// What: copy_runtime_info() gives each layer of `to`, and Constants without information that it reads, what the layers
//       of `from` have; entries of other names stay. What only one of `from` has is copied, what several have is not,
//       but for the names of fused layers, which are joined, and for a RuntimeAttribute, whose merge() says what they
//       become. Entries that tell of the layer itself are never copied: that it is a decompression, must not be folded,
//       ..., and a RuntimeAttribute to where its is_copyable() says no.
// Threads: as changes of the model.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "terroir/node.hpp"
#include "terroir/runtime_attribute.hpp"

namespace terroir {

namespace detail {

inline RTMap& rt_info_of(const std::shared_ptr<Node>& layer) { return layer->get_rt_info(); }
inline RTMap& rt_info_of(Output<Node> port) { return port.get_rt_info(); }
inline bool is_constant(const Output<Node>& source) { return is_named(*source.get_node(), "Constant"); }

inline bool stays_with_its_layer(const std::string& name) {
  static const std::set<std::string> names{"opset",
                                           "decompression",
                                           "dequantization_node",
                                           "precise",
                                           "nms_selected_indices",
                                           "nonconvertable_divide",
                                           "old_api_map_element_type",
                                           "old_api_map_order",
                                           "DisableConstantFolding",
                                           "keep_const_precision"};
  return names.count(name) != 0;
}

/// "a,b" and "b,c": "a,b,c".
inline Any join_names(const std::vector<const Any*>& records) {
  std::set<std::string> names;
  for (const Any* record : records) {
    std::istringstream list(Any(record->as<AnyMap>()["value"]).as<std::string>());
    for (std::string name; std::getline(list, name, ',');) names.insert(name);
  }
  AnyMap joined = records.front()->as<AnyMap>();
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  joined["value"] = text;
  return joined;
}

inline bool may_come_to(const RuntimeAttribute* attribute, const std::shared_ptr<Node>& layer) {
  return attribute == nullptr || attribute->is_copyable(layer);
}
inline bool may_come_to(const RuntimeAttribute* attribute, const Output<Node>&) {
  return attribute == nullptr || attribute->is_copyable();
}

/// What several layers or outputs have under one name becomes this; empty: nothing.
template <typename Item>
Any merged(const std::string& name, const std::vector<const Any*>& values, const std::vector<Item>& owners) {
  if (const RuntimeAttribute* attribute = values.front()->runtime_attribute()) return attribute->merge(owners);
  return name == "fused_names" ? join_names(values) : Any();
}

template <typename Item>
void copy_rt_info(const std::vector<Item>& from, std::vector<Item> to) {
  struct Found {
    std::vector<const Any*> values;
    std::vector<Item> owners;
  };
  std::map<std::string, Found> found;
  for (const Item& item : from) {
    for (const auto& [name, value] : rt_info_of(item)) {
      if (stays_with_its_layer(name)) continue;
      found[name].values.push_back(&value);
      found[name].owners.push_back(item);
    }
  }
  RTMap joined;
  for (const auto& [name, of_name] : found) {
    Any value = of_name.values.size() == 1 ? *of_name.values.front() : merged(name, of_name.values, of_name.owners);
    if (!value.empty()) joined.emplace(name, std::move(value));
  }
  for (const Item& item : to) {
    for (const auto& [name, value] : joined) {
      if (may_come_to(value.runtime_attribute(), item)) rt_info_of(item)[name] = value;
    }
  }
}

}  // namespace detail

inline void copy_runtime_info(const NodeVector& from, NodeVector to) {
  for (size_t i = 0, listed = to.size(); i < listed; ++i) {
    for (const Output<Node>& source : to[i]->input_values()) {
      const auto layer = source.get_node_shared_ptr();
      const auto same = [&](const auto& other) { return *other == *layer; };
      if (detail::is_constant(source) && layer->get_rt_info().empty() && std::none_of(to.begin(), to.end(), same))
        to.push_back(layer);
    }
  }
  detail::copy_rt_info(from, std::move(to));
}
inline void copy_runtime_info(const std::shared_ptr<Node>& from, const std::shared_ptr<Node>& to) {
  copy_runtime_info(NodeVector{from}, NodeVector{to});
}
inline void copy_runtime_info(const std::shared_ptr<Node>& from, NodeVector to) {
  copy_runtime_info(NodeVector{from}, std::move(to));
}
inline void copy_runtime_info(const NodeVector& from, const std::shared_ptr<Node>& to) {
  copy_runtime_info(from, NodeVector{to});
}

/// The same for the tensors of outputs, and of Constants that their layers read.
inline void copy_output_runtime_info(const OutputVector& from, OutputVector to) {
  for (size_t i = 0, listed = to.size(); i < listed; ++i) {
    for (Output<Node> source : to[i].get_node()->input_values()) {
      if (detail::is_constant(source) && source.get_rt_info().empty() &&
          std::find(to.begin(), to.end(), source) == to.end())
        to.push_back(source);
    }
  }
  detail::copy_rt_info(from, std::move(to));
}

}  // namespace terroir
