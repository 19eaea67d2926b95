// A model as one stream: OpenVINO's pass of this name, and its format.
//
// What: a header of six numbers, then data of the program's, the constants, and the text of the .xml. Reading it back
// is
//       the program's: Core::read_model(text, tensor of the constants).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

#include "terroir/pass/pass.hpp"
#include "terroir/serialize.hpp"

namespace terroir {
namespace pass {

class StreamSerialize : public ModelPass {
 public:
  /// Bytes from the beginning of the stream's part, which the header is in, too.
  struct DataHeader {
    size_t custom_data_offset;
    size_t custom_data_size;
    size_t consts_offset;
    size_t consts_size;
    size_t model_offset;
    size_t model_size;
  };

  /// `custom_data` writes the program's, `encrypt` changes the text of the model.
  explicit StreamSerialize(std::ostream& stream, std::function<void(std::ostream&)> custom_data = {},
                           std::function<std::string(const std::string&)> encrypt = {},
                           Serialize::Version version = Serialize::Version::UNSPECIFIED)
      : stream_(stream), custom_data_(std::move(custom_data)), encrypt_(std::move(encrypt)), version_(version) {}

  /// False: the model stays as it is. Throws Exception as serialize().
  bool run_on_model(const std::shared_ptr<Model>& model) override {
    std::ostringstream custom, xml, bin;
    if (custom_data_) custom_data_(custom);
    serialize(model, xml, bin, version_);
    const std::string text = encrypt_ ? encrypt_(xml.str()) : xml.str();
    DataHeader header{};
    header.custom_data_offset = sizeof header;
    header.custom_data_size = custom.str().size();
    header.consts_offset = header.custom_data_offset + header.custom_data_size;
    header.consts_size = bin.str().size();
    header.model_offset = header.consts_offset + header.consts_size;
    header.model_size = text.size();
    stream_.write(reinterpret_cast<const char*>(&header), sizeof header);
    stream_ << custom.str() << bin.str() << text;
    if (!stream_) throw Exception(ErrorCode::general, "the stream that the model is written to fails");
    return false;
  }

 private:
  std::ostream& stream_;
  std::function<void(std::ostream&)> custom_data_;
  std::function<std::string(const std::string&)> encrypt_;
  Serialize::Version version_;
};

}  // namespace pass
}  // namespace terroir
