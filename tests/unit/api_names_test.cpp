// The names of OpenVINO's C++ API that runtime/include/README.md says are supported. Each stands here in an expression
// that uses it, so a name that is not there does not compile; the page and this list hold each other to the truth.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <string>

#include "terroir/cpu_properties.hpp"
#include "terroir/terroir.hpp"

namespace terroir {

// What the uses are about; none of them is ever called, or defined.
namespace unevaluated {
Core& core();
CompiledModel& compiled();
InferRequest& request();
VariableState& variable_state();
std::shared_ptr<Model> model();
Node& node();
Output<Node>& port();
Tensor& tensor();
TensorVector& tensors();
Any& any();
element::Type& type();
Dimension& dimension();
PartialShape& partial();
op::util::Variable& variable();
std::string text();
std::ostream& out();
std::istream& in();
}  // namespace unevaluated

namespace {

using namespace unevaluated;  // NOLINT: the list shall be short

struct Name {
  std::string name, use;
  bool compiles;
};

// The use is not evaluated.
#define NAME(name, ...) \
  Name { #name, #__VA_ARGS__, !std::is_same_v < decltype(__VA_ARGS__), struct Nothing> }

// clang-format off
const Name kNames[] = {
    NAME(Core::Core, Core(std::string())),
    NAME(Core::get_versions, core().get_versions("")),
    NAME(Core::read_model, core().read_model(text(), text(), AnyMap())),
    NAME(Core::compile_model, core().compile_model(model(), text(), num_streams(1))),
    NAME(Core::add_extension, core().add_extension(text())),
    NAME(Core::query_model, core().query_model(model(), text())),
    NAME(Core::set_property, core().set_property(text(), AnyMap())),
    NAME(Core::get_property, core().get_property(text(), text(), AnyMap())),
    NAME(Core::get_available_devices, core().get_available_devices()),
    NAME(shutdown, shutdown()),
    NAME(SupportedOpsMap, SupportedOpsMap()),
    NAME(Version, Version()),
    NAME(get_openvino_version, get_openvino_version()),
    NAME(Version::buildNumber, Version().buildNumber),
    NAME(Version::description, Version().description),
    NAME(CompiledModel::CompiledModel, CompiledModel()),
    NAME(CompiledModel::get_runtime_model, compiled().get_runtime_model()),
    NAME(CompiledModel::inputs, compiled().inputs()),
    NAME(CompiledModel::input, compiled().input(text())),
    NAME(CompiledModel::outputs, compiled().outputs()),
    NAME(CompiledModel::output, compiled().output(size_t())),
    NAME(CompiledModel::create_infer_request, compiled().create_infer_request()),
    NAME(CompiledModel::set_property, compiled().set_property(AnyMap())),
    NAME(CompiledModel::get_property, compiled().get_property(num_streams)),
    NAME(CompiledModel::release_memory, compiled().release_memory()),
    NAME(CompiledModel::operator bool, static_cast<bool>(compiled())),
    NAME(CompiledModel::operator!, !compiled()),
    NAME(InferRequest::InferRequest, InferRequest()),
    NAME(InferRequest::set_tensor, request().set_tensor(text(), tensor())),
    NAME(InferRequest::set_tensors, request().set_tensors(text(), TensorVector())),
    NAME(InferRequest::set_input_tensor, request().set_input_tensor(size_t(), tensor())),
    NAME(InferRequest::set_input_tensors, request().set_input_tensors(TensorVector())),
    NAME(InferRequest::set_output_tensor, request().set_output_tensor(tensor())),
    NAME(InferRequest::get_tensor, request().get_tensor(text())),
    NAME(InferRequest::get_input_tensor, request().get_input_tensor()),
    NAME(InferRequest::get_output_tensor, request().get_output_tensor(size_t())),
    NAME(InferRequest::infer, request().infer()),
    NAME(InferRequest::cancel, request().cancel()),
    NAME(InferRequest::get_profiling_info, request().get_profiling_info()),
    NAME(InferRequest::start_async, request().start_async()),
    NAME(InferRequest::wait, request().wait()),
    NAME(InferRequest::wait_for, request().wait_for(std::chrono::milliseconds(1))),
    NAME(InferRequest::set_callback, request().set_callback(std::function<void(std::exception_ptr)>())),
    NAME(InferRequest::query_state, request().query_state()),
    NAME(InferRequest::reset_state, request().reset_state()),
    NAME(InferRequest::get_compiled_model, request().get_compiled_model()),
    NAME(InferRequest::operator bool, static_cast<bool>(request())),
    NAME(InferRequest::operator!, !request()),
    NAME(InferRequest::operator==, request().operator==(request())),
    NAME(InferRequest::operator!=, request().operator!=(request())),
    NAME(VariableState::get_name, variable_state().get_name()),
    NAME(VariableState::get_state, variable_state().get_state()),
    NAME(VariableState::set_state, variable_state().set_state(tensor())),
    NAME(VariableState::reset, variable_state().reset()),
    NAME(ProfilingInfo::Status, ProfilingInfo::Status()),
    NAME(ProfilingInfo::NOT_RUN, ProfilingInfo::Status::NOT_RUN),
    NAME(ProfilingInfo::OPTIMIZED_OUT, ProfilingInfo::Status::OPTIMIZED_OUT),
    NAME(ProfilingInfo::EXECUTED, ProfilingInfo::Status::EXECUTED),
    NAME(ProfilingInfo::status, ProfilingInfo().status),
    NAME(ProfilingInfo::real_time, ProfilingInfo().real_time),
    NAME(ProfilingInfo::cpu_time, ProfilingInfo().cpu_time),
    NAME(ProfilingInfo::node_name, ProfilingInfo().node_name),
    NAME(ProfilingInfo::exec_type, ProfilingInfo().exec_type),
    NAME(ProfilingInfo::node_type, ProfilingInfo().node_type),
    NAME(Exception, Exception(text())),
    NAME(Cancelled, Cancelled(text())),
    NAME(Busy, Busy(text())),
    NAME(Tensor::Tensor, Tensor(element::f32, Shape(), Allocator())),
    NAME(Tensor::set_shape, tensor().set_shape(Shape())),
    NAME(Tensor::get_element_type, tensor().get_element_type()),
    NAME(Tensor::get_shape, tensor().get_shape()),
    NAME(Tensor::copy_to, tensor().copy_to(tensor())),
    NAME(Tensor::is_continuous, tensor().is_continuous()),
    NAME(Tensor::get_size, tensor().get_size()),
    NAME(Tensor::get_byte_size, tensor().get_byte_size()),
    NAME(Tensor::get_strides, tensor().get_strides()),
    NAME(Tensor::data, tensor().data<float>()),
    NAME(Tensor::is, tensor().is<Tensor>()),
    NAME(Tensor::as, tensor().as<Tensor>()),
    NAME(Tensor::type_check, Tensor::type_check(tensor())),
    NAME(Tensor::operator bool, static_cast<bool>(tensor())),
    NAME(Tensor::operator!, !tensor()),
    NAME(TensorVector, TensorVector()),
    NAME(read_tensor_data, read_tensor_data(text(), element::u8, PartialShape(), 0, true)),
    NAME(Allocator::Allocator, Allocator()),
    NAME(Allocator::allocate, Allocator().allocate(1)),
    NAME(Allocator::deallocate, Allocator().deallocate(nullptr)),
    NAME(Allocator::operator==, Allocator().operator==(Allocator())),
    NAME(Allocator::operator bool, static_cast<bool>(Allocator())),
    NAME(Allocator::operator!, !Allocator()),
    NAME(Any::Any, Any(1)),
    NAME(Any::make, Any::make<int>(1)),
    NAME(Any::empty, any().empty()),
    NAME(Any::is, any().is<int>()),
    NAME(Any::as, any().as<int>()),
    NAME(Any::type_info, any().type_info()),
    NAME(Any::print, any().print(out())),
    NAME(Any::read, any().read(in())),
    NAME(Any::addressof, any().addressof()),
    NAME(Any::operator==, any().operator==(nullptr)),
    NAME(Any::operator!=, any().operator!=(any())),
    NAME(AnyMap, AnyMap()),
    NAME(RTMap, RTMap()),
    NAME(AnyVector, AnyVector()),
    NAME(Property, Property<int>("")),
    NAME(PropertyName, PropertyName("")),
    NAME(PropertyMutability, PropertyMutability()),
    NAME(PropertyMutability::RO, PropertyMutability::RO),
    NAME(PropertyMutability::RW, PropertyMutability::RW),
    NAME(PropertyMutability::WO, PropertyMutability::WO),
    NAME(PropertyName::is_mutable, PropertyName("").is_mutable()),
    NAME(PropertyName::get_mutability, PropertyName("").get_mutability()),
    NAME(supported_properties, supported_properties),
    NAME(available_devices, available_devices),
    NAME(model_name, model_name),
    NAME(optimal_number_of_infer_requests, optimal_number_of_infer_requests),
    NAME(range_for_streams, range_for_streams),
    NAME(range_for_async_infer_requests, range_for_async_infer_requests),
    NAME(execution_devices, execution_devices),
    NAME(num_streams, num_streams),
    NAME(inference_num_threads, inference_num_threads),
    NAME(compilation_num_threads, compilation_num_threads),
    NAME(enable_profiling, enable_profiling),
    NAME(cache_dir, cache_dir),
    NAME(enable_mmap, enable_mmap),
    NAME(auto_batch_timeout, auto_batch_timeout),
    NAME(force_tbb_terminate, force_tbb_terminate),
    NAME(key_cache_precision, key_cache_precision),
    NAME(value_cache_precision, value_cache_precision),
    NAME(key_cache_group_size, key_cache_group_size),
    NAME(value_cache_group_size, value_cache_group_size),
    NAME(hint::inference_precision, hint::inference_precision),
    NAME(hint::performance_mode, hint::performance_mode),
    NAME(hint::num_requests, hint::num_requests),
    NAME(hint::execution_mode, hint::execution_mode),
    NAME(hint::allow_auto_batching, hint::allow_auto_batching),
    NAME(hint::model_distribution_policy, hint::model_distribution_policy),
    NAME(hint::dynamic_quantization_group_size, hint::dynamic_quantization_group_size),
    NAME(hint::kv_cache_precision, hint::kv_cache_precision),
    NAME(hint::PerformanceMode, hint::PerformanceMode()),
    NAME(hint::ExecutionMode, hint::ExecutionMode()),
    NAME(hint::ModelDistributionPolicy, hint::ModelDistributionPolicy()),
    NAME(hint::Priority, hint::Priority()),
    NAME(hint::SchedulingCoreType, hint::SchedulingCoreType()),
    NAME(hint::PerformanceMode::LATENCY, hint::PerformanceMode::LATENCY),
    NAME(hint::PerformanceMode::THROUGHPUT, hint::PerformanceMode::THROUGHPUT),
    NAME(hint::PerformanceMode::CUMULATIVE_THROUGHPUT, hint::PerformanceMode::CUMULATIVE_THROUGHPUT),
    NAME(hint::ExecutionMode::PERFORMANCE, hint::ExecutionMode::PERFORMANCE),
    NAME(hint::ExecutionMode::ACCURACY, hint::ExecutionMode::ACCURACY),
    NAME(hint::SchedulingCoreType::ANY_CORE, hint::SchedulingCoreType::ANY_CORE),
    NAME(hint::SchedulingCoreType::PCORE_ONLY, hint::SchedulingCoreType::PCORE_ONLY),
    NAME(hint::SchedulingCoreType::ECORE_ONLY, hint::SchedulingCoreType::ECORE_ONLY),
    NAME(hint::Priority::LOW, hint::Priority::LOW),
    NAME(hint::Priority::MEDIUM, hint::Priority::MEDIUM),
    NAME(hint::Priority::HIGH, hint::Priority::HIGH),
    NAME(hint::Priority::DEFAULT, hint::Priority::DEFAULT),
    NAME(hint::ModelDistributionPolicy::TENSOR_PARALLEL, hint::ModelDistributionPolicy::TENSOR_PARALLEL),
    NAME(hint::ModelDistributionPolicy::PIPELINE_PARALLEL, hint::ModelDistributionPolicy::PIPELINE_PARALLEL),
    NAME(log::level, log::level),
    NAME(log::Level, log::Level()),
    NAME(log::Level::NO, log::Level::NO),
    NAME(log::Level::ERR, log::Level::ERR),
    NAME(log::Level::WARNING, log::Level::WARNING),
    NAME(log::Level::INFO, log::Level::INFO),
    NAME(log::Level::DEBUG, log::Level::DEBUG),
    NAME(log::Level::TRACE, log::Level::TRACE),
    NAME(streams::Num, streams::Num()),
    NAME(streams::num, streams::num),
    NAME(streams::AUTO, streams::AUTO),
    NAME(streams::NUMA, streams::NUMA),
    NAME(device::id, device::id),
    NAME(device::priorities, device::priorities),
    NAME(device::full_name, device::full_name),
    NAME(device::architecture, device::architecture),
    NAME(device::type, device::type),
    NAME(device::capabilities, device::capabilities),
    NAME(device::properties, device::properties("CPU", num_streams(1))),
    NAME(device::Type, device::Type()),
    NAME(device::Priorities, device::Priorities("")),
    NAME(device::Properties, device::Properties("")),
    NAME(device::Type::INTEGRATED, device::Type::INTEGRATED),
    NAME(device::Type::DISCRETE, device::Type::DISCRETE),
    NAME(device::capability::FP32, device::capability::FP32),
    NAME(device::capability::BF16, device::capability::BF16),
    NAME(device::capability::FP16, device::capability::FP16),
    NAME(device::capability::INT8, device::capability::INT8),
    NAME(device::capability::INT16, device::capability::INT16),
    NAME(device::capability::BIN, device::capability::BIN),
    NAME(device::capability::WINOGRAD, device::capability::WINOGRAD),
    NAME(device::capability::EXPORT_IMPORT, device::capability::EXPORT_IMPORT),
    NAME(intel_cpu::sparse_weights_decompression_rate, intel_cpu::sparse_weights_decompression_rate),
    NAME(element::Type, element::Type()),
    NAME(element::Type_t, element::Type_t()),
    NAME(element::from, element::from<float>()),
    NAME(element::dynamic, element::dynamic),
    NAME(element::undefined, element::undefined),
    NAME(element::boolean, element::boolean),
    NAME(element::bf16, element::bf16),
    NAME(element::f16, element::f16),
    NAME(element::f32, element::f32),
    NAME(element::f64, element::f64),
    NAME(element::i4, element::i4),
    NAME(element::i8, element::i8),
    NAME(element::i16, element::i16),
    NAME(element::i32, element::i32),
    NAME(element::i64, element::i64),
    NAME(element::u1, element::u1),
    NAME(element::u2, element::u2),
    NAME(element::u3, element::u3),
    NAME(element::u4, element::u4),
    NAME(element::u6, element::u6),
    NAME(element::u8, element::u8),
    NAME(element::u16, element::u16),
    NAME(element::u32, element::u32),
    NAME(element::u64, element::u64),
    NAME(element::nf4, element::nf4),
    NAME(element::f8e4m3, element::f8e4m3),
    NAME(element::f8e5m2, element::f8e5m2),
    NAME(element::string, element::string),
    NAME(element::f4e2m1, element::f4e2m1),
    NAME(element::f8e8m0, element::f8e8m0),
    NAME(element::Type::size, element::f32.size()),
    NAME(element::Type::bitwidth, element::f32.bitwidth()),
    NAME(element::Type::is_static, element::f32.is_static()),
    NAME(element::Type::is_dynamic, element::f32.is_dynamic()),
    NAME(element::Type::is_real, element::f32.is_real()),
    NAME(element::Type::is_integral, element::f32.is_integral()),
    NAME(element::Type::is_integral_number, element::f32.is_integral_number()),
    NAME(element::Type::is_signed, element::f32.is_signed()),
    NAME(element::Type::is_quantized, element::f32.is_quantized()),
    NAME(element::Type::get_type_name, element::f32.get_type_name()),
    NAME(element::Type::to_string, element::f32.to_string()),
    NAME(element::Type::compatible, element::f32.compatible(element::f16)),
    NAME(element::Type::merge, element::Type::merge(type(), element::f32, element::f32)),
    NAME(fundamental_type_for, fundamental_type_for<element::Type_t::f32>()),
    NAME(float16, float16()),
    NAME(bfloat16, bfloat16()),
    NAME(Shape, Shape()),
    NAME(shape_size, shape_size(Shape())),
    NAME(row_major_strides, row_major_strides(Shape())),
    NAME(is_scalar, is_scalar(Shape())),
    NAME(Strides, Strides()),
    NAME(Coordinate, Coordinate()),
    NAME(Rank, Rank()),
    NAME(PartialShape, PartialShape()),
    NAME(Dimension, Dimension()),
    NAME(Layout, Layout()),
    NAME(Shape::to_string, Shape().to_string()),
    NAME(Dimension::is_static, Dimension().is_static()),
    NAME(Dimension::is_dynamic, Dimension().is_dynamic()),
    NAME(Dimension::get_length, Dimension().get_length()),
    NAME(Dimension::get_min_length, Dimension().get_min_length()),
    NAME(Dimension::get_max_length, Dimension().get_max_length()),
    NAME(Dimension::to_string, Dimension().to_string()),
    NAME(Dimension::dynamic, Dimension::dynamic()),
    NAME(Dimension::same_scheme, Dimension().same_scheme(Dimension())),
    NAME(Dimension::compatible, Dimension().compatible(Dimension())),
    NAME(Dimension::relaxes, Dimension().relaxes(Dimension())),
    NAME(Dimension::refines, Dimension().refines(Dimension())),
    NAME(Dimension::operator+, Dimension().operator+(Dimension())),
    NAME(Dimension::operator-, Dimension().operator-(Dimension())),
    NAME(Dimension::operator*, Dimension().operator*(Dimension())),
    NAME(Dimension::operator==, Dimension().operator==(Dimension())),
    NAME(Dimension::operator!=, Dimension().operator!=(Dimension())),
    NAME(Dimension::operator+=, Dimension().operator+=(Dimension())),
    NAME(Dimension::operator*=, Dimension().operator*=(Dimension())),
    NAME(Dimension::operator&, Dimension().operator&(Dimension())),
    NAME(Dimension::operator&=, Dimension().operator&=(Dimension())),
    NAME(Dimension::operator/, Dimension().operator/(2)),
    NAME(Dimension::merge, Dimension::merge(dimension(), dimension(), dimension())),
    NAME(Dimension::broadcast_merge, Dimension::broadcast_merge(dimension(), dimension(), dimension())),
    NAME(PartialShape::is_static, PartialShape().is_static()),
    NAME(PartialShape::is_dynamic, PartialShape().is_dynamic()),
    NAME(PartialShape::rank, PartialShape().rank()),
    NAME(PartialShape::size, PartialShape().size()),
    NAME(PartialShape::to_shape, PartialShape().to_shape()),
    NAME(PartialShape::get_shape, PartialShape().get_shape()),
    NAME(PartialShape::get_max_shape, PartialShape().get_max_shape()),
    NAME(PartialShape::get_min_shape, PartialShape().get_min_shape()),
    NAME(PartialShape::begin, PartialShape().begin()),
    NAME(PartialShape::end, PartialShape().end()),
    NAME(PartialShape::cbegin, PartialShape().cbegin()),
    NAME(PartialShape::cend, PartialShape().cend()),
    NAME(PartialShape::to_string, PartialShape().to_string()),
    NAME(PartialShape::dynamic, PartialShape::dynamic()),
    NAME(PartialShape::push_back, PartialShape().push_back(1)),
    NAME(PartialShape::insert, partial().insert(partial().begin(), 1)),
    NAME(PartialShape::resize, PartialShape().resize(1)),
    NAME(PartialShape::operator==, PartialShape().operator==(PartialShape())),
    NAME(PartialShape::operator!=, PartialShape().operator!=(PartialShape())),
    NAME(PartialShape::compatible, PartialShape().compatible(PartialShape())),
    NAME(PartialShape::same_scheme, PartialShape().same_scheme(PartialShape())),
    NAME(PartialShape::relaxes, PartialShape().relaxes(PartialShape())),
    NAME(PartialShape::refines, PartialShape().refines(PartialShape())),
    NAME(PartialShape::operator[], PartialShape().operator[](0)),
    NAME(PartialShape::merge_rank, PartialShape().merge_rank(Rank())),
    NAME(PartialShape::merge_into, PartialShape::merge_into(partial(), partial())),
    NAME(PartialShape::broadcast_merge_into, PartialShape::broadcast_merge_into(partial(), partial(), op::AutoBroadcastSpec())),
    NAME(op::AutoBroadcastSpec, op::AutoBroadcastSpec()),
    NAME(op::AutoBroadcastType, op::AutoBroadcastType()),
    NAME(Layout::scalar, Layout::scalar()),
    NAME(Layout::has_name, Layout().has_name(text())),
    NAME(Layout::get_index_by_name, Layout().get_index_by_name(text())),
    NAME(Layout::to_string, Layout().to_string()),
    NAME(Layout::empty, Layout().empty()),
    NAME(Layout::operator==, Layout().operator==(Layout())),
    NAME(Layout::operator!=, Layout().operator!=(Layout())),
    NAME(layout::has_batch, layout::has_batch(Layout())),
    NAME(layout::batch_idx, layout::batch_idx(Layout())),
    NAME(layout::has_channels, layout::has_channels(Layout())),
    NAME(layout::channels_idx, layout::channels_idx(Layout())),
    NAME(layout::has_depth, layout::has_depth(Layout())),
    NAME(layout::depth_idx, layout::depth_idx(Layout())),
    NAME(layout::has_height, layout::has_height(Layout())),
    NAME(layout::height_idx, layout::height_idx(Layout())),
    NAME(layout::has_width, layout::has_width(Layout())),
    NAME(layout::width_idx, layout::width_idx(Layout())),
    NAME(layout::get_layout, layout::get_layout(port())),
    NAME(layout::set_layout, layout::set_layout(port(), Layout())),
    NAME(Model::get_output_size, model()->get_output_size()),
    NAME(Model::clone, model()->clone()),
    NAME(Model::outputs, model()->outputs()),
    NAME(Model::inputs, model()->inputs()),
    NAME(Model::get_result, model()->get_result()),
    NAME(Model::get_name, model()->get_name()),
    NAME(Model::get_friendly_name, model()->get_friendly_name()),
    NAME(Model::get_ops, model()->get_ops()),
    NAME(Model::get_ordered_ops, model()->get_ordered_ops()),
    NAME(Model::validate_nodes_and_infer_types, model()->validate_nodes_and_infer_types()),
    NAME(Model::get_graph_size, model()->get_graph_size()),
    NAME(Model::is_dynamic, model()->is_dynamic()),
    NAME(Model::get_parameters, model()->get_parameters()),
    NAME(Model::get_results, model()->get_results()),
    NAME(Model::get_sinks, model()->get_sinks()),
    NAME(Model::get_variables, model()->get_variables()),
    NAME(Model::get_output_op, model()->get_output_op(0)),
    NAME(Model::output, model()->output(text())),
    NAME(Model::input, model()->input(text())),
    NAME(Model::add_output, model()->add_output(port())),
    NAME(Model::reshape, model()->reshape(PartialShape(), {{text(), PartialShape()}})),
    NAME(Model::get_output_element_type, model()->get_output_element_type(0)),
    NAME(Model::get_output_shape, model()->get_output_shape(0)),
    NAME(Model::get_output_partial_shape, model()->get_output_partial_shape(0)),
    NAME(Model::set_friendly_name, model()->set_friendly_name(text())),
    NAME(Model::get_parameter_index, model()->get_parameter_index(model()->get_parameters()[0])),
    NAME(Model::get_result_index, model()->get_result_index(port())),
    NAME(Model::evaluate, model()->evaluate(tensors(), TensorVector())),
    NAME(Model::get_variable_by_id, model()->get_variable_by_id(text())),
    NAME(Model::get_rt_info, model()->get_rt_info<int>(text())),
    NAME(Model::has_rt_info, model()->has_rt_info(text())),
    NAME(Model::set_rt_info, model()->set_rt_info(1, text())),
    NAME(get_batch, get_batch(model())),
    NAME(set_batch, set_batch(model(), Dimension())),
    NAME(serialize, serialize(model(), text(), text())),
    NAME(save_model, save_model(model(), text())),
    NAME(pass::Serialize::Serialize, pass::Serialize(text(), text())),
    NAME(pass::Serialize::Version, pass::Serialize::Version()),
    NAME(pass::Serialize::run_on_model, pass::Serialize(text()).run_on_model(model())),
    NAME(op::util::Variable::get_info, variable().get_info()),
    NAME(op::util::Variable::update, variable().update(op::util::VariableInfo())),
    NAME(op::util::Variable::Ptr, op::util::Variable::Ptr()),
    NAME(op::util::Variable, op::util::Variable()),
    NAME(op::util::VariableInfo, op::util::VariableInfo()),
    NAME(op::util::VariableVector, op::util::VariableVector()),
    NAME(op::util::VariableInfo::data_shape, op::util::VariableInfo().data_shape),
    NAME(op::util::VariableInfo::data_type, op::util::VariableInfo().data_type),
    NAME(op::util::VariableInfo::variable_id, op::util::VariableInfo().variable_id),
    NAME(Node::get_friendly_name, node().get_friendly_name()),
    NAME(Node::get_name, node().get_name()),
    NAME(Node::get_type_name, node().get_type_name()),
    NAME(Node::get_type_info, node().get_type_info()),
    NAME(Node::get_input_size, node().get_input_size()),
    NAME(Node::get_output_size, node().get_output_size()),
    NAME(Node::outputs, node().outputs()),
    NAME(Node::input_values, node().input_values()),
    NAME(Node::get_element_type, node().get_element_type()),
    NAME(Node::get_shape, node().get_shape()),
    NAME(Node::get_rt_info, node().get_rt_info()),
    NAME(Node::set_friendly_name, node().set_friendly_name(text())),
    NAME(Node::output, node().output(0)),
    NAME(Node::input_value, node().input_value(0)),
    NAME(Node::get_output_element_type, node().get_output_element_type(0)),
    NAME(Node::get_output_partial_shape, node().get_output_partial_shape(0)),
    NAME(Node::get_output_shape, node().get_output_shape(0)),
    NAME(Node::get_input_element_type, node().get_input_element_type(0)),
    NAME(Node::get_input_partial_shape, node().get_input_partial_shape(0)),
    NAME(Node::get_input_shape, node().get_input_shape(0)),
    NAME(DiscreteTypeInfo::name, DiscreteTypeInfo().name),
    NAME(DiscreteTypeInfo::version_id, DiscreteTypeInfo().version_id),
    NAME(Output::get_node, port().get_node()),
    NAME(Output::get_node_shared_ptr, port().get_node_shared_ptr()),
    NAME(Output::get_index, port().get_index()),
    NAME(Output::get_element_type, port().get_element_type()),
    NAME(Output::get_partial_shape, port().get_partial_shape()),
    NAME(Output::get_shape, port().get_shape()),
    NAME(Output::get_names, port().get_names()),
    NAME(Output::get_any_name, port().get_any_name()),
    NAME(Output::get_rt_info, port().get_rt_info()),
    NAME(Output::set_names, port().set_names({text()})),
    NAME(Output::add_names, port().add_names({text()})),
    NAME(Output::operator==, port().operator==(port())),
    NAME(Output::operator!=, port().operator!=(port())),
    NAME(Output::operator<, port().operator<(port())),
};
// clang-format on

/// The part behind the last "::".
std::string last_part(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

TEST(Names, AreUsed) {
  std::set<std::string> seen;
  for (const Name& name : kNames) {
    EXPECT_TRUE(name.compiles);
    EXPECT_TRUE(seen.insert(name.name).second) << name.name << " stands twice";
    const std::string part = last_part(name.name);
    const bool by_sign = part == "operator bool" || part == "operator!";
    EXPECT_TRUE(by_sign || name.use.find(part) != std::string::npos) << name.name << " is not in " << name.use;
  }
}

// Rows of the page: | of | `name`, `name` | yes | remark |
TEST(Names, AreThoseOfThePage) {
  std::ifstream page(TERROIR_SOURCE_DIR "/runtime/include/README.md");
  ASSERT_TRUE(page);
  const std::regex row("\\| *(?:`([^`]*)`)? *\\| *(.*?) *\\| *(yes|no) *\\| *(.*?) *\\|");
  const std::regex quoted("`([^`]+)`");
  std::set<std::string> told, refused;
  for (std::string line; std::getline(page, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string of = cells[1];
    const std::string names = cells[2];
    for (std::sregex_iterator name(names.begin(), names.end(), quoted), end; name != end; ++name) {
      const std::string full = (of.empty() ? "" : of + "::") + (*name)[1].str();
      EXPECT_TRUE((cells[3] == "yes" ? told : refused).insert(full).second) << full << " stands twice";
    }
    if (cells[3] == "no") {
      EXPECT_FALSE(cells[4].str().empty()) << "no reason: " << line;
    }
  }
  EXPECT_GT(told.size(), 300u);
  EXPECT_GT(refused.size(), 50u);
  std::set<std::string> known;
  for (const Name& name : kNames) known.insert(name.name);
  for (const std::string& name : told) {
    EXPECT_EQ(known.count(name), 1u) << "the page says that " << name << " is supported, this list does not use it";
    EXPECT_EQ(refused.count(name), 0u) << name << " is said to be both";
  }
  for (const std::string& name : known) EXPECT_EQ(told.count(name), 1u) << name << " is missing on the page";
}

}  // namespace
}  // namespace terroir
