// The properties of devices and compiled models, under OpenVINO's keys.
//
// Use: core.set_property("CPU", num_streams(2)); core.get_property("CPU", device::full_name); or with texts,
//      {{"NUM_STREAMS", "2"}}. Values are accepted typed or as text.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/element_type.hpp"
#include "terroir/exception.hpp"

namespace terroir {

enum class PropertyMutability {
  RO,  ///< can only be read
  RW   ///< can be set, too
};

/// The key of a property and whether it can be set.
struct PropertyName : std::string {
  PropertyName() = default;
  PropertyName(const std::string& name, PropertyMutability mutability = PropertyMutability::RW)  // NOLINT: implicit
      : std::string(name), mutability_(mutability) {}
  bool is_mutable() const { return mutability_ == PropertyMutability::RW; }

 private:
  PropertyMutability mutability_ = PropertyMutability::RW;
};

/// A property of type T: calling it with a value gives the entry of an AnyMap.
template <typename T, PropertyMutability mutability_ = PropertyMutability::RW>
class Property {
 public:
  using value_type = T;
  explicit constexpr Property(const char* name) : name_(name) {}
  constexpr const char* name() const { return name_; }
  constexpr PropertyMutability mutability() const { return mutability_; }
  template <typename V, PropertyMutability m = mutability_>
  std::enable_if_t<m == PropertyMutability::RW, std::pair<std::string, Any>> operator()(V&& value) const {
    if constexpr (std::is_constructible_v<T, V&&> && !std::is_convertible_v<V&&, std::string>) {
      return {name_, Any(T(std::forward<V>(value)))};
    } else {
      return {name_, Any(std::string(std::forward<V>(value)))};
    }
  }
  operator PropertyName() const { return {name_, mutability_}; }  // NOLINT: implicit, as in OpenVINO

