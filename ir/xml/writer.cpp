#include "ir/xml/writer.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <pugixml.hpp>

#include "ir/base/error.hpp"
#include "ir/base/pending_file.hpp"
#include "ir/graph/names.hpp"
#include "ir/graph/order.hpp"
#include "ir/xml/version10.hpp"
#include "ir/xml/weights.hpp"
#include "ir/xml/weights_writer.hpp"

namespace terroir::ir {
namespace {

bool is_tag(std::string_view name) {
  const auto starts = [](unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; };
  if (name.empty() || !starts(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return starts(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.';
  });
}

std::string precision(element::Type type) {
  switch (type) {
    case element::Type_t::dynamic:
      return "dynamic";  // newer releases write so; their older ones wrote UNSPECIFIED, which is read as well
    case element::Type_t::boolean:
      return "BOOL";
    case element::Type_t::u1:
      return "BIN";
    case element::Type_t::f16:
      return "FP16";
    case element::Type_t::f32:
      return "FP32";
    case element::Type_t::f64:
      return "FP64";
    default: {
      std::string name = type.get_type_name();
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      return name;
    }
  }
}

class Writer {
 public:
  Writer(xml::WeightsWriter& weights, IrVersion version) : weights_(weights), version_(version) {}

  void write(const Graph& graph, pugi::xml_document& document) {
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    declaration.append_attribute("version") = "1.0";
    pugi::xml_node net = document.append_child("net");
    set(net, "name", graph.name());
    net.append_attribute("version") = static_cast<int>(version_);
    write_graph(graph, net);
    if (version_ == IrVersion::v10) return write_writer_of(graph, net);
    pugi::xml_node info = net.append_child("rt_info");
    for (const auto& [key, tree] : graph.rt_info().children)
      if (key != "version" && key != "__weights_path") write_tree(key, tree, info);
  }

 private:
  /// Which release wrote the model that this one came from: it decides the order of 4-bit constants.
  static void write_writer_of(const Graph& graph, pugi::xml_node net) {
    for (const auto& [key, tree] : graph.rt_info().children)
      if (key == "MO_version" && !tree.value.empty())
        set(net.append_child("meta_data").append_child("MO_version"), "value", tree.value);
  }

  using LayerIds = std::vector<int64_t>;  // by node

  static void set(pugi::xml_node node, const char* attribute, const std::string& value) {
    if (value.find('\0') != std::string::npos)
      throw_error(ErrorCode::unsupported, "attribute '", attribute, "' of <", node.name(),
                  "> contains a zero byte, which XML cannot hold");
    node.append_attribute(attribute) = value.c_str();
  }

  static std::vector<NodeId> layer_order(const Graph& graph) {
    std::vector<NodeId> order = graph.parameters();
    for (NodeId id : topological_order(graph))
      if (!graph.node(id).is(kParameterType) && !graph.node(id).is(kResultType)) order.push_back(id);
    order.insert(order.end(), graph.results().begin(), graph.results().end());
    return order;
  }

  LayerIds write_graph(const Graph& graph, pugi::xml_node parent) {
    const auto order = layer_order(graph);
    LayerIds ids(graph.id_bound(), -1);
    for (size_t i = 0; i < order.size(); ++i) ids[index_of(order[i])] = static_cast<int64_t>(i);
    pugi::xml_node layers = parent.append_child("layers");
    for (NodeId id : order) {
      const Node& node = graph.node(id);
      with_context([&] { return node.describe(); }, [&] { write_layer(graph, node, ids[index_of(id)], layers); });
    }
    pugi::xml_node edges = parent.append_child("edges");
    for (NodeId id : order) write_edges(graph, graph.node(id), ids, edges);
    return ids;
  }

  void write_layer(const Graph& graph, const Node& node, int64_t id, pugi::xml_node layers) {
    pugi::xml_node layer = layers.append_child("layer");
    layer.append_attribute("id") = static_cast<long long>(id);
    set(layer, "name", node.name);
    const std::string* layer_type = plain_text(node.rt_info, "layerType");
    set(layer, "type", layer_type != nullptr ? *layer_type : node.schema->type);
    if (!node.schema->opset.empty()) set(layer, "version", node.schema->opset);
    if (node.is(kResultType) && !node.outputs.empty() && !node.outputs[0].names.empty() && version_ != IrVersion::v10)
      set(layer, "output_names", joined_names(node.outputs[0].names));
    write_data(node, layer);
    write_rt_info(node.rt_info, layer);
    if (!node.inputs.empty()) {
      pugi::xml_node list = layer.append_child("input");
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const OutputPort& source = graph.port(node.inputs[i]);
        pugi::xml_node port = write_port(i, source.type, source.shape, list);
        if (i < node.input_rt_info.size()) write_rt_info(node.input_rt_info[i], port);
      }
    }
    if (!node.outputs.empty() && !node.is(kResultType)) {
      pugi::xml_node list = layer.append_child("output");
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const OutputPort& output = node.outputs[i];
        pugi::xml_node port = write_port(node.inputs.size() + i, output.type, output.shape, list);
        const auto names = tensor_names(graph, {node.id, static_cast<int32_t>(i)});
        if (!names.empty()) set(port, "names", joined_names(names));
        write_rt_info(output.rt_info, port);
      }
    }
    for (const Body& body : node.bodies) write_body(node, body, layer);
  }

