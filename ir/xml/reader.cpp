#include "ir/xml/reader.hpp"

#include <filesystem>

#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/short_memory.hpp"
#include "ir/xml/build.hpp"
#include "ir/xml/legacy.hpp"
#include "ir/xml/walk.hpp"

namespace terroir::ir {
namespace {

std::unique_ptr<Graph> read(std::string_view xml_text, const std::string& file, const xml::Weights& weights,
                            const OpRegistry& registry, const ReaderOptions& options) {
  const xml::Warn warn = [&options](const std::string& text) {
    if (options.on_warning)
      options.on_warning(text);
    else
      TERROIR_LOG(warning, text);
  };
  const auto what = [&] { return "to read the model" + (file.empty() ? "" : " '" + file + "'"); };
  return with_memory(what, [&] {
    const xml::ModelRecord model = xml::walk_model(xml_text, file, warn);
    const bool high_nibble_first = xml::stores_high_nibble_first(model.rt_info);
    auto graph =
        xml::build_graph(model.graph, {registry, weights, warn, model.file, options.strict, high_nibble_first});
    graph->set_name(std::string(model.name));
    graph->set_ir_version(model.version);
    graph->rt_info() = model.rt_info;
    if (!model.pre_process.empty()) xml::apply_pre_process(*graph, model, registry);
    if (model.version == 10) xml::apply_v10_rules(*graph, model, registry);
    return graph;
  });
}

}  // namespace

std::string weights_beside(const std::string& xml_path) {
  return std::filesystem::path(xml_path).replace_extension(".bin").string();
}

std::unique_ptr<Graph> read_model(const std::string& xml_path, const std::string& bin_path, const OpRegistry& registry,
                                  const ReaderOptions& options) {
  const MappedFile file(xml_path);
  const std::filesystem::path weights_path = bin_path.empty() ? weights_beside(xml_path) : bin_path;
  const auto weights = xml::Weights::open(weights_path, /*required=*/!bin_path.empty(), options.map_weights);
  return read({file.chars(), file.size()}, xml_path, weights, registry, options);
}

std::unique_ptr<Graph> read_model_from_memory(std::string_view xml_text, std::shared_ptr<const void> owner,
                                              const std::byte* weights, size_t weight_bytes, const OpRegistry& registry,
                                              const ReaderOptions& options) {
  return read(xml_text, "", xml::Weights(std::move(owner), weights, weight_bytes), registry, options);
}

}  // namespace terroir::ir
