#include "runtime/plugin/config.hpp"

#include <algorithm>
#include <cctype>

#include "ir/base/error.hpp"
#include "runtime/parallel/loop.hpp"
#include "terroir/cpu_properties.hpp"

namespace terroir::plugin {

namespace {

struct Row {
  const char* key;
  void (*set)(Config&, const Any&);
  Any (*get)(const Config&);  // null: it cannot be read
};

void require(bool condition, const char* expected, const Any& found) {
  if (!condition) throw_error(ErrorCode::invalid_argument, "expected ", expected, ", got '", found, "'");
}

const Row kRows[] = {
    {hint::performance_mode.name(), [](Config& c, const Any& v) { c.performance_mode = v.as<hint::PerformanceMode>(); },
     [](const Config& c) { return Any(c.performance_mode); }},
    {hint::execution_mode.name(), [](Config& c, const Any& v) { c.execution_mode = v.as<hint::ExecutionMode>(); },
     [](const Config& c) { return Any(c.execution_mode); }},
    {hint::inference_precision.name(),
     [](Config& c, const Any& v) {
       const auto type = v.is<element::Type_t>() ? element::Type(v.as<element::Type_t>()) : v.as<element::Type>();
       require(type.is_dynamic() || type == element::f32 || type == element::bf16 || type == element::f16,
               "f32, bf16, f16 or dynamic", v);
       c.inference_precision = type;
     },
     [](const Config& c) { return Any(c.inference_precision); }},
    {hint::num_requests.name(), [](Config& c, const Any& v) { c.num_requests = v.as<uint32_t>(); },
     [](const Config& c) { return Any(c.num_requests); }},
    {num_streams.name(),
     [](Config& c, const Any& v) {
       const auto* typed = v.get_if<streams::Num>();
       const auto* text = v.get_if<std::string>();
       const int32_t n = typed != nullptr  ? typed->num
                         : text != nullptr ? terroir::detail::parse_value<streams::Num>(*text).num
                                           : v.as<int32_t>();
       require(n >= -2 && n <= 1024, "a number of streams up to 1024, or AUTO", v);
       c.streams = n;
     },
     [](const Config& c) { return Any(c.streams ? streams::Num(*c.streams) : streams::AUTO); }},
    {inference_num_threads.name(),
     [](Config& c, const Any& v) {
       const auto n = v.as<int32_t>();
       require(n >= 0, "a number of threads, or 0 for all", v);
       c.threads = n;
     },
     [](const Config& c) { return Any(c.threads); }},
    {compilation_num_threads.name(),
     [](Config& c, const Any& v) {
       const auto n = v.as<int32_t>();
       require(n >= 0, "a number of threads, or 0 for as many as the streams use", v);
       c.compilation_threads = n;
     },
     [](const Config& c) { return Any(c.compilation_threads); }},
    {hint::enable_cpu_pinning.name(), [](Config& c, const Any& v) { c.cpu_pinning = v.as<bool>(); },
     [](const Config& c) { return Any(c.cpu_pinning); }},
    {hint::enable_cpu_reservation.name(), [](Config& c, const Any& v) { c.cpu_reservation = v.as<bool>(); },
     [](const Config& c) { return Any(c.cpu_reservation); }},
    {hint::scheduling_core_type.name(), [](Config& c, const Any& v) { c.core_type = v.as<hint::SchedulingCoreType>(); },
     [](const Config& c) { return Any(c.core_type); }},
    {hint::enable_hyper_threading.name(), [](Config& c, const Any& v) { c.hyper_threading = v.as<bool>(); },
     [](const Config& c) { return Any(c.hyper_threading); }},
    {task_executor.name(), [](Config& c, const Any& v) { c.executor = v.as<std::shared_ptr<TaskExecutor>>(); },
     [](const Config& c) { return Any(c.executor); }},
    {enable_profiling.name(), [](Config& c, const Any& v) { c.profiling = v.as<bool>(); },
     [](const Config& c) { return Any(c.profiling); }},
    {terroir::log::level.name(), [](Config& c, const Any& v) { c.log_level = v.as<terroir::log::Level>(); },
     [](const Config& c) { return Any(c.log_level); }},
    {cache_dir.name(), [](Config& c, const Any& v) { c.cache_dir = v.as<std::string>(); },
     [](const Config& c) { return Any(c.cache_dir); }},
    {cache_mode.name(), [](Config& c, const Any& v) { c.cache_mode = v.as<CacheMode>(); },
     [](const Config& c) { return Any(c.cache_mode); }},
    {cache_encryption_callbacks.name(), [](Config& c, const Any& v) { c.encryption = v.as<EncryptionCallbacks>(); },
     nullptr},
    {terroir::memory_limit.name(), [](Config& c, const Any& v) { c.memory_limit = v.as<uint64_t>(); },
     [](const Config& c) { return Any(c.memory_limit); }},
    {plan_cache_capacity.name(), [](Config& c, const Any& v) { c.plan_cache_bytes = v.as<uint64_t>(); },
     [](const Config& c) { return Any(c.plan_cache_bytes); }},
    {strict_reading.name(), [](Config& c, const Any& v) { c.strict_reading = v.as<bool>(); },
     [](const Config& c) { return Any(c.strict_reading); }},
    {enable_mmap.name(), [](Config& c, const Any& v) { c.map_weights = v.as<bool>(); },
     [](const Config& c) { return Any(c.map_weights); }},
    {intel_cpu::denormals_optimization.name(), [](Config& c, const Any& v) { c.flush_denormals = v.as<bool>(); },
     [](const Config& c) { return Any(c.flush_denormals); }},
    {device::id.name(),
     [](Config& c, const Any& v) {
       require(v.as<std::string>().empty() || v.as<std::string>() == "0", "0, the only device of its kind", v);
       c.device_id = v.as<std::string>();
     },
     [](const Config& c) { return Any(c.device_id); }},
};

// What OpenVINO's CPU device or its Core accepts and what concerns nothing that there is here: no batching behind the
// user's back, no second socket, no quantisation of activations or caches of attention, no sparse weights.
struct Inert {
  PropertyName name;
  Any standard;
  Any (*parse)(const Any&);
};

template <const auto& property>
Inert inert(typename std::decay_t<decltype(property)>::value_type standard) {
  using T = typename std::decay_t<decltype(property)>::value_type;
  return {property, Any(std::move(standard)), [](const Any& value) { return Any(value.as<T>()); }};
}

const std::vector<Inert>& inert_properties() {
  static const std::vector<Inert> rows{inert<hint::allow_auto_batching>(true),
                                       inert<auto_batch_timeout>(1000),
                                       inert<force_tbb_terminate>(false),
                                       inert<hint::model_distribution_policy>({}),
                                       inert<hint::dynamic_quantization_group_size>(0),
                                       inert<hint::kv_cache_precision>(element::dynamic),
                                       inert<key_cache_precision>(element::dynamic),
                                       inert<value_cache_precision>(element::dynamic),
                                       inert<key_cache_group_size>(0),
                                       inert<value_cache_group_size>(0),
                                       inert<intel_cpu::sparse_weights_decompression_rate>(1)};
  return rows;
}

const Inert* find_inert(const std::string& key) {
  for (const Inert& row : inert_properties()) {
    if (row.name == key) return &row;
  }
  return nullptr;
}

std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  while (!key.empty()) {
    const std::string_view word = key.substr(0, key.find('_'));
    key.remove_prefix(std::min(word.size() + 1, key.size()));
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// Words may be cut short, though not to next to nothing.
bool alike(std::string_view a, std::string_view b) {
  const size_t size = std::min(a.size(), b.size());
  return a == b || (size >= 3 && a.substr(0, size) == b.substr(0, size));
}

/// How many of the words `name` does not have.
size_t words_missing(const std::vector<std::string_view>& words, std::string_view name) {
  const std::vector<std::string_view> has = words_of(name);
  return static_cast<size_t>(std::count_if(words.begin(), words.end(), [&](std::string_view word) {
    return std::none_of(has.begin(), has.end(), [&](std::string_view other) { return alike(word, other); });
  }));
}

const std::string kDeviceProperties = device::properties.name();

// Keys that can be read from every device or compiled model, and so deserve a better error than "unknown" when set.
const PropertyName kReadOnly[] = {supported_properties, available_devices,
                                  model_name,           optimal_number_of_infer_requests,
                                  range_for_streams,    range_for_async_infer_requests,
                                  execution_devices,    memory_footprint,
                                  loaded_from_cache,    device::full_name,
                                  device::architecture, device::capabilities,
                                  device::type};

}  // namespace

void Config::apply(const AnyMap& properties, std::string_view device) {
  Config next = *this;
  for (const auto& [key, value] : properties) {
    if (key == kDeviceProperties) {
      for (const auto& [name, entries] : value.as<AnyMap>()) {
        if (name == device) next.apply(entries.as<AnyMap>(), device);
      }
      continue;
    }
    if (key.compare(0, kDeviceProperties.size() + 1, kDeviceProperties + "_") == 0) {
      if (key.substr(kDeviceProperties.size() + 1) == device) next.apply(value.as<AnyMap>(), device);
      continue;
    }
    if (const Inert* inert = find_inert(key)) {
      with_context([&] { return "the property " + key; }, [&] { next.without_effect[key] = inert->parse(value); });
      continue;
    }
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return key == r.key; });
    if (row == std::end(kRows)) {
      if (std::find(std::begin(kReadOnly), std::end(kReadOnly), key) != std::end(kReadOnly)) {
        throw_error(ErrorCode::invalid_argument, "the property ", key, " of ", device, " is read-only");
      }
      throw_unknown_property(device, key, keys());
    }
    with_context([&] { return "the property " + key; }, [&] { row->set(next, value); });
  }
  *this = std::move(next);
}