  void write_data(const Node& node, pugi::xml_node layer) {
    const auto defaults = to_text(*node.schema->make_attributes());
    const auto is_default_list = [&](const AttributeText& attribute) {
      return std::any_of(defaults.begin(), defaults.end(),
                         [&](const AttributeText& d) { return d.name == attribute.name && d.empty_list; });
    };
    pugi::xml_node data = layer.append_child("data");
    for (const AttributeText& attribute : to_text(*node.attributes)) {
      const bool optional = attribute.presence == Presence::optional;
      if (optional && attribute.empty_list && is_default_list(attribute)) continue;
      set(data, attribute.name.c_str(), attribute.value);
    }
    if (node.constant) {
      const auto extent = weights_.add(*node.constant);
      data.append_attribute("offset") = static_cast<unsigned long long>(extent.offset);
      data.append_attribute("size") = static_cast<unsigned long long>(extent.size);
    }
    for (const auto& [name, fields] : node.rt_info) {
      const std::string* text = plain_text(node.rt_info, name);
      if (text != nullptr && name != "layerType") set(data, name.c_str(), *text);
    }
    if (!data.first_attribute()) layer.remove_child(data);
  }

  /// Runtime information that is no record; null if there is none of this name.
  static const std::string* plain_text(const RtInfo& info, const std::string& name) {
    const auto entry = info.find(name);
    if (entry == info.end() || entry->second.size() != 1 || !entry->second.begin()->first.empty()) return nullptr;
    return &entry->second.begin()->second;
  }

  static pugi::xml_node write_port(size_t id, element::Type type, const PartialShape& shape, pugi::xml_node list) {
    pugi::xml_node port = list.append_child("port");
    port.append_attribute("id") = static_cast<unsigned long long>(id);
    set(port, "precision", precision(type));
    if (shape.rank().is_static())
      for (const Dimension& d : shape)
        port.append_child("dim").text() = static_cast<long long>(d.is_static() ? d.get_length() : -1);
    return port;
  }

  static std::string joined_names(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
      if (name.empty() || name.back() == '\\')
        throw_error(ErrorCode::unsupported, "the tensor name '", name,
                    "' cannot be written: it is empty or ends in a backslash; rename the tensor");
      if (!text.empty()) text += ',';
      for (const char c : name) {
        if (c == ',') text += '\\';
        text += c;
      }
    }
    return text;
  }

  /// Keys "user_data/outer/inner" and "custom/outer/inner" are nested elements, all others <attribute>s.
  void write_rt_info(const RtInfo& info, pugi::xml_node parent) const {
    const auto is_plain = [&](const auto& entry) { return plain_text(info, entry.first) != nullptr; };
    if (std::all_of(info.begin(), info.end(), is_plain) || version_ == IrVersion::v10) return;
    pugi::xml_node list = parent.append_child("rt_info");
    std::map<std::string, pugi::xml_node> nested;
    for (const auto& [key, fields] : info) {
      if (plain_text(info, key) != nullptr) continue;  // see write_data()
      pugi::xml_node node;
      if (key.starts_with("user_data/") || key.starts_with("custom/")) {
        const size_t tag = key.find('/');
        const size_t slash = last_slash(key);
        const auto outer = nested.find(key.substr(0, slash));
        node = (outer == nested.end() ? list : outer->second).append_child(key.substr(0, tag).c_str());
        set(node, "name", unescaped(key.substr((outer == nested.end() ? tag : slash) + 1)));
        nested.emplace(key, node);
      } else {
        node = list.append_child("attribute");
        set(node, "name", key);
      }
      for (const auto& [field, value] : fields) {
        if (!is_tag(field) || field == "name")
          throw_error(ErrorCode::unsupported, "'", field, "' cannot be the name of a field of runtime information");
        set(node, field.c_str(), value);
      }
    }
  }

