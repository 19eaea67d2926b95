// A model as files have it.
#pragma once

#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "terroir/terroir.hpp"

namespace terroir {

inline std::shared_ptr<Model> read_back(const std::shared_ptr<const Model>& model) {
  std::stringstream xml;
  std::stringstream bin;
  serialize(model, xml, bin);
  const std::string weights = bin.str();
  Tensor bytes(element::u8, Shape{weights.size()});
  std::memcpy(bytes.data(), weights.data(), weights.size());
  return Core().read_model(xml.str(), bytes);
}

}  // namespace terroir