Any Config::get(const std::string& key) const {
  for (const Row& row : kRows) {
    if (key != row.key) continue;
    if (row.get == nullptr) throw_error(ErrorCode::invalid_argument, "the property ", key, " can only be set");
    return row.get(*this);
  }
  if (const Inert* inert = find_inert(key)) {
    const auto set = without_effect.find(key);
    return set != without_effect.end() ? set->second : inert->standard;
  }
  return {};
}

std::vector<PropertyName> Config::keys() {
  std::vector<PropertyName> result;
  for (const Row& row : kRows) {
    if (row.get != nullptr) result.emplace_back(row.key, PropertyMutability::RW);
  }
  for (const Inert& row : inert_properties()) result.push_back(row.name);
  return result;
}

std::string Config::compile_settings() const {
  // Strict reading refuses models that compile otherwise.
  return concat(execution_mode, ' ', inference_precision, ' ', memory_limit, ' ', strict_reading);
}

Config::Threading Config::threading(int available) const {
  available = std::max(available, 1);
  // Never more threads than the process may use: they would only take turns.
  const int total = threads > 0 ? std::min(threads, available) : available;
  int count = 1;
  if (streams && *streams > 0) {
    count = *streams;
  } else if (performance_mode != hint::PerformanceMode::LATENCY || (streams && *streams < 0)) {
    count = total;
    if (num_requests > 0) count = static_cast<int>(std::min<int64_t>(count, num_requests));
  }
  // Plans are made for the threads there will be: memory of their own for as many as an arena has.
  return {count, std::clamp(total / count, 1, parallel::kMaxSlots)};
}

void throw_unknown_property(std::string_view owner, const std::string& key, const std::vector<PropertyName>& known) {
  const std::vector<std::string> names(known.begin(), known.end());
  // Names that have its words, whatever their case, are more like it than those that look like it.
  std::string like, capitals = key;
  for (char& letter : capitals) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const std::vector<std::string_view> words = words_of(capitals);
  size_t least = words.size() / 2;
  for (const std::string& name : names) {
    const size_t missing = words_missing(words, name);
    if (words.empty() || missing > least) continue;
    if (missing < least) like.clear();
    least = missing;
    like.append(like.empty() ? ", did you mean '" : " or '").append(name).append("'");
  }
  std::string hint = least == 0 && !like.empty() ? "" : did_you_mean(key, names);
  if (hint.empty() && !like.empty()) hint = like + "?";
  if (hint.empty()) {
    hint = "; known are";
    for (const std::string& name : names) hint += " " + name;
  }
  throw_error(ErrorCode::not_found, owner, " has no property '", key, "'", hint);
}

}  // namespace terroir::plugin
