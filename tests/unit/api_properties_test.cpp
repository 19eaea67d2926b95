// Properties: keys, texts of their values, what a device takes and what it refuses
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/plugin/config.hpp"
#include "terroir/cpu_properties.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

template <typename E>
void expect_texts(std::initializer_list<std::pair<E, const char*>> texts) {
  for (const auto& [value, text] : texts) {
    EXPECT_EQ(Any(value).as<std::string>(), text);
    EXPECT_EQ(Any(text).as<E>(), value) << text;
  }
}

TEST(Properties, EnumerationsAreWrittenAsOpenVINOWritesThem) {
  expect_texts<hint::Priority>({{hint::Priority::LOW, "LOW"}, {hint::Priority::HIGH, "HIGH"}});
  EXPECT_EQ(Any("DEFAULT").as<hint::Priority>(), hint::Priority::MEDIUM);
  expect_texts<hint::SchedulingCoreType>(
      {{hint::SchedulingCoreType::ANY_CORE, "ANY_CORE"}, {hint::SchedulingCoreType::ECORE_ONLY, "ECORE_ONLY"}});
  expect_texts<CacheMode>({{CacheMode::OPTIMIZE_SIZE, "optimize_size"}, {CacheMode::OPTIMIZE_SPEED, "optimize_speed"}});
  EXPECT_EQ(Any("OPTIMIZE_SIZE").as<CacheMode>(), CacheMode::OPTIMIZE_SIZE);
  expect_texts<device::Type>({{device::Type::INTEGRATED, "integrated"}, {device::Type::DISCRETE, "discrete"}});
  expect_texts<log::Level>({{log::Level::NO, "LOG_NONE"}, {log::Level::TRACE, "LOG_TRACE"}});
  expect_texts<WorkloadType>({{WorkloadType::EFFICIENT, "EFFICIENT"}});
  expect_texts<intel_cpu::LatencyThreadingMode>({{intel_cpu::LatencyThreadingMode::PER_SOCKET, "PER_SOCKET"}});
  EXPECT_EQ(Any("TENSOR_PARALLEL").as<std::set<hint::ModelDistributionPolicy>>(),
            std::set{hint::ModelDistributionPolicy::TENSOR_PARALLEL});
  const Exception error = caught([] { Any("UPWARDS").as<hint::Priority>(); });
  EXPECT_EQ(error.code(), ErrorCode::parse_error);
  EXPECT_STREQ(error.what(), "'UPWARDS' is not one of LOW, MEDIUM, HIGH, DEFAULT");
}

TEST(Properties, DeviceFactsReadAndPrint) {
  device::UUID uuid;
  uuid.uuid[0] = 0xab;
  uuid.uuid[15] = 0x01;
  EXPECT_EQ(Any(uuid).as<std::string>(), "ab000000000000000000000000000001");
  EXPECT_EQ(Any("ab000000000000000000000000000001").as<device::UUID>().uuid, uuid.uuid);
  EXPECT_EQ(caught([] { Any("xy").as<device::UUID>(); }).code(), ErrorCode::parse_error);
  EXPECT_EQ(Any("0102030405060708").as<device::LUID>().luid[7], 8);
  const device::PCIInfo info = Any("{domain: 0 bus: 3 device: 0x1f function: 2}").as<device::PCIInfo>();
  EXPECT_EQ(info.bus, 3u);
  EXPECT_EQ(info.device, 0x1fu);
  EXPECT_EQ(Any(info).as<std::string>(), "{domain: 0 bus: 3 device: 0x1f function: 2}");
  EXPECT_EQ(caught([] { Any("nothing").as<device::PCIInfo>(); }).code(), ErrorCode::parse_error);
}

