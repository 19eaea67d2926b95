#include "ir/xml/walk.hpp"

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"
#include "ir/xml/values.hpp"

namespace terroir::ir::xml {
namespace {

// The largest published files are a tenth of this. A document takes some ten times the memory of its text.
constexpr size_t kMaxXmlBytes = size_t{512} << 20;
constexpr int kMaxRtInfoDepth = 64;
constexpr size_t kMaxBodies = 16;
constexpr int64_t kOldestVersion = 10, kNewestVersion = 11;

/// Byte offsets to line numbers.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ends_.push_back(at);
  }
  int32_t at(ptrdiff_t offset) const {
    if (offset < 0) return 0;
    return static_cast<int32_t>(std::lower_bound(ends_.begin(), ends_.end(), static_cast<size_t>(offset)) -
                                ends_.begin()) +
           1;
  }

 private:
  std::vector<size_t> ends_;
};

std::string_view text_of(const pugi::xml_attribute& attribute) { return attribute.value(); }

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 80;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

class Walker {
 public:
  Walker(std::string_view xml, std::string file, const Warn& warn)
      : lines_(xml), file_(std::move(file)), warn_(warn), document_(std::make_shared<pugi::xml_document>()) {}

  ModelRecord run(std::string_view xml) {
    parse(xml);
    ModelRecord model;
    const pugi::xml_node net = root();
    model.storage = document_;
    model.name = text_of(net.attribute("name"));
    model.version = version(net);
    model.graph = graph(net, 0);
    model_rt_info(net, model.rt_info);
    for (pugi::xml_node node : net.children("pre-process")) pre_process(node, model.pre_process);
    model.file = std::move(file_);
    return model;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const pugi::xml_node& node, const Parts&... parts) const {
    throw Exception(ErrorCode::parse_error, place(file_, line(node)) + ": " + concat(parts...));
  }
  void warn(const pugi::xml_node& node, const std::string& text) const {
    if (warn_) warn_(place(file_, line(node)) + ": " + text);
  }
  int32_t line(const pugi::xml_node& node) const { return lines_.at(node.offset_debug()); }
  std::string source() const { return file_.empty() ? std::string("the model text") : "'" + file_ + "'"; }

  void parse(std::string_view xml) {
    if (xml.empty()) throw_error(ErrorCode::parse_error, source(), " is empty; an IR model (<net ...>) is expected");
    std::string_view text = xml;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    // The first field of an ONNX file is its version, a number.
    if (text.starts_with('\x08') || (file_.ends_with(".onnx") && !text.empty() && text.front() != '<'))
      throw_error(ErrorCode::unsupported, source(),
                  " is an ONNX model, not an IR model (<net ...>); convert it to IR first, with OpenVINO's ovc");
    if (xml.size() > kMaxXmlBytes)
      throw_error(ErrorCode::unsupported, source(), " has ", xml.size(), " bytes; at most ", kMaxXmlBytes,
                  " are read (weights belong into the .bin file)");
    // Attributes keep tabs and line feeds, unlike in strict XML: a name must come back as it was written.
    const auto result = document_->load_buffer(
        xml.data(), xml.size(), pugi::parse_cdata | pugi::parse_escapes | pugi::parse_eol, pugi::encoding_utf8);
    if (result) return;
    if (result.status == pugi::status_no_document_element)
      throw_error(ErrorCode::parse_error, source(),
                  file_.empty() ? " is not XML; an IR model (<net ...>) is expected; the path of a file goes without a "
                                  "tensor of weights"
                                : " is not XML; an IR model (<net ...>) is expected");
    if (result.status == pugi::status_out_of_memory)
      throw_error(ErrorCode::out_of_memory, source(), ": no memory for the document");
    throw Exception(ErrorCode::parse_error, place(file_, lines_.at(result.offset)) + ": not well-formed XML: " +
                                                result.description() + "; is the file cut short or damaged?");
  }

  pugi::xml_node root() const {
    const pugi::xml_node net = document_->document_element();
    if (!equal_ignoring_case(net.name(), "net"))
      fail(net, "the root element is <", shortened(net.name()), ">, <net> of an IR model is expected");
    for (pugi::xml_node next = net.next_sibling(); next; next = next.next_sibling())
      if (next.type() == pugi::node_element) fail(next, "a second root element <", shortened(next.name()), ">");
    return net;
  }

