// Runtime information of types that a program defines.
//
// Use: class Origin : public RuntimeAttribute {
//       public:
//        static const DiscreteTypeInfo& get_type_info_static();  // OPENVINO_RTTI of the compatibility headers
//        std::string to_string() const override { ... }
//      };
//      layer->get_rt_info()[Origin::get_type_info_static()] = Origin("importer");
// What: an attribute is a value as others are: copy_runtime_info() copies it, files do not have it. It asks
//       is_copyable() of the layer that is to get it, and merge() where several layers have one of the same name;
//       init() is for the program to ask.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "terroir/any.hpp"
#include "terroir/node.hpp"

namespace terroir {

class AttributeVisitor;

class RuntimeAttribute {
 public:
  using Ptr = std::shared_ptr<RuntimeAttribute>;

  virtual ~RuntimeAttribute() = default;
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"RuntimeAttribute", ""};
    return info;
  }
  virtual const DiscreteTypeInfo& get_type_info() const { return get_type_info_static(); }

  virtual bool is_copyable() const { return true; }
  virtual bool is_copyable(const std::shared_ptr<Node>& /*to*/) const { return is_copyable(); }
  virtual Any init(const std::shared_ptr<Node>& /*layer*/) const { return {}; }
  virtual Any merge(const NodeVector& /*layers*/) const { return {}; }
  virtual Any merge(const OutputVector& /*ports*/) const { return {}; }
  virtual bool is_deterministic() const { return true; }
  /// What is printed.
  virtual std::string to_string() const { return {}; }
  virtual bool visit_attributes(AttributeVisitor&) { return false; }

 protected:
  RuntimeAttribute() = default;
  RuntimeAttribute(const RuntimeAttribute&) = default;
  RuntimeAttribute& operator=(const RuntimeAttribute&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const RuntimeAttribute& attribute) {
  return out << attribute.to_string();
}

}  // namespace terroir
