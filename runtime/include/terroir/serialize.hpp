// Writing a model as IR.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>

#include "terroir/export.hpp"
#include "terroir/model.hpp"
#include "terroir/pass/pass.hpp"

namespace terroir {

namespace pass {

/// As OpenVINO's pass of this name: `Serialize(xml, bin, version).run_on_model(model)` is serialize().
class Serialize : public ModelPass {
 public:
  enum class Version : uint8_t {
    UNSPECIFIED = 0,  ///< the newest: 11
    IR_V10 = 10,      ///< for releases until 2022.1
    IR_V11 = 11
  };

  explicit Serialize(std::string xml_path, std::string bin_path = {}, Version version = Version::UNSPECIFIED)
      : xml_path_(std::move(xml_path)), bin_path_(std::move(bin_path)), version_(version) {}
  /// Streams, which must live until the model has been written.
  Serialize(std::ostream& xml, std::ostream& bin, Version version = Version::UNSPECIFIED)
      : xml_(&xml), bin_(&bin), version_(version) {}
  /// False: the model stays as it is.
  inline bool run_on_model(const std::shared_ptr<Model>& model) override;

 private:
  std::string xml_path_, bin_path_;
  std::ostream *xml_ = nullptr, *bin_ = nullptr;
  Version version_;
};

}  // namespace pass

/// Writes the .xml and, for its constants, the .bin (default: the same name with the extension .bin). Reading them
/// gives the same model, attributes and constants bit for bit. Version 10 has no runtime information (layouts, say),
/// which is left out, and names inputs and outputs by their layers too. Throws Exception: file_not_found if a file
/// cannot be written; unsupported, with the layer's name, for what version 10 cannot express (operations after opset8,
/// newer element types, inputs and outputs of types that its readers convert); invalid_argument if two tensors would
/// get the same name in it.
TERROIR_API void serialize(const std::shared_ptr<const Model>& model, const std::string& xml_path,
                           const std::string& bin_path = {},
                           pass::Serialize::Version version = pass::Serialize::Version::UNSPECIFIED);
/// The same into streams. Throws Exception (general) if one of them fails, too.
TERROIR_API void serialize(const std::shared_ptr<const Model>& model, std::ostream& xml, std::ostream& bin,
                           pass::Serialize::Version version = pass::Serialize::Version::UNSPECIFIED);

/// As serialize(), and with half the weights: constants of floating-point numbers are stored as f16, each with a
/// Convert back to its type, unless they have less than 32 numbers, one that is beyond the range of f16, or three
/// quarters that would become zeros. The model itself stays as it is.
TERROIR_API void save_model(const std::shared_ptr<const Model>& model, const std::string& output_model,
                            bool compress_to_fp16 = true);

inline bool pass::Serialize::run_on_model(const std::shared_ptr<Model>& model) {
  if (xml_ != nullptr) {
    serialize(model, *xml_, *bin_, version_);
  } else {
    serialize(model, xml_path_, bin_path_, version_);
  }
  return false;
}

}  // namespace terroir