  int64_t version(const pugi::xml_node& net) {
    const int64_t value = integer(net, "version");
    if (value < kOldestVersion)
      throw Exception(ErrorCode::unsupported,
                      place(file_, line(net)) +
                          concat(": IR version ", value, " is too old, versions ", kOldestVersion, " and ",
                                 kNewestVersion, " are read; convert the original model again with a newer converter"));
    if (value > kNewestVersion)
      throw Exception(ErrorCode::unsupported,
                      place(file_, line(net)) + concat(": IR version ", value, " is newer than this library, versions ",
                                                       kOldestVersion, " and ", kNewestVersion, " are read"));
    is_v10_ = value == 10;
    return value;
  }

  pugi::xml_attribute required(const pugi::xml_node& node, const char* name) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) fail(node, "<", node.name(), "> has no attribute '", name, "'");
    return attribute;
  }
  int64_t integer(const pugi::xml_node& node, const char* name) const {
    const auto text = text_of(required(node, name));
    const auto value = parse_int(text);
    if (!value)
      fail(node, "attribute '", name, "' of <", node.name(), "> must be an integer, got '", shortened(text), "'");
    return *value;
  }
  int64_t integer(const pugi::xml_node& node, const char* name, int64_t otherwise) const {
    return node.attribute(name) ? integer(node, name) : otherwise;
  }
  int64_t id(const pugi::xml_node& node, const char* name) const {
    const int64_t value = integer(node, name);
    if (value < 0) fail(node, "attribute '", name, "' of <", node.name(), "> must not be negative, got ", value);
    return value;
  }

  GraphRecord graph(const pugi::xml_node& parent, int depth) {
    GraphRecord record;
    record.line = line(parent);
    const pugi::xml_node layers = parent.child("layers");
    if (!layers) fail(parent, "<", parent.name(), "> has no <layers>");
    for (pugi::xml_node node : layers.children()) {
      if (node.type() != pugi::node_element) continue;
      if (std::strcmp(node.name(), "layer") != 0)
        fail(node, "<layers> holds <layer> elements, found <", shortened(node.name()), ">");
      record.layers.push_back(layer(node, depth));
    }
    for (pugi::xml_node node : parent.child("edges").children("edge"))
      record.edges.push_back(
          {id(node, "from-layer"), id(node, "from-port"), id(node, "to-layer"), id(node, "to-port"), line(node)});
    return record;
  }

  LayerRecord layer(const pugi::xml_node& node, int depth) {
    LayerRecord record;
    record.line = line(node);
    record.id = id(node, "id");
    record.type = text_of(required(node, "type"));
    record.name = text_of(required(node, "name"));
    if (!node.attribute("version"))
      fail(node, "layer ", record.id, " '", shortened(record.name),
           "' has no attribute 'version' (its operation set); dumps of compiled models lack it and cannot be loaded");
    record.opset = text_of(node.attribute("version"));
    record.output_names = text_of(node.attribute("output_names"));
    bool has_data = false;
    for (pugi::xml_node child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      const std::string_view tag = child.name();
      if (tag == "data") {
        if (has_data) fail(child, describe(record, file_), " has a second <data>");
        has_data = true;
        for (const pugi::xml_attribute& attribute : child.attributes())
          record.data.emplace_back(attribute.name(), attribute.value());
      } else if (tag == "input" || tag == "output") {
        ports(child, tag == "input" ? record.inputs : record.outputs);
      } else if (tag == "rt_info") {
        if (!is_v10_) rt_info(child, record.rt_info);
      } else if (tag.find("body") != std::string_view::npos) {
        body_of(record, tag).graph = body(child, depth + 1);
        if (record.bodies.size() > kMaxBodies) fail(child, describe(record, file_), " has too many bodies");
      } else if (tag.find("port_map") != std::string_view::npos) {
        port_map(child, body_of(record, tag));
        if (record.bodies.size() > kMaxBodies) fail(child, describe(record, file_), " has too many bodies");
      } else if (tag == "back_edges") {
        for (pugi::xml_node edge : child.children("edge"))
          body_of(record, "body").back_edges.push_back({id(edge, "from-layer"), id(edge, "to-layer"), line(edge)});
      } else {
        warn(child, describe(record, file_) + ": <" + shortened(tag) + "> is not known and left out");
      }
    }
    return record;
  }

  void ports(const pugi::xml_node& list, std::vector<PortRecord>& records) {
    for (pugi::xml_node node : list.children("port")) {
      PortRecord record;
      record.line = line(node);
      record.id = id(node, "id");
      record.precision = text_of(node.attribute("precision"));
      record.names = text_of(node.attribute("names"));
      for (pugi::xml_node child : node.children()) {
        const std::string_view tag = child.name();
        if (tag == "dim") {
          record.dims.push_back(dim(child));
        } else if (tag == "rt_info" && !is_v10_) {
          rt_info(child, record.rt_info);
        }
      }
      if (record.dims.size() > kMaxRank)
        fail(node, "a port of ", record.dims.size(), " dimensions; at most ", kMaxRank, " are supported");
      records.push_back(std::move(record));
    }
  }

  int64_t dim(const pugi::xml_node& node) const {
    const std::string_view text = node.child_value();
    const auto value = parse_int(text);
    if (!value || *value < -1)
      fail(node, "<dim> must be a number, or -1 where it is unknown, got '", shortened(text), "'");
    return *value;
  }

  /// Layer or port level: <attribute name=... version=... ...>, and <user_data name=... value=...> and <custom ...>,
  /// which may nest. The latter are kept under "user_data/outer/inner", a slash of a name being written "\/".
  void rt_info(const pugi::xml_node& parent, RtInfo& info) const {
    std::vector<std::pair<pugi::xml_node, std::string>> pending;
    const auto push_children = [&](const pugi::xml_node& node, const std::string& prefix) {
      std::vector<pugi::xml_node> children;
      for (pugi::xml_node child : node.children())
        if (child.type() == pugi::node_element) children.push_back(child);
      for (auto it = children.rbegin(); it != children.rend(); ++it) pending.emplace_back(*it, prefix);
    };
    push_children(parent, "");
    while (!pending.empty()) {
      const auto [node, prefix] = pending.back();
      pending.pop_back();
      const auto name = node.attribute("name");
      if (!name) {
        warn(node, concat("<", shortened(node.name()), "> of <rt_info> has no name and is left out"));
        continue;
      }
      const std::string tag = node.name();
      const bool plain = tag != "user_data" && tag != "custom";
      const std::string key =
          plain ? std::string(name.value()) : (prefix.empty() ? tag : prefix) + "/" + escaped(name.value());
      if (key.size() > 4096) fail(node, "<rt_info> nests too deep");
      const auto [entry, added] = info.try_emplace(key);
      if (!added) fail(node, "<rt_info> has two entries named '", shortened(name.value()), "'");
      for (const pugi::xml_attribute& attribute : node.attributes())
        if (std::strcmp(attribute.name(), "name") != 0) entry->second[attribute.name()] = attribute.value();
      if (!plain) push_children(node, key);
    }
  }

  static std::string escaped(std::string_view name) {
    std::string result;
    for (const char c : name) {
      if (c == '/' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  }

  /// "then_body" and "then_port_map" describe the same body; newer writers number them: body0 is the then branch.
  BodyRecord& body_of(LayerRecord& layer, std::string_view tag) const {
    std::string role(tag);
    if (const size_t at = role.find("port_map"); at != std::string::npos) role.replace(at, 8, "body");
    if (role == "body0") role = "then_body";
    if (role == "body1") role = "else_body";
    for (BodyRecord& body : layer.bodies)
      if (body.role == role) return body;
    layer.bodies.emplace_back();
    layer.bodies.back().role = role;
    return layer.bodies.back();
  }

  std::unique_ptr<GraphRecord> body(const pugi::xml_node& node, int depth) {
    if (depth > kMaxBodyDepth) fail(node, "bodies nest deeper than ", kMaxBodyDepth);
    return std::make_unique<GraphRecord>(graph(node, depth));
  }

  void port_map(const pugi::xml_node& list, BodyRecord& body) const {
    for (pugi::xml_node node : list.children()) {
      if (node.type() != pugi::node_element) continue;
      PortMapRecord record;
      const std::string_view tag = node.name();
      if (tag != "input" && tag != "output")
        fail(node, "<", list.name(), "> holds <input> and <output>, found <", shortened(tag), ">");
      record.is_input = tag == "input";
      record.line = line(node);
      record.external_port = integer(node, "external_port_id");
      record.internal_layer = id(node, "internal_layer_id");
      if (node.attribute("axis")) record.axis = integer(node, "axis");
      record.start = integer(node, "start", 0);
      record.end = integer(node, "end", -1);
      record.stride = integer(node, "stride", 1);
      record.part_size = integer(node, "part_size", 1);
      record.purpose = text_of(node.attribute("purpose"));
      body.ports.push_back(record);
    }
  }

  /// Model level: <key value="..."> and <info name="key" value="...">, nested.
  void rt_tree(const pugi::xml_node& parent, RtTree& tree, int depth) const {
    if (depth > kMaxRtInfoDepth) fail(parent, "<rt_info> nests deeper than ", kMaxRtInfoDepth);
    for (pugi::xml_node node : parent.children()) {
      if (node.type() != pugi::node_element) continue;
      const bool named = std::strcmp(node.name(), "info") == 0 && node.attribute("name");
      std::string key = named ? node.attribute("name").value() : node.name();
      // Old cli_parameters list what was not given on the command line in one entry of its own.
      const pugi::xml_attribute unset = node.attribute("unset_cli_parameters");
      RtTree child;
      if (node.attribute("value"))
        child.value = node.attribute("value").value();
      else
        child.value = unset ? unset.value() : std::string(terroir::detail::trim(node.child_value()));
      rt_tree(node, child, depth + 1);
      tree.children.emplace_back(std::move(key), std::move(child));
    }
  }

  void model_rt_info(const pugi::xml_node& net, RtTree& tree) const {
    if (const pugi::xml_node info = net.child("rt_info")) {
      rt_tree(info, tree, 0);
      return;
    }
    // Files of the old converter say the same under other names.
    if (const pugi::xml_node meta = net.child("meta_data")) {
      if (const pugi::xml_node converter = meta.child("MO_version"))
        tree.children.push_back({"MO_version", {converter.attribute("value").value(), {}}});
      if (const pugi::xml_node parameters = meta.child("cli_parameters")) {
        tree.children.push_back({"conversion_parameters", {}});
        rt_tree(parameters, tree.children.back().second, 1);
      }
    }
    if (const pugi::xml_node quantization = net.child("quantization_parameters")) {
      tree.children.push_back({"optimization", {}});
      rt_tree(quantization, tree.children.back().second, 1);
    }
  }

  void pre_process(const pugi::xml_node& node, std::vector<PreProcessRecord>& records) const {
    PreProcessRecord record;
    record.line = line(node);
    record.layer_name = text_of(node.attribute("reference-layer-name"));
    for (pugi::xml_node channel : node.children("channel")) {
      PreProcessRecord::Channel entry;
      entry.id = id(channel, "id");
      for (pugi::xml_node child : channel.children()) {
        if (child.type() != pugi::node_element) continue;
        const pugi::xml_attribute value = child.attribute("value");
        if (std::strcmp(child.name(), "mean") == 0 && value) {
          entry.mean = parse_real(value.value());
          if (!entry.mean) fail(child, "a mean must be a number, got '", shortened(value.value()), "'");
        } else {
          entry.other = true;
        }
      }
      record.channels.push_back(entry);
    }
    records.push_back(std::move(record));
  }

  Lines lines_;
  std::string file_;
  const Warn& warn_;
  std::shared_ptr<pugi::xml_document> document_;
  bool is_v10_ = false;
};

}  // namespace

ModelRecord walk_model(std::string_view xml, std::string file, const Warn& warn) {
  return Walker(xml, std::move(file), warn).run(xml);
}

}  // namespace terroir::ir::xml
