// What a user gives a request and takes from it between runs: tensors, variables, the profile.
#include <algorithm>
#include <utility>

#include "ir/base/error.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/api/graph_state.hpp"

namespace terroir::detail {

bool RequestState::allows(const PartialShape& declared, const Shape& shape) {
  if (declared.rank().is_dynamic()) return true;
  return declared.size() == shape.size() &&
         std::equal(shape.begin(), shape.end(), declared.begin(), [](size_t extent, const Dimension& d) {
           const auto length = static_cast<int64_t>(extent);
           return length >= d.get_min_length() && (!d.has_upper_bound() || length <= d.get_max_length());
         });
}

std::string RequestState::describe(End end) const {
  const plugin::PortInfo& port = compiled_->port(end);
  return concat(end.input ? "input " : "output ", end.index, " '",
                port.names.empty() ? port.producer_name : port.names.front(), "'");
}

void RequestState::check_fits(End end, const Tensor& tensor) const {
  const plugin::PortInfo& port = compiled_->port(end);
  with_context([&] { return describe(end); },
               [&] {
                 const TensorState& state = TensorAccess::state(tensor);
                 if (port.type.is_static() && state.type != port.type) {
                   throw_error(ErrorCode::type_mismatch, "expected a tensor of type ", port.type, ", got ", state.type);
                 }
                 if (!end.input) TensorAccess::check_writable(state);
                 // An output whose shape is not known before it runs gets its shape then.
                 const bool fits = allows(port.shape, state.shape) || (!end.input && port.shape.is_dynamic());
                 if (!fits) {
                   throw_error(ErrorCode::shape_mismatch, "expected a tensor of shape ", port.shape, ", got ",
                               state.shape,
                               end.input ? "; to run other shapes, call Model::reshape() before compiling" : "");
                 }
               });
}

void RequestState::set_tensor(End end, const Tensor& tensor) {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  check_fits(end, tensor);
  (end.input ? inputs_ : outputs_)[end.index] = tensor;
  if (end.input) batches_[end.index] = {};
}

void RequestState::set_tensors(End end, const std::vector<Tensor>& tensors) {
  if (tensors.size() == 1) return set_tensor(end, tensors[0]);
  const std::lock_guard lock(sync().mutex);
  check_idle();
  Batch batch{tensors, {}, {}};
  with_context([&] { return describe(end); },
               [&] {
                 if (!end.input) throw_error(ErrorCode::invalid_argument, "an output cannot be set image by image");
                 if (tensors.empty()) throw_error(ErrorCode::invalid_argument, "there are no tensors to set");
                 const Shape& shape = TensorAccess::state(tensors[0]).shape;
                 const size_t axis = compiled_->batch_axis(end.index, shape.size());
                 for (const Tensor& image : tensors) {
                   const TensorState& state = TensorAccess::state(image);
                   if (state.type != tensors[0].get_element_type()) {
                     throw_error(ErrorCode::type_mismatch, "the tensors of a batch are of types ",
                                 tensors[0].get_element_type(), " and ", state.type);
                   }
                   if (state.shape != shape || shape[axis] != 1) {
                     throw_error(ErrorCode::shape_mismatch,
                                 "the tensors of a batch must have the same shape, with 1 for ", "axis ", axis,
                                 ", got ", shape, " and ", state.shape);
                   }
                 }
                 Shape whole = shape;
                 whole[axis] = tensors.size();
                 batch.gathered = Tensor(tensors[0].get_element_type(), whole);
                 for (size_t i = 0; i < tensors.size(); ++i) {
                   Coordinate begin(whole.size(), 0), stop(whole);
                   begin[axis] = i;
                   stop[axis] = i + 1;
                   batch.parts.emplace_back(batch.gathered, begin, stop);
                 }
               });
  check_fits(end, batch.gathered);
  batches_[end.index] = std::move(batch);
  inputs_[end.index] = batches_[end.index].gathered;
}

Tensor RequestState::get_tensor(End end) {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  if (end.input && !batches_[end.index].images.empty()) {
    throw_error(ErrorCode::invalid_argument, describe(end), " was set as ", batches_[end.index].images.size(),
                " tensors, there is no single one");
  }
  Tensor& tensor = (end.input ? inputs_ : outputs_)[end.index];
  if (!tensor) {
    const plugin::PortInfo& port = compiled_->port(end);
    if (port.type.is_dynamic()) {
      throw_error(ErrorCode::invalid_argument, describe(end), " has no element type before the first inference");
    }
    tensor = Tensor(port.type, port.shape.is_static()          ? port.shape.to_shape()
                               : port.shape.rank().is_static() ? port.shape.get_min_shape()
                                                               : Shape{0});
  }
  return tensor;
}

std::vector<ProfilingInfo> RequestState::profiling() const {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  if (!compiled_->compiled().config().profiling) {
    throw_error(ErrorCode::invalid_argument,
                "there is no profile: compile the model with the property enable_profiling(true) (\"PERF_COUNT\")");
  }
  std::vector<ProfilingInfo> layers = device_->profiling();
  for (ProfilingInfo& layer : layers) layer.node_type = class_name(layer.node_type);
  return layers;
}

Tensor RequestState::get_variable(size_t index) {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  const ir::TensorView value = device_->variable(index);
  Tensor copy(value.type, ir::to_shape(value.dims));
  copy_from_dense(value.data, TensorAccess::state(copy));
  told_variables_.resize(variables().size());
  return told_variables_[index] = copy;
}

void RequestState::set_variable(size_t index, const Tensor& value) {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  const plugin::VariableInfo& info = variables().at(index);
  const TensorState& state = TensorAccess::state(value);
  if (!info.type.compatible(state.type))
    throw_error(ErrorCode::type_mismatch, "variable '", info.name, "': expected a tensor of type ", info.type, ", got ",
                state.type);
  if (!allows(info.shape, state.shape))
    throw_error(ErrorCode::shape_mismatch, "variable '", info.name, "': expected a tensor of shape ", info.shape,
                ", got ", state.shape);
  Tensor dense(state.type, state.shape);
  copy_to_dense(state, dense.data());
  device_->set_variable(index, {state.type, ir::to_dims(state.shape), dense.data()});
}

void RequestState::reset_variable(size_t index) {
  const std::lock_guard lock(sync().mutex);
  check_idle();
  device_->reset_variable(index);
}

}  // namespace terroir::detail
