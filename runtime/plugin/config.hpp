// The properties every device understands, as values.
//
// What: one table of keys serves setting, reading, listing and the text of errors; a device adds nothing to it.
// Errors: not_found for an unknown key (with the nearest known one), invalid_argument for a read-only key or a value
// out
//         of its domain, parse_error for a text that is no value. A failed apply() leaves the Config as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "terroir/any.hpp"
#include "terroir/executor.hpp"
#include "terroir/properties.hpp"

namespace terroir::plugin {

struct Config {
  hint::PerformanceMode performance_mode = hint::PerformanceMode::LATENCY;
  hint::ExecutionMode execution_mode = hint::ExecutionMode::PERFORMANCE;
  element::Type inference_precision = element::dynamic;  // dynamic: the device decides
  uint32_t num_requests = 0;                             // 0: unknown
  std::optional<int32_t> streams;                        // empty or negative: from the performance mode
  int32_t threads = 0;                                   // of all streams together; 0: all that are available
  int32_t compilation_threads = 0;                       // 0: as many as the streams will use
  bool cpu_pinning = false;
  bool cpu_reservation = false;
  hint::SchedulingCoreType core_type = hint::SchedulingCoreType::ANY_CORE;
  bool hyper_threading = true;             // two threads on a core that can
  std::shared_ptr<TaskExecutor> executor;  // null: the runtime's own threads
  bool profiling = false;
  log::Level log_level = log::Level::WARNING;
  std::string cache_dir;
  CacheMode cache_mode = CacheMode::OPTIMIZE_SPEED;
  EncryptionCallbacks encryption;  // of what is written to cache_dir and by export_model(); empty: none
  uint64_t memory_limit = 0;       // bytes; 0: none
  uint64_t plan_cache_bytes = uint64_t{32} << 20;
  bool strict_reading = false;
  bool map_weights = true;
  bool flush_denormals = false;
  std::string device_id;
  /// Of settings that OpenVINO's CPU device takes and that change nothing here; only those that were set.
  AnyMap without_effect;

  /// Sets the entries of `properties`. What DEVICE_PROPERTIES or DEVICE_PROPERTIES_<device> hold for another device
  /// than `device` is skipped.
  void apply(const AnyMap& properties, std::string_view device);
  /// The value of a settable key; empty if there is no such key. Throws Exception (invalid_argument) for one that can
  /// only be set.
  Any get(const std::string& key) const;
  /// All keys that can be set and read.
  static std::vector<PropertyName> keys();

  /// The settings that decide how a model is compiled, in words.
  std::string compile_settings() const;

  /// What the settings mean on a machine with `available` threads: at least 1 stream of at least 1 thread each;
  /// streams * threads_per_stream <= max(available, streams).
  struct Threading {
    int streams = 1;
    int threads_per_stream = 1;
  };
  Threading threading(int available) const;
};

/// Throws not_found: says that `owner` has no such property, and which of `known` was probably meant.
[[noreturn]] void throw_unknown_property(std::string_view owner, const std::string& key,
                                         const std::vector<PropertyName>& known);

}  // namespace terroir::plugin
