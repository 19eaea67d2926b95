#pragma once
// What: a layer of an extension with everything known, ready to run: what create() made, and compute() on pointers.
// Threads: run() may be called from several threads at once.
// Edge cases: what the layer refuses is an Exception (general) with its own words, and says which library they are
// from.
#include <cstddef>
#include <memory>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "runtime/extension/layer.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::custom {

/// A tensor of the layer.
struct Operand {
  element::Type type;
  ir::Dims dims;
  int32_t layout = TERROIR_PLAIN;
  int32_t block = 1;           // of TERROIR_BLOCKED
  const void* data = nullptr;  // of inputs that are constant
};

class Instance {
 public:
  /// States, if the attributes say that there are such ports, are the last inputs and outputs.
  Instance(const LayerAttrs& attributes, std::vector<Operand> inputs, std::vector<Operand> outputs);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Of run(), for `threads` threads. Throws Exception (out_of_memory) if the layer wants more than a process can have.
  size_t scratch_bytes(int threads) const;

  /// `scratch`: 64-byte aligned. `extents`, if given: by output, those that the layer says it used.
  void run(const void* const* inputs, void* const* outputs, void* scratch, const parallel::Arena& arena,
           std::vector<ir::Dims>* extents = nullptr) const;

 private:
  LayerAttrs attributes_;
  std::vector<Operand> inputs_, outputs_;
  int32_t input_count_, output_count_;  // without states
  void* instance_ = nullptr;
};

}  // namespace terroir::custom
