#pragma once
// What: Impl, one way to run an op on the CPU, and what it is asked at compile time. A refusal carries its reason.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/layout/layout.hpp"

namespace terroir::cpu {

class ConstantReader;
class WeightsCache;

/// One node as implementations see it: concrete shapes, constants where inputs are known.
struct NodeContext {
  const ir::Node& node;
  /// Types and logical extents; the layouts are filled in before Impl::create.
  std::vector<TensorDesc> inputs, outputs;
  /// By input; null where the value comes at run time.
  std::vector<const ir::Constant*> constants;
  /// By output: whether anything reads it. An unread one needs no sensible content.
  std::vector<bool> output_used;
  Isa isa;
  WeightsCache& weights;
  /// For who looks at all of a constant while a kernel is chosen; null: look at it as it lies.
  ConstantReader* reader = nullptr;
  /// EXECUTION_MODE_HINT is ACCURACY: nothing that rounds more than the obvious order of operations does.
  bool accuracy = false;
  /// Output 0 lies in the input that LayoutChoice::overwrite names.
  bool overwrites_input = false;
  /// How often the executor halves what it holds in scratch memory at once; at most LayoutChoice::lean.
  int lean = 0;
};

/// Layouts under which an implementation runs a node, and what that costs.
struct LayoutChoice {
  /// By input; empty: not read at run time (a constant taken at compile time).
  std::vector<std::optional<Layout>> inputs;
  std::vector<Layout> outputs;
  /// Estimated nanoseconds on one thread; compared with the cost of reorders.
  double cost = 0;
  /// Output 0 is the memory of this input, untouched: no step is made. -1: none.
  int view_of = -1;
  /// Output 0 may be computed in the memory of any of these inputs, when nobody needs that input afterwards.
  std::vector<int> in_place = {};
  /// Output 0 may be computed in the memory of this input, where it may begin at any multiple of `step` bytes, when
  /// nobody needs what is there afterwards; but in another way, which takes more time: done where a plan is too large.
  struct Overwrite {
    int input = -1;  // -1: not so
    size_t step = 0;
  };
  Overwrite overwrite = {};
  /// How often the scratch memory may be halved, or nearly, for more time and the same bits: done where a plan is too
  /// large.
  int lean = 0;
  /// Output 0 is the inputs side by side, one run of bytes each: the byte of the output where each input begins. An
  /// input may be written there by its producer; the executor then gets null for it. Empty: not so.
  std::vector<size_t> joins = {};
  /// The outputs are runs of bytes of input 0: the byte where each begins. No step is made. Empty: not so.
  std::vector<size_t> pieces = {};
};

struct Reject {
  std::string reason;
};

/// Candidates best first, or why there are none.
using Proposal = std::variant<std::vector<LayoutChoice>, Reject>;

struct Impl {
  const char* name;
  Proposal (*propose)(const NodeContext& context);
  std::unique_ptr<const Executor> (*create)(const NodeContext& context, const LayoutChoice& choice);
};

/// Implementations for an op type, best first; the reference is always the last. Rows: plugins/cpu/node_list.inc.
std::vector<const Impl*> impls_for(const ir::OpSchema& schema);

/// Copies `src` to `dst` between two layouts of one tensor, on the calling thread; for constants, at compile time.
void reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc, void* dst, Isa isa);

/// Cost model shared by the estimates: nanoseconds to stream `bytes` once, one thread.
constexpr double stream_ns(double bytes) { return bytes / 8.0; }
/// Nanoseconds of a step that copies a tensor to another order. Like all costs it is in proportion to the batch: else
/// an image alone would get other layouts, so other kernels and other bits, than in a batch.
double copy_ns(const TensorDesc& desc);
/// The same of an order that the memory has already: next to nothing, but more than no step at all.
double view_ns(const TensorDesc& desc);
/// Nanoseconds for `flops` floating-point operations at a fair share of this bucket's peak.
double compute_ns(double flops, Isa isa);

}  // namespace terroir::cpu
