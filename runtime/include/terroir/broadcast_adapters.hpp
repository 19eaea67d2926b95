// How elementwise operations broadcast, as an attribute of a program's own layer.
#pragma once

#include "terroir/attribute_visitor.hpp"
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

}  // namespace terroir
