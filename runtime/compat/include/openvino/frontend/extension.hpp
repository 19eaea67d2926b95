// The OpenVINO header of this name: which operation of a framework is which class of layers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/extension.hpp"
#include "openvino/core/op_extension.hpp"

namespace terroir::frontend {

/// Says nothing to a Core, which reads IR alone: there the layers of a class are known by terroir::OpExtension.
/// Libraries that bring both to every runtime may stay as they are.
template <typename Layer = void>
class OpExtension : public Extension {
 public:
  using Names = std::map<std::string, std::string>;
  using Values = std::map<std::string, Any>;
  explicit OpExtension(const Names& = {}, const Values& = {}) {}
  explicit OpExtension(const std::string&, const Names& = {}, const Values& = {}) {}
  OpExtension(const std::vector<std::string>&, const std::vector<std::string>&, const Names& = {}, const Values& = {}) {
  }
  OpExtension(const std::string&, const std::vector<std::string>&, const std::vector<std::string>&, const Names& = {},
              const Values& = {}) {}
  const terroir_extension* description() const override {
    static const terroir_extension nothing{
        sizeof(terroir_extension), TERROIR_ABI_VERSION, "operations of frameworks", 0, nullptr, 0, nullptr};
    return &nothing;
  }
};

}  // namespace terroir::frontend
