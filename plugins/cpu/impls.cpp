// impls_for(): the rows of node_list.inc, then the reference.
#include <map>
#include <span>
#include <string>

#include "ir/schema/infrastructure.hpp"
#include "ir/schema/registry.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

#define TERROIR_CPU_NODE(type, function) std::span<const Impl> function();
#include "plugins/cpu/node_list.inc"
#undef TERROIR_CPU_NODE
std::span<const Impl> extension_impls();
std::span<const Impl> pieces_impls();
std::span<const Impl> reference_impls();

std::vector<const Impl*> impls_for(const ir::OpSchema& schema) {
  static const std::multimap<std::string, std::span<const Impl> (*)(), std::less<>> rows = {
#define TERROIR_CPU_NODE(type, function) {#type, &function},
#include "plugins/cpu/node_list.inc"
#undef TERROIR_CPU_NODE
  };
  std::vector<const Impl*> impls;
  const auto append = [&impls](std::span<const Impl> list) {
    for (const Impl& impl : list) impls.push_back(&impl);
  };
  // An op of another set than OpenVINO's and the fused twins may share its type's name and nothing else.
  const bool of_opset = ir::opset_number(schema.opset) > 0 || schema.opset == "cpu";
  const auto [first, last] = rows.equal_range(of_opset ? schema.type : schema.opset + "_" + schema.type);
  for (auto row = first; row != last; ++row) append(row->second());
  if (schema.from_extension) append(extension_impls());
  if (schema.flags.elementwise && !schema.from_extension) append(pieces_impls());
  const bool is_source = schema.type == ir::kParameterType || schema.type == ir::kConstType;
  if (!is_source) append(reference_impls());
  return impls;
}

double view_ns(const TensorDesc& desc) { return desc.rank() > 2 ? static_cast<double>(desc.dims[0]) : 1; }

double copy_ns(const TensorDesc& desc) {
  constexpr double kStep = 500;  // to begin and to share out
  return kStep * view_ns(desc) + 2 * stream_ns(static_cast<double>(ir::byte_size(desc.type, desc.count())));
}

double compute_ns(double flops, Isa isa) {
  // A fair share of one core's peak at about 2 to 3 GHz; only the proportions matter.
  constexpr double kFlopsPerNs[] = {2, 10, 60, 90};
  return flops / kFlopsPerNs[static_cast<size_t>(isa)];
}

}  // namespace terroir::cpu
