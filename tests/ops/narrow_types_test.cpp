// Operations that move data do so for every element type: what they do to converted tensors is what conversion makes of
// the expected result. The cases are those in tests/ops/*.cases, with other types.
#include <gtest/gtest.h>

#include <set>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/ops/case_check.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/retyped.hpp"

namespace terroir::test {
namespace {

using interpreter::HostTensor;

const std::set<std::string> kMovers = {"BatchToSpace-2",
                                       "Broadcast-1",
                                       "Broadcast-3",
                                       "Concat-1",
                                       "DepthToSpace-1",
                                       "ExtractImagePatches-3",
                                       "Gather-1",
                                       "Gather-7",
                                       "Gather-8",
                                       "GatherElements-6",
                                       "GatherND-5",
                                       "GatherND-8",
                                       "Identity-16",
                                       "Pad-1",
                                       "Pad-12",
                                       "Reshape-1",
                                       "Reverse-1",
                                       "ReverseSequence-1",
                                       "Roll-7",
                                       "ScatterElementsUpdate-3",
                                       "ScatterNDUpdate-4",
                                       "ScatterUpdate-3",
                                       "Select-1",
                                       "ShuffleChannels-1",
                                       "Slice-8",
                                       "SliceScatter-15",
                                       "SpaceToBatch-2",
                                       "SpaceToDepth-1",
                                       "Split-1",
                                       "Squeeze-1",
                                       "Squeeze-15",
                                       "StridedSlice-1",
                                       "Tile-1",
                                       "Transpose-1",
                                       "Unsqueeze-1",
                                       "VariadicSplit-1"};

/// Whether an input is moved; the others say where to.
bool is_data(const std::string& op, size_t input) {
  if (op == "Concat-1") return true;
  if (op == "Select-1") return input > 0;
  if (op == "SliceScatter-15") return input < 2;
  if (op.starts_with("Scatter")) return input == 0 || input == 2;
  if (op.starts_with("Pad")) return input == 0 || input == 3;
  return input == 0;
}

std::string text_of(const std::vector<HostTensor>& tensors) {
  std::string text;
  for (const HostTensor& tensor : tensors) {
    text += tensor.type().get_type_name() + concat(tensor.dims(), " =");
    for (int64_t i = 0; i < tensor.view().count(); ++i) text += " " + element_text(tensor.view(), i);
    text += '\n';
  }
  return text;
}

std::string text_of_converted(const std::vector<HostTensor>& tensors, element::Type type) {
  std::vector<HostTensor> others;
  for (const HostTensor& tensor : tensors) others.push_back(converted(tensor.view(), type));
  return text_of(others);
}

TEST(NarrowTypes, DataMovementTakesEveryType) {
  std::vector<std::string> errors;  // reported by CaseFiles.parse
  std::set<std::string> moved;
  for (const Case& c : load_case_files(TERROIR_SOURCE_DIR "/tests/ops", errors)) {
    if (!kMovers.contains(c.op) || c.error || c.run_error || !c.has_values()) continue;
    if (c.outputs.at(0).type == element::string) continue;
    const bool all_known = std::all_of(c.inputs.begin(), c.inputs.end(), [](const auto& in) { return in.values; });
    if (!all_known) continue;
    const bool reduces = std::any_of(c.attributes.begin(), c.attributes.end(), [](const auto& attribute) {
      return attribute.first == "reduction" && attribute.second != "none";
    });
    if (reduces) continue;
    const auto graph = graph_of(c, ops::builtin_registry());
    const std::vector<HostTensor> expected = interpreter::run(*graph, {});
    for (const element::Type type : all_element_types()) {
      if (type == element::f32) continue;
      SCOPED_TRACE(c.where() + " as " + type.get_type_name());
      // What fills gaps is zero, and zero is no text and no power of two.
      const bool fills = c.op.starts_with("Pad") || c.op == "SpaceToBatch-2" || c.op == "ExtractImagePatches-3" ||
                         c.op.starts_with("Gather-");
      if (fills && (type == element::string || type == element::f8e8m0)) continue;
      try {
        const auto other = retyped(*graph, type, [&](size_t input) { return is_data(c.op, input); });
        ir::infer_graph(*other);
        const std::vector<HostTensor> got = interpreter::run(*other, {});
        EXPECT_EQ(text_of(got), text_of_converted(expected, type));
        moved.insert(c.op);
      } catch (const Exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  for (const std::string& op : kMovers) EXPECT_TRUE(moved.contains(op)) << op << " has no value case";
}

}  // namespace
}  // namespace terroir::test
