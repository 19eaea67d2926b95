#pragma once
// What: this side of extension_abi.h: the functions that layers call, and what their opaque handles are.
#include <atomic>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "ir/schema/infer_context.hpp"
#include "runtime/parallel/arena.hpp"
#include "runtime/plugin/plugin.hpp"
#include "terroir/extension_abi.h"

struct terroir_inference {
  terroir::ir::InferContext& context;
  int32_t inputs;                // without states
  int32_t outputs;               // that the context wants to know of
  std::vector<bool> output_set;  // of outputs and states
  bool grows;                    // as many outputs as it sets, up to `outputs`
  std::string wrong;             // what the layer told us that cannot be: the first of it
  struct Known {
    terroir::ir::TensorView view;
    terroir_tensor tensor;
  };
  mutable std::deque<Known> known;  // values that the layer asked for
};

struct terroir_run {
  const terroir::parallel::Arena& arena;
  const terroir_tensor* outputs;
  int32_t output_count;
  std::vector<terroir::ir::Dims>* extents;  // null: none of the outputs depends on data

  struct Device {
    terroir::plugin::OutputBinder& binder;
    const std::vector<terroir::plugin::PortInfo>& ports;  // of the outputs
    const std::atomic<bool>& cancelled;
    std::vector<bool> bound;
    std::exception_ptr wrong;  // the first thing that bind_output() could not do
  };
  Device* device = nullptr;  // of inferences of a whole device

  // Where extents are known: the first output of which set_extents() says something else, and what.
  int32_t wrong_output = -1;
  terroir::ir::Dims wrong_extents = {};
};

struct terroir_layer_names {
  std::vector<std::string> names;
};

struct terroir_error {
  std::string text;
};

namespace terroir::custom {

const terroir_host& host();

/// Calls a function of a layer or device. Exception (`code`) with what the layer says was wrong; "throws" if it let an
/// exception of C++ through, which it must not.
template <typename Call>
void call_layer(ErrorCode code, const char* function, const std::string& source, Call&& call) {
  terroir_error error;
  int32_t result = 0;
  try {
    result = call(&error);
  } catch (const std::exception& thrown) {
    throw_error(code, function, "() of ", source, " lets an exception out, which is not allowed: ", thrown.what());
  } catch (...) {
    throw_error(code, function, "() of ", source, " lets an exception out, which is not allowed");
  }
  if (result != 0)
    throw_error(code, error.text.empty() ? concat(function, "() fails without saying why") : error.text, " (", source,
                ")");
}

}  // namespace terroir::custom
