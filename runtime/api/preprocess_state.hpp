// What a PrePostProcessor knows of an input and of an output, and how that is put into a model.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runtime/api/graph_state.hpp"
#include "runtime/api/preprocess_steps.hpp"
#include "terroir/preprocess.hpp"

namespace terroir::preprocess::detail {

/// What was said of the tensor or of the model's side of an input or output.
struct TensorInfo {
  struct Spatial {
    Dimension height, width;
  };
  std::optional<element::Type> type;
  std::optional<Layout> layout;
  std::optional<PartialShape> shape;
  std::optional<Spatial> spatial;
  ColorFormat color = ColorFormat::UNDEFINED;
  std::vector<std::string> sub_names;
};

struct InfoAccess {
  template <typename Info>
  static auto& info(Info& of) {
    return *of.info_;
  }
  template <typename Steps>
  static auto& steps(Steps& of) {
    return *of.steps_;
  }
  template <typename Info>
  static Info make() {
    return Info();
  }
};

/// The steps of the input `index` of the graph: its Parameter becomes what the program gives, its readers read what the
/// steps make of that. Returns the number of inputs that it is now. Says in words what it does if `log` is given.
/// Throws Exception; the graph may have changed then.
size_t add_steps(const std::shared_ptr<terroir::detail::GraphState>& state, size_t index, InputInfo& info,
                 std::ostream* log);

/// The steps of one output: the Result takes what they make of the value it took.
void add_steps(const std::shared_ptr<terroir::detail::GraphState>& state, ir::NodeId result, OutputInfo& info,
               std::ostream* log);

/// Does the steps. The error of a step says which it is.
void run_steps(const std::vector<Step>& steps, const char* kind, Flow& flow, std::ostream* log);
/// "[1,3,?,?], [N,C,H,W], f32", and the colour format if there is one.
std::string describe(const Output<Node>& value, const Layout& layout, ColorFormat color = ColorFormat::UNDEFINED);

}  // namespace terroir::preprocess::detail
