// Writing a model as IR v11.
#pragma once

#include <memory>
#include <string>

#include "terroir/export.hpp"
#include "terroir/model.hpp"

namespace terroir {

/// Writes the .xml and, for its constants, the .bin (default: the same name with the extension .bin). Reading them
/// gives the same model, attributes and constants bit for bit. Throws Exception (file_not_found) if a file cannot be
/// written.
TERROIR_API void serialize(const std::shared_ptr<const Model>& model, const std::string& xml_path,
                           const std::string& bin_path = {});

/// save_model() of OpenVINO: the same as serialize() without a change of precision.
inline void save_model(const std::shared_ptr<const Model>& model, const std::string& xml_path) {
  serialize(model, xml_path);
}

}  // namespace terroir