TEST(Properties, ValuesAreMadeTypedAtOnce) {
  EXPECT_TRUE(num_streams("AUTO").second.is<streams::Num>());
  EXPECT_TRUE(inference_num_threads(2L).second.is<int32_t>());
  EXPECT_TRUE(hint::inference_precision("f16").second.is<element::Type>());
  EXPECT_EQ(hint::inference_precision(element::bf16).second.as<element::Type>(), element::bf16);
  EXPECT_EQ(cache_path("some/folder").second.as<std::filesystem::path>(), "some/folder");
  EXPECT_EQ(device::id(1).second.as<std::string>(), "1");
  EXPECT_EQ(caught([] { hint::num_requests(-1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([] { hint::num_requests("-1"); }).code(), ErrorCode::parse_error);
  EXPECT_EQ(hint::model(std::shared_ptr<const Model>()).first, "MODEL_PTR");
  EXPECT_TRUE(supported_properties == std::string("SUPPORTED_PROPERTIES"));
  EXPECT_EQ(PropertyName(cache_encryption_callbacks).get_mutability(), PropertyMutability::WO);
  EXPECT_TRUE(PropertyName(cache_encryption_callbacks).is_mutable());
  EXPECT_FALSE(PropertyName(loaded_from_cache).is_mutable());
  static_assert(num_streams.mutability == PropertyMutability::RW);
}

TEST(Properties, OfOneDeviceAmongSeveral) {
  const auto entry = device::properties("CPU", num_streams(2), enable_profiling(true));
  EXPECT_EQ(entry.first, "DEVICE_PROPERTIES_CPU");
  EXPECT_EQ(entry.second.as<AnyMap>().size(), 2u);
  plugin::Config config;
  config.apply({entry, device::properties("GPU", AnyMap{{"NONSENSE", 1}})}, "CPU");
  EXPECT_EQ(config.streams, 2);
  config.apply({device::properties(AnyMap{{"CPU", AnyMap{num_streams(3)}}, {"GPU", AnyMap{{"NONSENSE", 1}}}})}, "CPU");
  EXPECT_EQ(config.streams, 3);
  config.apply({{"DEVICE_PROPERTIES", "{CPU:{NUM_STREAMS:4,PERF_COUNT:NO},GPU:{NONSENSE:1}}"}}, "CPU");
  EXPECT_EQ(config.streams, 4);
  EXPECT_FALSE(config.profiling);
  EXPECT_EQ(caught([&] {
              config.apply({device::properties("CPU", AnyMap{{"NONSENSE", 1}})}, "CPU");
            }).code(),
            ErrorCode::not_found);
}

TEST(Properties, SomeAreTakenWithoutEffect) {
  Core core;
  const auto keys = core.get_property("CPU", supported_properties);
  const AnyMap inert{hint::allow_auto_batching(false),
                     auto_batch_timeout(5),
                     force_tbb_terminate(true),
                     hint::dynamic_quantization_group_size(32),
                     hint::kv_cache_precision(element::u8),
                     intel_cpu::sparse_weights_decompression_rate(0.5)};
  core.set_property("CPU", inert);
  for (const auto& [key, value] : inert) {
    EXPECT_EQ(core.get_property("CPU", key).as<std::string>(), value.as<std::string>()) << key;
    EXPECT_NE(std::find(keys.begin(), keys.end(), key), keys.end()) << key;
  }
  EXPECT_EQ(caught([&] {
              core.set_property("CPU", AnyMap{{"AUTO_BATCH_TIMEOUT", "soon"}});
            }).code(),
            ErrorCode::parse_error);
}

TEST(Properties, OfOtherDevicesAreRefusedByName) {
  Core core;
  for (const std::string key : {"WORKLOAD_TYPE", "ACTIVATIONS_SCALE_FACTOR", "MODEL_PRIORITY"}) {
    const Exception error = caught([&] { core.set_property("CPU", AnyMap{{key, "LOW"}}); });
    EXPECT_EQ(error.code(), ErrorCode::not_found) << key;
    EXPECT_NE(std::string(error.what()).find(key), std::string::npos);
  }
  for (const char* key : {"DEVICE_UUID", "DEVICE_THERMAL", "MAX_BATCH_SIZE"}) {
    EXPECT_EQ(caught([&] { core.get_property("CPU", key); }).code(), ErrorCode::not_found) << key;
  }
  EXPECT_EQ(caught([&] { core.set_property("CPU", device::id("1")); }).code(), ErrorCode::invalid_argument);
  EXPECT_NO_THROW(core.set_property("CPU", device::id("0")));
}

TEST(Properties, OfACompiledModelAreWhatTheyCameDownTo) {
  Core core;
  ModelBuilder b("small");
  b.result(b.op("ReLU", "opset1", {b.parameter(element::f16, {2}, "x")}), "y");
  const auto model = b.build();
  const std::vector<std::string> capabilities = core.get_property("CPU", device::capabilities);
  const bool has_bf16 =
      std::find(capabilities.begin(), capabilities.end(), device::capability::BF16) != capabilities.end();
  for (const element::Type type : {element::dynamic, element::f32, element::bf16, element::f16}) {
    CompiledModel compiled = core.compile_model(model, "CPU", hint::inference_precision(type));
    EXPECT_EQ(compiled.get_property(hint::inference_precision),
              type == element::bf16 && has_bf16 ? element::bf16 : element::f32)
        << "the type in which it computes";
  }
  EXPECT_EQ(core.get_property("CPU", hint::inference_precision, hint::inference_precision(element::bf16)),
            element::bf16);
}

TEST(Properties, OfTheCpu) {
  Core core;
  EXPECT_EQ(core.get_property("CPU", device::type), device::Type::INTEGRATED);
  EXPECT_EQ(core.get_property("CPU", execution_devices), std::vector<std::string>{"CPU"});
  const auto capabilities = core.get_property("CPU", device::capabilities);
  for (const char* capability : {device::capability::FP32, device::capability::INT8, device::capability::BIN}) {
    EXPECT_NE(std::find(capabilities.begin(), capabilities.end(), capability), capabilities.end()) << capability;
  }
  EXPECT_NE(std::find(capabilities.begin(), capabilities.end(), device::capability::EXPORT_IMPORT), capabilities.end());
  core.set_property(compilation_num_threads(1));
  EXPECT_EQ(core.get_property("CPU", compilation_num_threads), 1);
  EXPECT_EQ(caught([&] { core.set_property(compilation_num_threads(-1)); }).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace terroir
