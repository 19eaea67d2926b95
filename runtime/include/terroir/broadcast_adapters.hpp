// How elementwise operations broadcast, as an attribute of a program's own layer.
#pragma once

#include "terroir/attribute_visitor.hpp"
#include "terroir/op/attributes.hpp"

namespace terroir {

/// visitor.on_attribute("auto_broadcast", spec) names "auto_broadcast", and "auto_broadcast.auto_broadcast_axis", as
/// files do.
template <>
class AttributeAdapter<op::AutoBroadcastSpec> : public VisitorAdapter {
 public:
  explicit AttributeAdapter(op::AutoBroadcastSpec& value) : value_(value) {}
  bool visit_attributes(AttributeVisitor& visitor) override {
    const std::string name = visitor.finish_structure();
    visitor.on_attribute(name, value_.m_type);
    visitor.start_structure(name);
    visitor.on_attribute("auto_broadcast_axis", value_.m_axis);
    return true;
  }
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"AttributeAdapter<AutoBroadcastSpec>", "0"};
    return info;
  }
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }

 private:
  op::AutoBroadcastSpec& value_;
};

/// The same of Broadcast: "mode", "mode.axis".
template <>
class AttributeAdapter<op::BroadcastModeSpec> : public VisitorAdapter {
 public:
  explicit AttributeAdapter(op::BroadcastModeSpec& value) : value_(value) {}
  bool visit_attributes(AttributeVisitor& visitor) override {
    const std::string name = visitor.finish_structure();
    visitor.on_attribute(name, value_.m_type);
    visitor.start_structure(name);
    visitor.on_attribute("axis", value_.m_axis);
    return true;
  }
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"AttributeAdapter<BroadcastModeSpec>", "0"};
    return info;
  }
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }

 private:
  op::BroadcastModeSpec& value_;
};

}  // namespace terroir
