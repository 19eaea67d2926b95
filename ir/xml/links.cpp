#include "ir/xml/links.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/xml/values.hpp"

namespace terroir::ir::xml {
namespace {

/// Positions of port ids in a list. Ids nearly always run on, so the position is computed first and looked up after.
class PortIndex {
 public:
  explicit PortIndex(const std::vector<PortRecord>& ports) : ports_(ports) {}

  std::optional<size_t> find(int64_t id) {
    if (ports_.empty()) return std::nullopt;
    const auto guess = static_cast<uint64_t>(id) - static_cast<uint64_t>(ports_.front().id);
    if (guess < ports_.size() && ports_[guess].id == id) return guess;
    if (positions_.empty())
      for (size_t i = 0; i < ports_.size(); ++i) positions_.emplace(ports_[i].id, i);
    const auto found = positions_.find(id);
    return found == positions_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const std::vector<PortRecord>& ports_;
  std::unordered_map<int64_t, size_t> positions_;
};

class Resolver {
 public:
  Resolver(const GraphRecord& record, const std::string& file) : record_(record), file_(file) {}

  Links run() {
    index_layers();
    for (const EdgeRecord& edge : record_.edges) connect(edge);
    find_needed();
    check_fed();
    return std::move(links_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(int32_t line, const Parts&... parts) const {
    throw Exception(ErrorCode::parse_error, place(file_, line) + ": " + concat(parts...));
  }

  void index_layers() {
    const size_t count = record_.layers.size();
    links_.position_of.reserve(count);
    links_.inputs.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const LayerRecord& layer = record_.layers[i];
      const auto [place_of, added] = links_.position_of.emplace(layer.id, i);
      if (!added)
        fail(layer.line, "two layers have the id ", layer.id, ": ", describe(record_.layers[place_of->second], file_),
             " and ", describe(layer, file_));
      check_ports(layer, layer.inputs, "input");
      check_ports(layer, layer.outputs, "output");
      links_.inputs[i].resize(layer.inputs.size());
      input_index_.emplace_back(layer.inputs);
      output_index_.emplace_back(layer.outputs);
    }
  }

  void check_ports(const LayerRecord& layer, const std::vector<PortRecord>& ports, const char* kind) {
    ids_.clear();
    for (const PortRecord& port : ports) ids_.push_back(port.id);
    std::sort(ids_.begin(), ids_.end());
    const auto twice = std::adjacent_find(ids_.begin(), ids_.end());
    if (twice != ids_.end()) fail(layer.line, describe(layer, file_), " has two ", kind, " ports with the id ", *twice);
  }

  size_t layer_at(const EdgeRecord& edge, int64_t id, const char* attribute) const {
    const auto found = links_.position_of.find(id);
    if (found == links_.position_of.end())
      fail(edge.line, "the edge from layer ", edge.from_layer, " port ", edge.from_port, " to layer ", edge.to_layer,
           " port ", edge.to_port, ": there is no layer ", id, " (attribute '", attribute, "')");
    return found->second;
  }

  static std::string ids_of(const std::vector<PortRecord>& ports) {
    constexpr size_t kMost = 16;
    std::string text;
    for (size_t i = 0; i < std::min(ports.size(), kMost); ++i) text += (i ? ", " : "") + std::to_string(ports[i].id);
    return text.empty() ? "none" : text + (ports.size() > kMost ? ", ..." : "");
  }

  void connect(const EdgeRecord& edge) {
    const size_t from = layer_at(edge, edge.from_layer, "from-layer"), to = layer_at(edge, edge.to_layer, "to-layer");
    const LayerRecord &source = record_.layers[from], &target = record_.layers[to];
    const auto output = output_index_[from].find(edge.from_port);
    if (!output)
      fail(edge.line, "the edge to ", describe(target, file_), ": ", describe(source, file_), " has no output port ",
           edge.from_port, "; its output ports: ", ids_of(source.outputs));
    if (equal_ignoring_case(source.type, kResultType))
      fail(edge.line, "the edge to ", describe(target, file_), ": ", describe(source, file_),
           " is an end of the model, nothing can be fed from it");
    const auto input = input_index_[to].find(edge.to_port);
    if (!input)
      fail(edge.line, "the edge from ", describe(source, file_), ": ", describe(target, file_), " has no input port ",
           edge.to_port, "; its input ports: ", ids_of(target.inputs));
    auto& slot = links_.inputs[to][*input];
    if (slot)
      fail(edge.line, "input port ", edge.to_port, " of ", describe(target, file_), " is fed twice: by ",
           describe(record_.layers[slot->layer], file_), " and by ", describe(source, file_));
    slot = Source{from, static_cast<int32_t>(*output)};
  }

  void find_needed() {
    links_.needed.assign(record_.layers.size(), false);
    std::vector<size_t> pending;
    for (size_t i = 0; i < record_.layers.size(); ++i) {
      const std::string_view type = record_.layers[i].type;
      const bool end = equal_ignoring_case(type, kResultType) || equal_ignoring_case(type, "Assign");
      if (end) pending.push_back(i);
      if (end || equal_ignoring_case(type, kParameterType)) links_.needed[i] = true;
    }
    if (pending.empty()) fail(record_.line, "the graph has no outputs: a layer of type Result is expected");
    while (!pending.empty()) {
      const size_t current = pending.back();
      pending.pop_back();
      for (const auto& input : links_.inputs[current]) {
        if (!input || links_.needed[input->layer]) continue;
        links_.needed[input->layer] = true;
        pending.push_back(input->layer);
      }
    }
  }

  void check_fed() const {
    for (size_t i = 0; i < record_.layers.size(); ++i) {
      if (!links_.needed[i]) continue;
      const LayerRecord& layer = record_.layers[i];
      for (size_t k = 0; k < layer.inputs.size(); ++k)
        if (!links_.inputs[i][k])
          fail(layer.inputs[k].line, "input port ", layer.inputs[k].id, " of ", describe(layer, file_),
               " is not fed: an <edge> to it is expected");
    }
  }

  const GraphRecord& record_;
  const std::string& file_;
  Links links_;
  std::vector<PortIndex> input_index_, output_index_;
  std::vector<int64_t> ids_;
};

}  // namespace

Links resolve_links(const GraphRecord& record, const std::string& file) { return Resolver(record, file).run(); }

}  // namespace terroir::ir::xml
