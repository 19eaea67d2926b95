#pragma once
// What: what files of older versions mean beyond their layers.
//   v10: f16 inputs are presented as f32; outputs of i32, i64, u32 and u64 as i32, all others as f32 (Convert layers
//   are
//        inserted); names of Parameters and of the producers of Results ("name", or "name.N" for one of several
//        outputs, N being the port's id) are tensor names, too.
//   <pre-process>: a mean per channel is subtracted from the named input.
#include "ir/base/function_ref.hpp"
#include "ir/schema/registry.hpp"
#include "ir/xml/records.hpp"

namespace terroir::ir::xml {

/// The type as which v10 presents an output of a model.
element::Type v10_output_type(element::Type type);

/// Adds the names of the layers to the tensor names of inputs and outputs. `port_id`: of one of several outputs of a
/// producer. Exception: invalid_argument if two of these tensors have one name. Tensors within the model may share it.
void name_v10_ends(Graph& graph, FunctionRef<int64_t(Value)> port_id);

/// Exception: that of name_v10_ends().
void apply_v10_rules(Graph& graph, const ModelRecord& model, const OpRegistry& registry);

/// Exception: unsupported for mean images and scales; parse_error for an unknown input or wrong channels.
void apply_pre_process(Graph& graph, const ModelRecord& model, const OpRegistry& registry);

}  // namespace terroir::ir::xml
