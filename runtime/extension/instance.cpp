#include "runtime/extension/instance.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "runtime/extension/elements.hpp"
#include "runtime/extension/host.hpp"

namespace terroir::custom {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kMostScratch = uint64_t{1} << 47;  // what a process can have

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

terroir_tensor tensor_of(const Operand& operand, void* data) {
  return {data,           to_abi(operand.type), static_cast<int32_t>(operand.dims.size()), operand.dims.data(),
          operand.layout, operand.block};
}

}  // namespace

Instance::Instance(const LayerAttrs& attributes, std::vector<Operand> inputs, std::vector<Operand> outputs)
    : attributes_(attributes),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      input_count_(static_cast<int32_t>(inputs_.size()) - attributes_.states()),
      output_count_(static_cast<int32_t>(outputs_.size()) - attributes_.states()) {
  const terroir_layer& layer = attributes_.layer->descriptor;
  if (layer.create == nullptr) return;
  std::vector<terroir_tensor> tensors;
  for (const Operand& input : inputs_) tensors.push_back(tensor_of(input, const_cast<void*>(input.data)));
  for (const Operand& output : outputs_) tensors.push_back(tensor_of(output, nullptr));
  call_layer(ErrorCode::invalid_argument, "create", attributes_.layer->source, [&](terroir_error* error) {
    return layer.create(layer.user, &host(), &attributes_.attributes, input_count_, tensors.data(), output_count_,
                        tensors.data() + inputs_.size(), &instance_, error);
  });
}

Instance::~Instance() {
  const terroir_layer& layer = attributes_.layer->descriptor;
  if (layer.destroy != nullptr) layer.destroy(layer.user, instance_);
}

size_t Instance::scratch_bytes(int threads) const {
  const terroir_layer& layer = attributes_.layer->descriptor;
  const uint64_t own = layer.scratch_bytes != nullptr ? layer.scratch_bytes(layer.user, instance_, threads) : 0;
  if (own > kMostScratch)
    throw_error(ErrorCode::out_of_memory, "scratch_bytes() of ", attributes_.layer->source, " asks for ", own,
                " bytes, more than a process can have");
  return rounded_up((inputs_.size() + outputs_.size()) * sizeof(terroir_tensor)) + static_cast<size_t>(own);
}

void Instance::run(const void* const* inputs, void* const* outputs, void* scratch, const parallel::Arena& arena,
                   std::vector<ir::Dims>* extents) const {
  const terroir_layer& layer = attributes_.layer->descriptor;
  // The descriptions of the tensors lie before the layer's own scratch: a run allocates nothing.
  auto* tensors = static_cast<terroir_tensor*>(scratch);
  const size_t count = inputs_.size() + outputs_.size();
  for (size_t i = 0; i < inputs_.size(); ++i) tensors[i] = tensor_of(inputs_[i], const_cast<void*>(inputs[i]));
  terroir_tensor* targets = tensors + inputs_.size();
  for (size_t i = 0; i < outputs_.size(); ++i) targets[i] = tensor_of(outputs_[i], outputs[i]);
  terroir_run run{arena, targets, static_cast<int32_t>(outputs_.size()), extents};
  call_layer(ErrorCode::general, "compute", attributes_.layer->source, [&](terroir_error* error) {
    return layer.compute(layer.user, instance_, &host(), &attributes_.attributes, &run, input_count_, tensors,
                         output_count_, targets,
                         static_cast<char*>(scratch) + rounded_up(count * sizeof(terroir_tensor)), error);
  });
  if (run.wrong_output >= 0)
    throw_error(ErrorCode::general, "compute() of ", attributes_.layer->source, " says that it used ",
                run.wrong_extents, " of output ", run.wrong_output, ", which is ",
                outputs_[static_cast<size_t>(run.wrong_output)].dims);
  if (extents == nullptr) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const ir::Dims& used = (*extents)[i];
    for (size_t axis = 0; axis < used.size(); ++axis)
      if (used[axis] < 0 || used[axis] > outputs_[i].dims[axis])
        throw_error(ErrorCode::general, "compute() of ", attributes_.layer->source, " says that it used ", used,
                    " of output ", i, ", which has room for ", outputs_[i].dims);
  }
}

}  // namespace terroir::custom
