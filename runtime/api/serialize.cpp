#include "terroir/serialize.hpp"

#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/short_memory.hpp"
#include "ir/xml/writer.hpp"
#include "runtime/api/graph_state.hpp"

namespace terroir {

namespace {

using FileVersion = pass::Serialize::Version;

void write(const std::shared_ptr<const Model>& model, FunctionRef<void(const ir::Graph&)> to) {
  if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
  detail::GraphState& state = *detail::ModelAccess::state(*model);
  with_memory_for("to write the model", state.graph->name(), [&] { to(*state.needed_graph()); });
}

ir::IrVersion ir_version(FileVersion version) {
  return version == FileVersion::IR_V10 ? ir::IrVersion::v10 : ir::IrVersion::v11;
}

}  // namespace

void serialize(const std::shared_ptr<const Model>& model, const std::string& xml_path, const std::string& bin_path,
               FileVersion version) {
  write(model, [&](const ir::Graph& graph) { ir::write_model(graph, xml_path, bin_path, ir_version(version)); });
}

void serialize(const std::shared_ptr<const Model>& model, std::ostream& xml, std::ostream& bin, FileVersion version) {
  write(model, [&](const ir::Graph& graph) { ir::write_model(graph, xml, bin, ir_version(version)); });
  if (!xml.flush() || !bin.flush()) throw_error(ErrorCode::general, "the model cannot be written: a stream failed");
}

}  // namespace terroir
