// How elementwise operations broadcast, and layouts, as attributes of a program's own layer.
#pragma once

#include <string>

#include "terroir/attribute_visitor.hpp"
#include "terroir/layout.hpp"
#include "terroir/op/attributes.hpp"

namespace terroir {
namespace detail {

/// A type and an axis: visitor.on_attribute("name", spec) names "name" and "name.AXIS", as files do.
template <typename Adapter, typename Spec>
class BroadcastSpecAdapter : public VisitorAdapter {
 public:
  explicit BroadcastSpecAdapter(Spec& value) : value_(value) {}
  bool visit_attributes(AttributeVisitor& visitor) override {
    const std::string name = visitor.finish_structure();
    visitor.on_attribute(name, value_.m_type);
    visitor.start_structure(name);
    visitor.on_attribute(Adapter::kAxis, value_.m_axis);
    return true;
  }
  const DiscreteTypeInfo& get_type_info() const override { return Adapter::get_type_info_static(); }

 private:
  Spec& value_;
};

}  // namespace detail

/// "auto_broadcast", "auto_broadcast.auto_broadcast_axis".
template <>
class AttributeAdapter<op::AutoBroadcastSpec>
    : public detail::BroadcastSpecAdapter<AttributeAdapter<op::AutoBroadcastSpec>, op::AutoBroadcastSpec> {
 public:
  static constexpr const char* kAxis = "auto_broadcast_axis";
  using BroadcastSpecAdapter::BroadcastSpecAdapter;
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"AttributeAdapter<AutoBroadcastSpec>", "0"};
    return info;
  }
};

/// Of Broadcast: "mode", "mode.axis".
template <>
class AttributeAdapter<op::BroadcastModeSpec>
    : public detail::BroadcastSpecAdapter<AttributeAdapter<op::BroadcastModeSpec>, op::BroadcastModeSpec> {
 public:
  static constexpr const char* kAxis = "axis";
  using BroadcastSpecAdapter::BroadcastSpecAdapter;
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"AttributeAdapter<BroadcastModeSpec>", "0"};
    return info;
  }
};

/// Layout::to_string().
template <>
class AttributeAdapter<Layout> : public ValueAccessor<std::string> {
 public:
  explicit AttributeAdapter(Layout& value) : value_(value) {}
  const std::string& get() override { return text_ = value_.to_string(); }
  void set(const std::string& value) override { value_ = Layout(value); }
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"AttributeAdapter<Layout>", "0"};
    return info;
  }
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }

 private:
  Layout& value_;
  std::string text_;
};

}  // namespace terroir
