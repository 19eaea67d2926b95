// The properties of devices and compiled models, under OpenVINO's keys.
//
// Use: core.set_property("CPU", num_streams(2)); core.get_property("CPU", device::full_name); or with texts,
//      {{"NUM_STREAMS", "2"}}. Values are accepted typed or as text.
// What: the names are complete; which of them a device knows, says its supported_properties. The others exist so that
//       programs compile; setting or reading them is refused by name. include/README.md tells which and why.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/element_type.hpp"
#include "terroir/property.hpp"
#include "terroir/tensor.hpp"

// A program may be compiled with -DDEBUG, which is also the name of a log level.
#pragma push_macro("DEBUG")
#undef DEBUG

namespace terroir {

class Model;

namespace hint {

using detail::operator<<;
using detail::operator>>;

enum class Priority { LOW = 0, MEDIUM = 1, HIGH = 2, DEFAULT = MEDIUM };
constexpr auto enumerator_names(Priority) {
  return std::array{std::pair{Priority::LOW, "LOW"}, std::pair{Priority::MEDIUM, "MEDIUM"},
                    std::pair{Priority::HIGH, "HIGH"}, std::pair{Priority::DEFAULT, "DEFAULT"}};
}
enum class PerformanceMode { LATENCY = 1, THROUGHPUT = 2, CUMULATIVE_THROUGHPUT = 3 };
constexpr auto enumerator_names(PerformanceMode) {
  return std::array{std::pair{PerformanceMode::LATENCY, "LATENCY"},
                    std::pair{PerformanceMode::THROUGHPUT, "THROUGHPUT"},
                    std::pair{PerformanceMode::CUMULATIVE_THROUGHPUT, "CUMULATIVE_THROUGHPUT"}};
}
enum class ExecutionMode { PERFORMANCE = 1, ACCURACY = 2 };
constexpr auto enumerator_names(ExecutionMode) {
  return std::array{std::pair{ExecutionMode::PERFORMANCE, "PERFORMANCE"},
                    std::pair{ExecutionMode::ACCURACY, "ACCURACY"}};
}
enum class SchedulingCoreType {
  ANY_CORE = 0,
  PCORE_ONLY = 1,  ///< cores made for speed
  ECORE_ONLY = 2   ///< cores made for efficiency
};
constexpr auto enumerator_names(SchedulingCoreType) {
  return std::array{std::pair{SchedulingCoreType::ANY_CORE, "ANY_CORE"},
                    std::pair{SchedulingCoreType::PCORE_ONLY, "PCORE_ONLY"},
                    std::pair{SchedulingCoreType::ECORE_ONLY, "ECORE_ONLY"}};
}
enum class ModelDistributionPolicy { TENSOR_PARALLEL = 0, PIPELINE_PARALLEL = 1 };
constexpr auto enumerator_names(ModelDistributionPolicy) {
  return std::array{std::pair{ModelDistributionPolicy::TENSOR_PARALLEL, "TENSOR_PARALLEL"},
                    std::pair{ModelDistributionPolicy::PIPELINE_PARALLEL, "PIPELINE_PARALLEL"}};
}

/// LATENCY: one stream with all threads. THROUGHPUT: as many streams as threads. What is set explicitly wins.
inline constexpr Property<PerformanceMode> performance_mode{"PERFORMANCE_HINT"};
/// How many requests the application will keep running at once; caps the streams a hint makes. 0: unknown.
inline constexpr Property<uint32_t> num_requests{"PERFORMANCE_HINT_NUM_REQUESTS"};
/// The type in which floating-point layers may be computed; f32 if it is not set. bf16: convolutions and products with
/// constant matrices, on processors that multiply such numbers; a compiled model tells what it came down to.
inline constexpr Property<element::Type> inference_precision{"INFERENCE_PRECISION_HINT"};
/// ACCURACY forbids any precision below that of the model, unless inference_precision is set to one, and algorithms that
/// round more than the sums they replace.
inline constexpr Property<ExecutionMode> execution_mode{"EXECUTION_MODE_HINT"};
/// Which cores threads may run on, of processors that have several kinds.
inline constexpr Property<SchedulingCoreType> scheduling_core_type{"SCHEDULING_CORE_TYPE"};
/// Whether each thread stays on one core.
inline constexpr Property<bool> enable_cpu_pinning{"ENABLE_CPU_PINNING"};
/// Whether the cores of a compiled model are kept from the other compiled models of the process.
inline constexpr Property<bool> enable_cpu_reservation{"ENABLE_CPU_RESERVATION"};
/// Whether both threads of a core are used.
inline constexpr Property<bool> enable_hyper_threading{"ENABLE_HYPER_THREADING"};
inline constexpr Property<Priority> model_priority{"MODEL_PRIORITY"};
inline constexpr Property<std::set<ModelDistributionPolicy>> model_distribution_policy{"MODEL_DISTRIBUTION_POLICY"};
inline constexpr Property<std::shared_ptr<const Model>> model{"MODEL_PTR"};
inline constexpr Property<bool> allow_auto_batching{"ALLOW_AUTO_BATCHING"};
inline constexpr Property<uint64_t> dynamic_quantization_group_size{"DYNAMIC_QUANTIZATION_GROUP_SIZE"};
inline constexpr Property<element::Type> kv_cache_precision{"KV_CACHE_PRECISION"};
inline constexpr Property<float> activations_scale_factor{"ACTIVATIONS_SCALE_FACTOR"};
inline constexpr Property<Tensor> compiled_blob{"COMPILED_BLOB"};

}  // namespace hint

namespace streams {

/// A number of streams, or AUTO.
struct Num {
  constexpr Num() = default;
  constexpr Num(int32_t n) : num(n) {}                // NOLINT: implicit, as in OpenVINO
  constexpr operator int32_t() const { return num; }  // NOLINT: implicit, as in OpenVINO
  int32_t num = -1;
};
inline constexpr Num AUTO{-1};
inline constexpr Num NUMA{-2};

inline std::ostream& operator<<(std::ostream& out, const Num& value) {
  if (value.num == AUTO.num) return out << "AUTO";
  if (value.num == NUMA.num) return out << "NUMA";
  return out << value.num;
}
inline std::istream& operator>>(std::istream& in, Num& value) {
  std::string word;
  in >> word;
  if (word == "AUTO") {
    value = AUTO;
  } else if (word == "NUMA") {
    value = NUMA;
  } else {
    value = Num(terroir::detail::parse_value<int32_t>(word));
  }
  return in;
}

/// How many inferences of a compiled model run at the same time.
inline constexpr Property<Num> num{"NUM_STREAMS"};

}  // namespace streams

namespace log {

using detail::operator<<;
using detail::operator>>;

enum class Level { NO = -1, ERR = 0, WARNING = 1, INFO = 2, DEBUG = 3, TRACE = 4 };
constexpr auto enumerator_names(Level) {
  return std::array{std::pair{Level::NO, "LOG_NONE"},         std::pair{Level::ERR, "LOG_ERROR"},
                    std::pair{Level::WARNING, "LOG_WARNING"}, std::pair{Level::INFO, "LOG_INFO"},
                    std::pair{Level::DEBUG, "LOG_DEBUG"},     std::pair{Level::TRACE, "LOG_TRACE"}};
}

/// What the library writes to the standard error stream: below WARNING nothing, from DEBUG on what TERROIR_VERBOSE=all
/// shows.
inline constexpr Property<Level> level{"LOG_LEVEL"};

}  // namespace log

using detail::operator<<;
using detail::operator>>;

/// What is written to cache_dir: as little as possible, or all that makes the next start fast.
enum class CacheMode { OPTIMIZE_SIZE = 0, OPTIMIZE_SPEED = 1 };
constexpr auto enumerator_names(CacheMode) {
  return std::array{std::pair{CacheMode::OPTIMIZE_SIZE, "optimize_size"},
                    std::pair{CacheMode::OPTIMIZE_SPEED, "optimize_speed"}};
}
enum class WorkloadType { DEFAULT = 0, EFFICIENT = 1 };
constexpr auto enumerator_names(WorkloadType) {
  return std::array{std::pair{WorkloadType::DEFAULT, "DEFAULT"}, std::pair{WorkloadType::EFFICIENT, "EFFICIENT"}};
}
struct EncryptionCallbacks {
  std::function<std::string(const std::string&)> encrypt;
  std::function<std::string(const std::string&)> decrypt;
};

/// Keys of all properties.
inline constexpr Property<std::vector<PropertyName>, PropertyMutability::RO> supported_properties{
    "SUPPORTED_PROPERTIES"};
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> available_devices{"AVAILABLE_DEVICES"};
inline constexpr Property<std::string, PropertyMutability::RO> model_name{"NETWORK_NAME"};
/// How many requests keep a compiled model busy.
inline constexpr Property<uint32_t, PropertyMutability::RO> optimal_number_of_infer_requests{
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS"};
/// Smallest, largest, step.
inline constexpr Property<std::tuple<unsigned, unsigned, unsigned>, PropertyMutability::RO>
    range_for_async_infer_requests{"RANGE_FOR_ASYNC_INFER_REQUESTS"};
/// Smallest, largest.
inline constexpr Property<std::tuple<unsigned, unsigned>, PropertyMutability::RO> range_for_streams{
    "RANGE_FOR_STREAMS"};
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> execution_devices{"EXECUTION_DEVICES"};
/// How many inferences of a compiled model run at the same time.
inline constexpr Property<streams::Num> num_streams{"NUM_STREAMS"};
/// Threads of all streams together; 0: as many as the process may use, which is also the most there will be.
inline constexpr Property<int32_t> inference_num_threads{"INFERENCE_NUM_THREADS"};
/// Threads that compile one model; 0: as many as its streams will use.
inline constexpr Property<int32_t> compilation_num_threads{"COMPILATION_NUM_THREADS"};
/// Whether InferRequest::get_profiling_info() has something to tell.
inline constexpr Property<bool> enable_profiling{"PERF_COUNT"};
/// A folder for compiled models: what compile_model() makes is written there, and the next time read from there, if the
/// model (its content, wherever its files are), this build of the library, the device with its instruction set, the
/// extensions and the settings that decide how it is compiled are the same. Files are mapped, so processes share their
/// weights. What is damaged or cannot be read or written costs a warning and is not used. Nothing is ever deleted: each
/// model has a file of about the size of its weights for each of those settings; empty the folder when you like. Small
/// files beside them (".seen") say which large files have been read and checked, and how these looked to the file system
/// then: what is unchanged since is not read again to be hashed.
inline constexpr Property<std::string> cache_dir{"CACHE_DIR"};
inline constexpr Property<std::filesystem::path> cache_path{"CACHE_PATH"};
inline constexpr Property<CacheMode> cache_mode{"CACHE_MODE"};
inline constexpr Property<bool, PropertyMutability::RO> loaded_from_cache{"LOADED_FROM_CACHE"};
inline constexpr Property<std::filesystem::path, PropertyMutability::WO> cache_model_path{"CACHE_MODEL_PATH"};
inline constexpr Property<uint64_t> cache_blob_id{"CACHE_BLOB_ID"};
/// Functions for what CompiledModel::export_model() writes and Core::import_model() reads, and for the files in
/// cache_dir, which are read whole then and not shared by processes; with one function alone they are only written or
/// only read. Can be set and not read.
inline constexpr Property<EncryptionCallbacks, PropertyMutability::WO> cache_encryption_callbacks{
    "CACHE_ENCRYPTION_CALLBACKS"};
inline constexpr Property<bool> enable_weightless{"ENABLE_WEIGHTLESS"};
inline constexpr Property<std::string> weights_path{"WEIGHTS_PATH"};
inline constexpr Property<WorkloadType> workload_type{"WORKLOAD_TYPE"};
inline constexpr Property<unsigned, PropertyMutability::RO> optimal_batch_size{"OPTIMAL_BATCH_SIZE"};
inline constexpr Property<uint32_t, PropertyMutability::RO> max_batch_size{"MAX_BATCH_SIZE"};
inline constexpr Property<uint32_t> auto_batch_timeout{"AUTO_BATCH_TIMEOUT"};
inline constexpr Property<bool> force_tbb_terminate{"FORCE_TBB_TERMINATE"};
/// For reading models: whether the .bin is mapped, and so read where and when it is needed, or read whole.
inline constexpr Property<bool> enable_mmap{"ENABLE_MMAP"};
inline constexpr Property<element::Type> key_cache_precision{"KEY_CACHE_PRECISION"};
inline constexpr Property<element::Type> value_cache_precision{"VALUE_CACHE_PRECISION"};
inline constexpr Property<uint64_t> key_cache_group_size{"KEY_CACHE_GROUP_SIZE"};
inline constexpr Property<uint64_t> value_cache_group_size{"VALUE_CACHE_GROUP_SIZE"};
inline constexpr Property<Tensor, PropertyMutability::RO> runtime_requirements{"RUNTIME_REQUIREMENTS"};
inline constexpr Property<bool, PropertyMutability::RO> runtime_requirements_met{"RUNTIME_REQUIREMENTS_MET"};
/// Bytes that a compiled model may need with all its streams busy; 0: any number. If it would need more, kernels are
/// chosen that need less, else compiling fails (out_of_memory) and says what needs how much.
inline constexpr Property<uint64_t> memory_limit{"MEMORY_LIMIT"};
/// Bytes that a compiled model needs, by what for, as far as it is known before it runs: "weights" (constants that are
/// read as they are), "packed" (weights in the kernels' order), "arena_per_request" (activations and scratch of each
/// request), "peak" (all of it with as many requests as there are streams). Of a model with unknown extents: of the
/// plans made so far.
inline constexpr Property<std::map<std::string, uint64_t>, PropertyMutability::RO> memory_footprint{"MEMORY_FOOTPRINT"};
/// Bytes that the plans of a model with unknown extents, one for each set of input extents, may occupy together; those
/// used longest ago go first. The one used last stays in any case, and what runs stays until it has run. Packed weights
/// are shared by all plans and do not count; a plan counts 128 KiB at least. Default: 32 MiB.
inline constexpr Property<uint64_t> plan_cache_capacity{"PLAN_CACHE_CAPACITY"};
/// For reading models: whether declared shapes that contradict the inferred ones are errors (else warnings).
inline constexpr Property<bool> strict_reading{"STRICT_READING"};

}  // namespace terroir

#pragma pop_macro("DEBUG")

#include "terroir/device_properties.hpp"