  static size_t last_slash(const std::string& key) {
    size_t last = std::string::npos;
    for (size_t i = 0; i < key.size(); ++i) {
      if (key[i] == '\\')
        ++i;
      else if (key[i] == '/')
        last = i;
    }
    return last;
  }
  static std::string unescaped(const std::string& name) {
    std::string result;
    for (size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '\\' && i + 1 < name.size()) ++i;
      result += name[i];
    }
    return result;
  }

  void write_edges(const Graph& graph, const Node& node, const LayerIds& ids, pugi::xml_node edges) {
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      std::vector<std::pair<int64_t, int32_t>> targets;
      for (const Use& use : graph.uses({node.id, static_cast<int32_t>(output)}))
        targets.emplace_back(ids[index_of(use.node)], use.input);
      std::sort(targets.begin(), targets.end());
      for (const auto& [layer, port] : targets) {
        pugi::xml_node edge = edges.append_child("edge");
        edge.append_attribute("from-layer") = static_cast<long long>(ids[index_of(node.id)]);
        edge.append_attribute("from-port") = static_cast<unsigned long long>(node.inputs.size() + output);
        edge.append_attribute("to-layer") = static_cast<long long>(layer);
        edge.append_attribute("to-port") = port;
      }
    }
  }

  void write_body(const Node& node, const Body& body, pugi::xml_node layer) {
    std::string map_tag = body.role;
    if (const size_t at = map_tag.find("body"); at != std::string::npos) map_tag.replace(at, 4, "port_map");
    pugi::xml_node ports = layer.append_child(map_tag.c_str());
    pugi::xml_node back_edges;
    if (body.role == "body") back_edges = layer.append_child("back_edges");
    const LayerIds ids = write_graph(*body.graph, layer.append_child(body.role.c_str()));
    const auto entry = [&](const char* tag, const auto& map, NodeId internal, size_t first, const char* purpose) {
      pugi::xml_node item = ports.append_child(tag);
      const int64_t external = map.external_port < 0 ? -1 : map.external_port + static_cast<int64_t>(first);
      item.append_attribute("external_port_id") = static_cast<long long>(external);
      item.append_attribute("internal_layer_id") = static_cast<long long>(ids[index_of(internal)]);
      if (purpose) item.append_attribute("purpose") = purpose;
      if (!map.axis) return;
      item.append_attribute("axis") = static_cast<long long>(*map.axis);
      item.append_attribute("start") = static_cast<long long>(map.start);
      item.append_attribute("end") = static_cast<long long>(map.end);
      item.append_attribute("stride") = static_cast<long long>(map.stride);
      item.append_attribute("part_size") = static_cast<long long>(map.part_size);
    };
    for (const auto& input : body.ports.inputs)
      entry("input", input, input.parameter, 0, input.current_iteration ? "current_iteration" : nullptr);
    for (const auto& output : body.ports.outputs)
      entry("output", output, output.result, node.inputs.size(),
            output.execution_condition ? "execution_condition" : nullptr);
    for (const auto& edge : body.ports.back_edges) {
      pugi::xml_node item = back_edges.append_child("edge");
      item.append_attribute("from-layer") = static_cast<long long>(ids[index_of(edge.result)]);
      item.append_attribute("to-layer") = static_cast<long long>(ids[index_of(edge.parameter)]);
    }
  }

  static void write_tree(const std::string& key, const RtTree& tree, pugi::xml_node parent) {
    const bool plain = is_tag(key) && key != "info";
    pugi::xml_node node = parent.append_child(plain ? key.c_str() : "info");
    if (!plain) set(node, "name", key);
    if (!tree.value.empty() || tree.children.empty()) set(node, "value", tree.value);
    for (const auto& [child_key, child] : tree.children) write_tree(child_key, child, node);
  }

  xml::WeightsWriter& weights_;
  IrVersion version_;
};

class StringSink final : public pugi::xml_writer {
 public:
  void write(const void* data, size_t size) override { text.append(static_cast<const char*>(data), size); }
  std::string text;
};

std::string write(const Graph& graph, xml::WeightsWriter::Sink sink, IrVersion version) {
  xml::WeightsWriter weights(std::move(sink), xml::stores_high_nibble_first(graph.rt_info()));
  pugi::xml_document document;
  if (version == IrVersion::v10)
    Writer(weights, version).write(*xml::named_for_v10(graph), document);
  else
    Writer(weights, version).write(graph, document);
  StringSink text;
  document.save(text, "\t", pugi::format_default, pugi::encoding_utf8);
  return std::move(text.text);
}

}  // namespace

void write_model(const Graph& graph, const std::string& xml_path, const std::string& bin_path, IrVersion version) {
  const std::filesystem::path xml_file = xml_path;
  const auto bin_file =
      bin_path.empty() ? std::filesystem::path(xml_path).replace_extension(".bin") : std::filesystem::path(bin_path);
  if (xml_file == bin_file)
    throw_error(ErrorCode::invalid_argument, "the model and its weights need two files, both are '", xml_path, "'");
  PendingFile bin(bin_file), xml(xml_file);
  const std::string text = write(
      graph, [&bin](const void* data, size_t size) { bin.write(data, size); }, version);
  xml.write(text.data(), text.size());
  bin.close();
  xml.close();
  bin.rename();
  xml.rename();
}

void write_model(const Graph& graph, std::ostream& xml, std::ostream& bin, IrVersion version) {
  const auto put = [&bin](const void* data, size_t size) {
    bin.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  };
  xml << write(graph, put, version);
}

ModelText write_model(const Graph& graph, IrVersion version) {
  ModelText model;
  model.xml = write(
      graph, [&model](const void* data, size_t size) { model.weights.append(static_cast<const char*>(data), size); },
      version);
  return model;
}

}  // namespace terroir::ir