 private:
  const char* name_;
};

/// True if every type can be an entry of an AnyMap.
template <typename... Ts>
inline constexpr bool are_properties = (std::is_convertible_v<Ts, std::pair<std::string, Any>> && ...);

namespace detail {
template <typename E, size_t N>
std::ostream& print_enum(std::ostream& out, E value, const std::pair<E, const char*> (&names)[N]) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return out << name;
  }
  return out << "?";
}
template <typename E, size_t N>
std::istream& read_enum(std::istream& in, E& value, const std::pair<E, const char*> (&names)[N]) {
  std::string word;
  in >> word;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string known;
  for (const auto& [candidate, name] : names) {
    if (word == name) {
      value = candidate;
      return in;
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw Exception(ErrorCode::parse_error, "'" + word + "' is not one of " + known);
}
}  // namespace detail

namespace hint {

enum class PerformanceMode { LATENCY, THROUGHPUT, CUMULATIVE_THROUGHPUT };
enum class ExecutionMode { PERFORMANCE, ACCURACY };

namespace detail {
inline constexpr std::pair<PerformanceMode, const char*> kPerformanceModes[] = {
    {PerformanceMode::LATENCY, "LATENCY"},
    {PerformanceMode::THROUGHPUT, "THROUGHPUT"},
    {PerformanceMode::CUMULATIVE_THROUGHPUT, "CUMULATIVE_THROUGHPUT"}};
inline constexpr std::pair<ExecutionMode, const char*> kExecutionModes[] = {{ExecutionMode::PERFORMANCE, "PERFORMANCE"},
                                                                            {ExecutionMode::ACCURACY, "ACCURACY"}};
}  // namespace detail

inline std::ostream& operator<<(std::ostream& out, PerformanceMode mode) {
  return terroir::detail::print_enum(out, mode, detail::kPerformanceModes);
}
inline std::istream& operator>>(std::istream& in, PerformanceMode& mode) {
  return terroir::detail::read_enum(in, mode, detail::kPerformanceModes);
}
inline std::ostream& operator<<(std::ostream& out, ExecutionMode mode) {
  return terroir::detail::print_enum(out, mode, detail::kExecutionModes);
}
inline std::istream& operator>>(std::istream& in, ExecutionMode& mode) {
  return terroir::detail::read_enum(in, mode, detail::kExecutionModes);
}

/// LATENCY: one stream with all threads. THROUGHPUT: as many streams as threads. What is set explicitly wins.
inline constexpr Property<PerformanceMode> performance_mode{"PERFORMANCE_HINT"};
/// How many requests the application will keep running at once; caps the streams a hint makes. 0: unknown.
inline constexpr Property<uint32_t> num_requests{"PERFORMANCE_HINT_NUM_REQUESTS"};
/// The type in which floating-point layers may be computed.
inline constexpr Property<element::Type> inference_precision{"INFERENCE_PRECISION_HINT"};
/// ACCURACY forbids any precision below that of the model, and algorithms that round more than the sums they replace.
inline constexpr Property<ExecutionMode> execution_mode{"EXECUTION_MODE_HINT"};

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

enum class Level { NO = -1, ERR = 0, WARNING = 1, INFO = 2, DEBUG = 3, TRACE = 4 };

namespace detail {
inline constexpr std::pair<Level, const char*> kLevels[] = {
    {Level::NO, "LOG_NONE"},   {Level::ERR, "LOG_ERROR"},   {Level::WARNING, "LOG_WARNING"},
    {Level::INFO, "LOG_INFO"}, {Level::DEBUG, "LOG_DEBUG"}, {Level::TRACE, "LOG_TRACE"}};
}
inline std::ostream& operator<<(std::ostream& out, Level level) {
  return terroir::detail::print_enum(out, level, detail::kLevels);
}
inline std::istream& operator>>(std::istream& in, Level& level) {
  return terroir::detail::read_enum(in, level, detail::kLevels);
}

/// What the library writes to the standard error stream: below WARNING nothing, from DEBUG on what TERROIR_VERBOSE=all
/// shows.
inline constexpr Property<Level> level{"LOG_LEVEL"};

}  // namespace log

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
/// Whether InferRequest::get_profiling_info() has something to tell.
inline constexpr Property<bool> enable_profiling{"PERF_COUNT"};
/// Accepted for compatibility. Compiled models are not written to disk: compiling them anew is as fast as reading them.
inline constexpr Property<std::string> cache_dir{"CACHE_DIR"};
/// Bytes that the plans of a model with unknown extents, one for each set of input extents, may occupy together; those
/// used longest ago go first. The one used last stays in any case, and what runs stays until it has run. Packed weights
/// are shared by all plans and do not count; a plan counts 128 KiB at least. Default: 32 MiB.
inline constexpr Property<uint64_t> plan_cache_capacity{"PLAN_CACHE_CAPACITY"};
/// For reading models: whether declared shapes that contradict the inferred ones are errors (else warnings).
inline constexpr Property<bool> strict_reading{"STRICT_READING"};

namespace device {

inline constexpr Property<std::string, PropertyMutability::RO> full_name{"FULL_DEVICE_NAME"};
inline constexpr Property<std::string, PropertyMutability::RO> architecture{"DEVICE_ARCHITECTURE"};
/// "FP32", "INT8", "BF16" ...: what the device computes well.
inline constexpr Property<std::vector<std::string>, PropertyMutability::RO> capabilities{"OPTIMIZATION_CAPABILITIES"};
/// Properties for one device of several: device::properties("CPU", num_streams(2)).
struct Properties {
  template <typename... Entries>
  std::enable_if_t<are_properties<Entries...>, std::pair<std::string, Any>> operator()(const std::string& device,
                                                                                       Entries&&... entries) const {
    AnyMap inner{std::pair<std::string, Any>(std::forward<Entries>(entries))...};
    return {"DEVICE_PROPERTIES", Any(AnyMap{{device, Any(inner)}})};
  }
};
inline constexpr Properties properties;

}  // namespace device

}  // namespace terroir
