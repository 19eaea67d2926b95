#include "terroir/serialize.hpp"

#include "ir/base/error.hpp"
#include "ir/xml/writer.hpp"
#include "runtime/api/graph_state.hpp"

namespace terroir {

void serialize(const std::shared_ptr<const Model>& model, const std::string& xml_path, const std::string& bin_path,
               pass::Serialize::Version version) {
  if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
  ir::write_model(*detail::ModelAccess::state(*model)->needed_graph(), xml_path, bin_path,
                  version == pass::Serialize::Version::IR_V10 ? ir::IrVersion::v10 : ir::IrVersion::v11);
}

}  // namespace terroir
