#pragma once
// What: writes a graph as an IR model: read_model() of it gives an equal graph (ir/text/diff.hpp).
// Version 10 has no runtime information, and its inputs and outputs are named by their layers: such a graph comes back
//   without the former and with the latter as tensor names. What it cannot say is refused: see version10.hpp.
// Layouts: layers in the order Parameters, operations in topological order, Results; constants as they are in memory,
//          equal ones once, at offsets that are multiples of 64 (small ones: of their element size).
// Runtime models: plain texts of the runtime information are attributes of <data>, and layerType is the type, as
// viewers
//                 expect; such a file is for them and cannot be read back.
// Edge cases: 4-bit constants of a model whose runtime information says that a release before 2024 wrote it are stored
//             as those releases did. Graph::rt_info entries `version` and `__weights_path` are not written. Exception
//             for text that XML cannot hold, tensor names that end in a backslash, and unconnected inputs.
#include <iosfwd>
#include <string>

#include "ir/graph/graph.hpp"

namespace terroir::ir {

enum class IrVersion { v10 = 10, v11 = 11 };

/// `bin_path` empty: the .xml path with the extension .bin. Both are written under other names first and renamed when
/// they are complete; on failure what was there stays.
void write_model(const Graph& graph, const std::string& xml_path, const std::string& bin_path = {},
                 IrVersion version = IrVersion::v11);

/// The caller looks whether the streams have failed.
void write_model(const Graph& graph, std::ostream& xml, std::ostream& bin, IrVersion version);

struct ModelText {
  std::string xml;
  std::string weights;
};
ModelText write_model(const Graph& graph, IrVersion version = IrVersion::v11);

}  // namespace terroir::ir
