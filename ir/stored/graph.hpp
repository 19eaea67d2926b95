#pragma once
// What: a graph as bytes and back, node for node in the order of addition, with all that compiling and errors need:
// names, attributes, links, types and shapes, runtime information of nodes and ports, origins, bodies. Not stored:
// runtime information of the model, and what the file declared.
// Edge cases: nothing is inferred when loading; links that lead nowhere are an Exception (parse_error).
#include <functional>
#include <memory>

#include "ir/base/byte_stream.hpp"
#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"

namespace terroir::ir {

/// Operations and their attributes; devices with operations of their own have a codec of their own.
class NodeCodec {
 public:
  explicit NodeCodec(const OpRegistry& registry) : registry_(registry) {}
  virtual ~NodeCodec() = default;

  /// Exactly this version. Exception (not_found).
  virtual const OpSchema& schema(const std::string& type, const std::string& opset) const;
  virtual void store(const OpSchema& schema, const Attributes& attributes, ByteWriter& to) const;
  virtual std::unique_ptr<Attributes> load(const OpSchema& schema, ByteReader& from) const;

  void store_schema(const OpSchema& schema, ByteWriter& to) const;
  const OpSchema& load_schema(ByteReader& from) const;

 private:
  const OpRegistry& registry_;
};

/// What stands for the value of a Const node: whoever stores a graph knows where its bytes go.
using StoreConstant = std::function<void(const Constant& constant, ByteWriter& to)>;
using LoadConstant = std::function<Constant(ByteReader& from)>;

/// Without origins, models that were read from different files give the same bytes if they are the same.
enum class Origins { stored, left_out };
void store_graph(const Graph& graph, const NodeCodec& codec, const StoreConstant& constant, ByteWriter& to,
                 Origins origins = Origins::stored);
/// The node that was stored as i-th gets the id i.
std::unique_ptr<Graph> load_graph(const NodeCodec& codec, const LoadConstant& constant, ByteReader& from);

void store_rt_info(const RtInfo& info, ByteWriter& to);
RtInfo load_rt_info(ByteReader& from);

}  // namespace terroir::ir
