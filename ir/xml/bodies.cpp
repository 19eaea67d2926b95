#include "ir/xml/bodies.hpp"

#include <algorithm>
#include <limits>

#include "ir/base/error.hpp"

namespace terroir::ir::xml {
namespace {

class PortMapBuilder {
 public:
  PortMapBuilder(const LayerRecord& layer, const BodyRecord& record, const Graph& body, const NodeOfLayer& node_of,
                 const std::string& file)
      : layer_(layer), record_(record), body_(body), node_of_(node_of), file_(file) {}

  BodyPortMap run() {
    index_inputs();
    index_outputs();
    for (const PortMapRecord& entry : record_.ports) {
      if (entry.is_input)
        add_input(entry);
      else
        add_output(entry);
    }
    for (const BackEdgeRecord& edge : record_.back_edges)
      map_.back_edges.push_back(
          {node(edge.from_layer, kResultType, edge.line), node(edge.to_layer, kParameterType, edge.line)});
    check_parameters();
    return std::move(map_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(int32_t line, const Parts&... parts) const {
    throw Exception(ErrorCode::parse_error, place(file_, line) + ": " + concat(record_.role, ": ", parts...));
  }

  NodeId node(int64_t id, std::string_view type, int32_t line) const {
    const auto found = node_of_.find(id);
    if (found == node_of_.end()) fail(line, "there is no layer ", id, " in the body; a ", type, " is expected");
    if (!body_.node(found->second).is(type))
      fail(line, "layer ", id, " of the body is ", body_.node(found->second).describe(), ", a ", type, " is expected");
    return found->second;
  }

  void index_inputs() {
    for (size_t i = 0; i < layer_.inputs.size(); ++i) input_of_port_.emplace(layer_.inputs[i].id, i);
    fed_.assign(body_.id_bound(), false);
  }

  /// The port ids of the layer where all outputs use them; else, as some writers number from 0 or from the number of
  /// inputs, their rank.
  void index_outputs() {
    for (size_t i = 0; i < layer_.outputs.size(); ++i) output_of_port_.emplace(layer_.outputs[i].id, i);
    std::vector<int64_t> ids;
    for (const PortMapRecord& entry : record_.ports)
      if (!entry.is_input && entry.external_port >= 0) ids.push_back(entry.external_port);
    if (std::all_of(ids.begin(), ids.end(), [&](int64_t id) { return output_of_port_.contains(id); })) return;
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    output_of_port_.clear();
    for (size_t i = 0; i < ids.size(); ++i) output_of_port_.emplace(ids[i], i);
  }

  void check_slice(const PortMapRecord& entry) const {
    if (!entry.axis) return;
    if (entry.stride == 0) fail(entry.line, "attribute 'stride' must not be 0");
    if (entry.stride < -std::numeric_limits<int32_t>::max() || entry.stride > std::numeric_limits<int32_t>::max())
      fail(entry.line, "attribute 'stride' is out of range: ", entry.stride);
    if (entry.part_size < 1) fail(entry.line, "attribute 'part_size' must be positive, got ", entry.part_size);
    const auto max_rank = static_cast<int64_t>(kMaxRank);
    if (*entry.axis < -max_rank || *entry.axis >= max_rank)
      fail(entry.line, "attribute 'axis' is out of range: ", *entry.axis);
  }

  void add_input(const PortMapRecord& entry) {
    check_slice(entry);
    BodyPortMap::Input input;
    input.parameter = node(entry.internal_layer, kParameterType, entry.line);
    input.axis = entry.axis;
    input.start = entry.start;
    input.end = entry.end;
    input.stride = entry.stride;
    input.part_size = entry.part_size;
    input.current_iteration = entry.purpose == "current_iteration";
    if (!input.current_iteration) {
      if (!entry.purpose.empty())
        fail(entry.line, "purpose '", entry.purpose, "' of an input must be current_iteration");
      const auto at = input_of_port_.find(entry.external_port);
      if (at == input_of_port_.end())
        fail(entry.line, "external_port_id ", entry.external_port, " is no input port of ", describe(layer_, file_));
      input.external_port = static_cast<int64_t>(at->second);
    }
    if (fed_[index_of(input.parameter)])
      fail(entry.line, body_.node(input.parameter).describe(), " is fed by two entries");
    fed_[index_of(input.parameter)] = true;
    map_.inputs.push_back(input);
  }

  void add_output(const PortMapRecord& entry) {
    check_slice(entry);
    BodyPortMap::Output output;
    output.result = node(entry.internal_layer, kResultType, entry.line);
    output.axis = entry.axis;
    output.start = entry.start;
    output.end = entry.end;
    output.stride = entry.stride;
    output.part_size = entry.part_size;
    output.execution_condition = entry.purpose == "execution_condition";
    if (!output.execution_condition && !entry.purpose.empty())
      fail(entry.line, "purpose '", entry.purpose, "' of an output must be execution_condition");
    // The condition of a Loop may be an output besides.
    if (entry.external_port >= 0) {
      const auto at = output_of_port_.find(entry.external_port);
      if (at == output_of_port_.end() || at->second >= layer_.outputs.size())
        fail(entry.line, "external_port_id ", entry.external_port, " is no output port of ", describe(layer_, file_));
      output.external_port = static_cast<int64_t>(at->second);
    } else if (!output.execution_condition) {
      fail(entry.line, "external_port_id of an output must not be negative, got ", entry.external_port);
    }
    map_.outputs.push_back(output);
  }

  void check_parameters() const {
    for (NodeId id : body_.parameters())
      if (!fed_[index_of(id)] && !body_.uses({id, 0}).empty())
        fail(layer_.line, body_.node(id).describe(), " is not fed: an <input> of the port map is expected");
    std::vector<bool> carried(body_.id_bound(), false);
    for (const auto& edge : map_.back_edges) carried[index_of(edge.parameter)] = true;
    for (const auto& input : map_.inputs)
      if (carried[index_of(input.parameter)] && (input.axis || input.current_iteration))
        fail(layer_.line, body_.node(input.parameter).describe(), " is carried by a back edge and cannot be sliced");
  }

  const LayerRecord& layer_;
  const BodyRecord& record_;
  const Graph& body_;
  const NodeOfLayer& node_of_;
  const std::string& file_;
  BodyPortMap map_;
  std::unordered_map<int64_t, size_t> input_of_port_, output_of_port_;
  std::vector<bool> fed_;  // by node of the body
};

}  // namespace

BodyPortMap build_ports(const LayerRecord& layer, const BodyRecord& record, const Graph& body,
                        const NodeOfLayer& node_of, const std::string& file) {
  return PortMapBuilder(layer, record, body, node_of, file).run();
}

void check_roles(const LayerRecord& layer, const std::string& type) {
  const auto require = [&](std::initializer_list<const char*> roles) {
    for (const char* role : roles)
      if (std::none_of(layer.bodies.begin(), layer.bodies.end(), [&](auto& body) { return body.role == role; }))
        throw_error(ErrorCode::parse_error, type, " has no <", role, ">");
    for (const BodyRecord& body : layer.bodies)
      if (std::find(roles.begin(), roles.end(), body.role) == roles.end())
        throw_error(ErrorCode::parse_error, type, " cannot have a <", body.role, ">");
  };
  if (type == "TensorIterator" || type == "Loop") require({"body"});
  if (type == "If") require({"then_body", "else_body"});
  for (const BodyRecord& body : layer.bodies)
    if (!body.graph) throw_error(ErrorCode::parse_error, "a port map for <", body.role, ">, which is missing");
}

}  // namespace terroir::ir::xml
