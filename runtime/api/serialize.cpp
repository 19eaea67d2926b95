#include "terroir/serialize.hpp"

#include "ir/base/error.hpp"
#include "ir/xml/writer.hpp"
#include "runtime/api/graph_state.hpp"

namespace terroir {

void serialize(const std::shared_ptr<const Model>& model, const std::string& xml_path, const std::string& bin_path) {
  if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
  ir::write_model(*detail::ModelAccess::state(*model)->graph, xml_path, bin_path);
}

}  // namespace terroir
