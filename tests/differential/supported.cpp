#include "tests/differential/supported.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/schema/infrastructure.hpp"
#include "ops/data_types.hpp"
#include "ops/registry.hpp"
#include "tests/differential/model.hpp"
#include "tests/differential/retype.hpp"
#include "tests/support/device.hpp"

namespace terroir::test {
namespace {

const std::vector<element::Type> kTypes = {
    element::f32,    element::f16, element::bf16,    element::f64,   element::i8,     element::i16,    element::i32,
    element::i64,    element::u8,  element::u16,     element::u32,   element::u64,    element::i4,     element::u4,
    element::u1,     element::u2,  element::u3,      element::u6,    element::f8e4m3, element::f8e5m2, element::f8e8m0,
    element::f4e2m1, element::nf4, element::boolean, element::string};

// Models per operation and type.
constexpr uint64_t kModels = 3, kModelsOfAnyType = 8;

struct Runs {
  int all = 0, own = 0;  // models whose operation is not computed while compiling; those without a reference kernel
};

struct Findings {
  std::map<element::Type_t, Runs> by_type;
  bool has_bodies = false, size_depends_on_data = false, does_nothing = true;
};

/// Whether a step of the CPU device did the work of a layer, and not that of its neighbours.
bool is_work(const ProfilingInfo& info, const std::string& operation) {
  return info.status == ProfilingInfo::Status::EXECUTED && info.node_type != "Reorder" && info.node_type != "Result" &&
         info.node_type != "Parameter" && info.node_type != "Const" &&
         (info.node_type != "Convert" || operation.starts_with("Convert"));
}

void look_at(const RandomModel& model, const std::string& operation, Findings& findings) {
  if (!model.graph) return;
  try {
    DeviceModel(model.graph, "INTERPRETER").infer(model.inputs);
  } catch (const Exception&) {
    return;
  }
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(model.graph, "CPU", config);
  device.infer(model.inputs);
  bool works = false, own = true;
  for (const ProfilingInfo& info : device.profile())
    if (is_work(info, operation)) {
      works = true;
      own = own && !info.exec_type.starts_with("ref");
    }
  // What takes no step at all, such as another view of the same memory, takes no reference kernel either.
  if (works || !model.graph->parameters().empty()) {
    Runs& runs = findings.by_type[model.type];
    ++runs.all, runs.own += own ? 1 : 0;
  }
  findings.does_nothing = findings.does_nothing && !works;
  for (const ir::NodeId id : model.graph->nodes()) {
    const ir::Node& node = model.graph->node(id);
    if (node.schema->display_name() != operation) continue;
    findings.has_bodies = findings.has_bodies || !node.bodies.empty();
    // Operands that say what to do may be inputs; with constants only, what is unknown depends on data.
    if (model.graph->parameters().size() <= 1)
      for (const ir::OutputPort& port : node.outputs)
        findings.size_depends_on_data = findings.size_depends_on_data || port.shape.is_dynamic();
  }
}

Findings find_out(const std::string& operation) {
  Findings findings;
  for (uint64_t seed = 0; seed < kModelsOfAnyType; ++seed)
    if (const RandomModel model = model_of_one(seed, operation, element::dynamic); model.has_wanted)
      look_at(model, operation, findings);
  for (const element::Type type : kTypes)
    for (uint64_t seed = 0; seed < kModels && type != element::string; ++seed)
      if (const RandomModel model = model_of_one(seed, operation, type); model.has_wanted)
        look_at(model, operation, findings);
  // Recipes draw the types that tell most; all others are tried with their models.
  for (const element::Type type : kTypes)
    for (uint64_t seed = 0; seed < kModels && findings.by_type[type].own == 0; ++seed)
      for (const element::Type drawn : {element::f32, element::i32})
        if (const RandomModel model = model_of_one(seed, operation, drawn); model.has_wanted)
          look_at(with_data_of(model, operation, type), operation, findings);
  std::erase_if(findings.by_type, [](const auto& entry) { return entry.second.all == 0; });
  return findings;
}

/// Sets of types that have a name.
const std::pair<const char*, std::vector<element::Type>> kGroups[] = {
    {"floats", {element::f32, element::f16, element::bf16, element::f64}},
    {"integers",
     {element::i8, element::i16, element::i32, element::i64, element::u8, element::u16, element::u32, element::u64}},
    {"small floats", {element::f8e4m3, element::f8e5m2, element::f8e8m0, element::f4e2m1, element::nf4}},
    {"packed integers", {element::i4, element::u1, element::u2, element::u3, element::u4, element::u6}}};

/// What the operation allows its data to be; without data of its own, what its models ran with.
std::vector<element::Type> allowed_types(const ir::OpSchema& schema, const std::vector<element::Type>& runs) {
  if (std::string_view(ops::data_types(schema).inputs).empty()) return runs;
  std::vector<element::Type> allowed;
  for (int i = static_cast<int>(element::Type_t::boolean); i <= static_cast<int>(element::Type_t::f8e8m0); ++i)
    if (const auto type = static_cast<element::Type_t>(i); ops::data_types(schema).allowed.contains(type))
      allowed.emplace_back(type);
  return allowed;
}

std::string names(std::vector<element::Type> types) {
  std::string text;
  const auto add = [&](const std::string& name) { text += (text.empty() ? "" : ", ") + name; };
  for (const auto& [name, group] : kGroups) {
    const auto has = [&](element::Type type) { return std::find(types.begin(), types.end(), type) != types.end(); };
    if (!std::all_of(group.begin(), group.end(), has)) continue;
    add(name);
    std::erase_if(types,
                  [&](element::Type type) { return std::find(group.begin(), group.end(), type) != group.end(); });
  }
  for (const element::Type type : types) add(type.get_type_name());
  return text;
}

std::string row(const ir::OpSchema& schema) {
  const std::string operation = schema.display_name();
  if (!schema.reference && (schema.arity.max_inputs == 0 || schema.type == ir::kResultType))
    return "| " + operation + " | any | - | held, not computed |\n";
  const Findings found = find_out(operation);
  std::vector<element::Type> runs, own;
  bool partly = false;
  for (const element::Type type : kTypes) {
    const auto entry = found.by_type.find(type);
    if (entry == found.by_type.end()) continue;
    runs.push_back(type);
    if (entry->second.own > 0) own.push_back(type);
    partly = partly || (entry->second.own > 0 && entry->second.own < entry->second.all);
  }
  const std::vector<element::Type> allowed = allowed_types(schema, runs);
  const bool all = std::all_of(allowed.begin(), allowed.end(), [&](element::Type type) {
    return std::find(own.begin(), own.end(), type) != own.end();
  });
  std::string kernel = own.empty() ? "reference" : all ? "all of them" : names(own);
  std::string notes;
  const auto note = [&](const char* text) { notes += (notes.empty() ? "" : "; ") + std::string(text); };
  if (found.has_bodies) {
    kernel = "-";
    note("each body has plans of its own");
  } else if (found.does_nothing && !runs.empty()) {
    kernel = "-";
    note("no work");
  }
  if (partly && kernel != "-") note("not every form");
  if (found.size_depends_on_data) note("the size of the result depends on data");
  if (schema.accuracy == ir::Accuracy::random) note("random numbers");
  return "| " + operation + " | " + names(allowed) + " | " + kernel + " | " + notes + " |\n";
}

constexpr const char* kBegin = "<!-- operations: test_differential --write-operations FILE -->\n";
constexpr const char* kEnd = "<!-- end of operations -->\n";

}  // namespace

std::string supported_operations() {
  std::vector<const ir::OpSchema*> schemas;
  for (const ir::OpSchema* schema : ops::builtin_registry().all()) schemas.push_back(schema);
  std::sort(schemas.begin(), schemas.end(), [](const ir::OpSchema* a, const ir::OpSchema* b) {
    const int of_a = ir::opset_number(a->opset), of_b = ir::opset_number(b->opset);
    return a->type != b->type ? a->type < b->type : of_a < of_b;
  });
  std::string table = "| operation | element types | kernels of the CPU device | notes |\n| --- | --- | --- | --- |\n";
  for (const ir::OpSchema* schema : schemas) table += row(*schema);
  return table;
}

std::string with_supported_operations(const std::string& page) {
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw_error(ErrorCode::parse_error, "the page has no place for the table of operations");
  return page.substr(0, begin) + kBegin + supported_operations() + page.substr(end);
}

}  // namespace terroir::test
