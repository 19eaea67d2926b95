#include "runtime/plugin/stored_model.hpp"

#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/stored/attributes.hpp"
#include "ir/stored/graph.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/variables.hpp"

namespace terroir::plugin {
namespace {

void store_port(const PortInfo& port, ByteWriter& to) {
  ir::store_type(port.type, to);
  ir::store_shape(port.shape, to);
  to.list(port.names, [&to](const std::string& name) { to.text(name); });
  to.text(port.node_name);
  to.text(port.producer_name);
  ir::store_rt_info(port.rt_info, to);
}

PortInfo load_port(ByteReader& from) {
  PortInfo port;
  port.type = ir::load_type(from);
  port.shape = ir::load_shape(from);
  port.names = from.list([&from] { return from.text(); });
  port.node_name = from.text();
  port.producer_name = from.text();
  port.rt_info = ir::load_rt_info(from);
  return port;
}

}  // namespace

void store_compiled(const CompiledGraph& compiled, ArchiveWriter& archive) {
  ByteWriter& to = archive.content();
  to.text(compiled.device());
  to.put(compiled.config().execution_mode);
  ir::store_type(compiled.config().inference_precision, to);
  const ir::Graph* source = compiled.source();
  to.put(static_cast<uint8_t>(source != nullptr));
  if (source != nullptr)
    store_graph(*source, archive);
  else
    compiled.save(archive);
}

std::shared_ptr<const CompiledGraph> load_compiled(const Plugin& plugin, Archive& archive, const Config& settings,
                                                   const ir::OpRegistry& operations) {
  const std::string device = archive.content().text();
  if (device != plugin.device_name())
    throw_error(ErrorCode::unsupported, "it was compiled for ", device, ", not for ", plugin.device_name());
  Config config = settings;
  const auto mode = archive.content().take<hint::ExecutionMode>();
  ByteReader::require(mode == hint::ExecutionMode::PERFORMANCE || mode == hint::ExecutionMode::ACCURACY);
  config.execution_mode = mode;
  config.inference_precision = ir::load_type(archive.content());
  if (!archive.content().flag()) return plugin.load(archive, config, operations);
  return compile_with_variables(plugin, load_graph(archive, operations), config);
}

void store_face(const CompiledGraph& compiled, ByteWriter& to) {
  to.text(compiled.name());
  for (const auto* ports : {&compiled.inputs(), &compiled.outputs()})
    to.list(*ports, [&to](const PortInfo& port) { store_port(port, to); });
}

StoredFace load_face(ByteReader& from) {
  StoredFace face{from.text(), {}, {}};
  for (auto* ports : {&face.inputs, &face.outputs}) *ports = from.list([&from] { return load_port(from); });
  return face;
}

void store_graph(const ir::Graph& graph, ArchiveWriter& archive) {
  const auto constant = [&archive](const ir::Constant& value, ByteWriter& to) { archive.store_constant(value, to); };
  ir::store_graph(graph, ir::NodeCodec(ops::builtin_registry()), constant, archive.content());
}

std::unique_ptr<ir::Graph> load_graph(Archive& archive, const ir::OpRegistry& operations) {
  const auto constant = [&archive](ByteReader& from) { return archive.load_constant(from); };
  return ir::load_graph(ir::NodeCodec(operations), constant, archive.content());
}

void store_weightless(const ir::Graph& graph, const std::filesystem::path& weights, ArchiveWriter& archive) {
  const std::optional<FileSignature> file = FileSignature::of(weights);
  const auto constant = [&](const ir::Constant& value, ByteWriter& to) {
    const auto place = MappedFile::place_of(value.view.data, value.view.bytes());
    const bool in_file = place && file == place->signature;
    to.put(static_cast<uint8_t>(in_file));
    if (!in_file) return archive.store_constant(value, to);
    ir::store_type(value.view.type, to);
    to.numbers(value.view.dims);
    to.put(static_cast<uint64_t>(place->offset));
  };
  ir::store_graph(graph, ir::NodeCodec(ops::builtin_registry()), constant, archive.content());
}

std::unique_ptr<ir::Graph> load_weightless(Archive& archive, const std::filesystem::path& weights,
                                           const ir::OpRegistry& operations) {
  std::shared_ptr<const MappedFile> file;
  const auto constant = [&](ByteReader& from) -> ir::Constant {
    if (!from.flag()) return archive.load_constant(from);
    if (!file) file = MappedFile::open(weights);
    ir::Constant value{{ir::load_type(from), from.numbers<int64_t>(), nullptr}, file};
    const auto offset = from.take<uint64_t>();
    ByteReader::require(value.view.type != element::string && offset <= file->size() &&
                        value.view.bytes() <= file->size() - offset);
    value.view.data = file->chars() + offset;
    return value;
  };
  return ir::load_graph(ir::NodeCodec(operations), constant, archive.content());
}

}  // namespace terroir::plugin
