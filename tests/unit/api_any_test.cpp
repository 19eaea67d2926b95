// Any, properties, Config
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "runtime/plugin/config.hpp"
#include "terroir/any.hpp"
#include "terroir/partial_shape.hpp"
#include "terroir/properties.hpp"
#include "tests/support/caught.hpp"

namespace terroir {

namespace {
struct Metres {
  int value = 0;
};
}  // namespace
template <>
struct util::Read<Metres> {
  void operator()(std::istream& in, Metres& length) const { in >> length.value; }
};
template <>
struct util::Write<Metres> {
  void operator()(std::ostream& out, const Metres& length) const { out << length.value << " m"; }
};
namespace {

TEST(Any, KeepsWhatItIsGiven) {
  EXPECT_TRUE(Any().empty());
  EXPECT_EQ(caught([] { Any().as<int>(); }).code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(Any(3).is<int>());
  EXPECT_EQ(Any(3).as<int>(), 3);
  EXPECT_TRUE(Any("text").is<std::string>());
  EXPECT_EQ(Any(Shape{1, 2}).as<Shape>(), (Shape{1, 2}));
  EXPECT_EQ(Any(3), Any(3));
  EXPECT_FALSE(Any(3) == Any(int64_t{3}));
  EXPECT_EQ((Any{1, 2}.as<std::vector<int64_t>>()), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((Any{"a", "b"}.as<std::vector<std::string>>()), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((Any{0.5, 1.0}.as<std::vector<double>>()), (std::vector<double>{0.5, 1}));
}

TEST(Any, OneItemInBracesIsThatItem) {
  EXPECT_TRUE(Any{3}.is<int>());
  EXPECT_TRUE(Any{true}.is<bool>());
  EXPECT_TRUE(Any{"text"}.is<std::string>());
  EXPECT_TRUE(Any{Any(3)}.is<int>());
  EXPECT_TRUE(Any{AnyMap{}}.is<AnyMap>());
}

TEST(Any, CopiesAreIndependent) {
  Any a = AnyMap{{"x", 1}};
  const Any b = a;
  a.as<AnyMap>()["x"] = 2;
  EXPECT_EQ(a.as<AnyMap>().at("x").as<int>(), 2);
  EXPECT_EQ(b.as<AnyMap>().at("x").as<int>(), 1);
  a = a;
  EXPECT_EQ(a.as<AnyMap>().size(), 1u);
}

TEST(Any, IsChangedInPlace) {
  Any number = 3;
  number.as<int>() += 4;
  EXPECT_EQ(number.as<int>(), 7);
  Any map = AnyMap{{"device", AnyMap{{"NUM_STREAMS", "1"}}}};
  auto& inner = map.as<AnyMap>().at("device").as<AnyMap>();
  inner["PERF_COUNT"] = true;
  EXPECT_EQ(map.as<std::string>(), "{device:{NUM_STREAMS:1,PERF_COUNT:YES}}");
  // What had to be converted is a value beside the one that is held.
  Any text = "5";
  int& converted = text.as<int>();
  converted = 6;
  EXPECT_EQ(text.as<std::string>(), "5");
  *static_cast<std::string*>(text.addressof()) = "8";
  EXPECT_EQ(text.as<int>(), 8);
}

TEST(Any, IsMadeReadAndCompared) {
  const Any made = Any::make<std::string>(3, 'x');
  EXPECT_EQ(made.as<std::string>(), "xxx");
  EXPECT_NE(made.addressof(), nullptr);
  EXPECT_EQ(Any().addressof(), nullptr);
  EXPECT_TRUE(Any(nullptr).empty());
  EXPECT_TRUE(Any() == nullptr);
  EXPECT_EQ(Any().as<std::string>(), "");
  Any number = 1;
  std::istringstream in("42");
  number.read(in);
  EXPECT_EQ(number.as<int>(), 42);
  std::istringstream wrong("forty");
  EXPECT_EQ(caught([&] { number.read(wrong); }).code(), ErrorCode::parse_error);
  struct Opaque {
    int value = 0;
  };
  EXPECT_EQ(Any(Opaque{3}).as<Opaque>().value, 3);
  EXPECT_EQ(caught([] { static_cast<void>(Any(Opaque{}) == Any(Opaque{})); }).code(), ErrorCode::unsupported);
  EXPECT_EQ(caught([] { static_cast<void>(Any(Opaque{}).as<int>()); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ((Any(AnyMap{{"a", 1}}) == Any(AnyMap{{"a", 1}})), true);
}

TEST(Any, MapsAndSetsAreReadAndPrinted) {
  const AnyMap map = Any("{NUM_STREAMS: 2, inner:{a:1,b:[1,2]}, empty:}").as<AnyMap>();
  EXPECT_EQ(map.at("NUM_STREAMS").as<int>(), 2);
  EXPECT_EQ(map.at("inner").as<AnyMap>().at("b").as<std::vector<int>>(), (std::vector<int>{1, 2}));
  EXPECT_EQ(map.at("empty").as<std::string>(), "");
  EXPECT_EQ((Any("{a:1}").as<std::map<std::string, int>>()), (std::map<std::string, int>{{"a", 1}}));
  EXPECT_EQ(Any("{}").as<AnyMap>().size(), 0u);
  EXPECT_EQ(Any("b a b").as<std::set<std::string>>(), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(Any(0.1f).as<std::string>(), "0.1");
  EXPECT_EQ(Any(std::vector<float>{0.1f, 1e-5f}).as<std::string>(), "0.1 1e-05");
  EXPECT_EQ(Any(0.1).as<std::string>(), "0.1");
  EXPECT_EQ(Any("0.1").as<float>(), 0.1f);
  EXPECT_EQ(Any(std::set<int>{2, 1}).as<std::string>(), "1 2");
  for (const char* text : {"a:1", "{a}", "{a:1", "{a:}}", "{a:[1}"}) {
    EXPECT_EQ(caught([&] { Any(text).as<AnyMap>(); }).code(), ErrorCode::parse_error) << text;
  }
}

TEST(Any, ConvertsNumbersThatFit) {
  EXPECT_EQ(Any(3).as<int64_t>(), 3);
  EXPECT_EQ(Any(int64_t{7}).as<uint8_t>(), 7);
  EXPECT_EQ(Any(2.0).as<int>(), 2);
  EXPECT_EQ(Any(true).as<int>(), 1);
  EXPECT_EQ(Any(1).as<bool>(), true);
  EXPECT_EQ(Any(3).as<double>(), 3.0);
  EXPECT_EQ(Any(std::numeric_limits<uint64_t>::max()).as<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_THROW(Any(300).as<uint8_t>(), Exception);
  EXPECT_THROW(Any(-1).as<size_t>(), Exception);
  EXPECT_THROW(Any(2).as<bool>(), Exception);
  EXPECT_THROW(Any(1e30).as<int64_t>(), Exception);
  EXPECT_THROW(Any(-1.0).as<size_t>(), Exception);
  EXPECT_THROW(Any(NAN).as<int>(), Exception);
  EXPECT_THROW(Any(std::numeric_limits<uint64_t>::max()).as<int64_t>(), Exception);
  EXPECT_EQ((Any(std::vector<int>{1, 2}).as<std::vector<int64_t>>()), (std::vector<int64_t>{1, 2}));
  EXPECT_THROW(Any(Shape{1}).as<int>(), Exception);
}

TEST(Any, IntegersOfRealsAreWhatIsBeforeThePoint) {
  EXPECT_EQ(Any(2.5).as<int>(), 2);
  EXPECT_EQ(Any(-2.5F).as<int64_t>(), -2);
  EXPECT_EQ(Any(23.15F).as<uint8_t>(), 23);
  EXPECT_EQ(Any(-0.5).as<unsigned>(), 0U);
  EXPECT_EQ((Any(std::vector<float>{1.5F, 2}).as<std::vector<int>>()), (std::vector<int>{1, 2}));
}

TEST(Any, TheEmptyTextIsNoNumberButZero) {
  EXPECT_EQ(Any("").as<int>(), 0);
  EXPECT_EQ(Any("").as<float>(), 0.F);
  EXPECT_FALSE(Any("").as<bool>());
  EXPECT_TRUE(Any("").as<std::vector<float>>().empty());
}

TEST(Any, HoldsPairs) {
  using Range = std::pair<int, std::string>;
  EXPECT_EQ(Any(Range(1, "a")).as<std::string>(), "1 a");
  EXPECT_EQ(Any("3 b").as<Range>(), Range(3, "b"));
  EXPECT_EQ(Any(Range(1, "a")), Any(Range(1, "a")));
  struct Opaque {};
  const Any pair = std::pair(Opaque(), 1), tuple = std::tuple(1, Opaque());
  EXPECT_EQ(caught([&] { static_cast<void>(pair == pair); }).code(), ErrorCode::unsupported);
  EXPECT_EQ(caught([&] { static_cast<void>(tuple == tuple); }).code(), ErrorCode::unsupported);
}

TEST(Any, ParsesTexts) {
  EXPECT_EQ(Any(" 42 ").as<int>(), 42);
  EXPECT_EQ(Any("-1").as<int64_t>(), -1);
  EXPECT_EQ(Any("0.25").as<float>(), 0.25f);
  EXPECT_EQ(Any("2.0").as<int>(), 2);
  EXPECT_EQ(Any("7.00").as<unsigned>(), 7u);
  for (const char* yes : {"YES", "true", "On", "1"}) EXPECT_TRUE(Any(yes).as<bool>()) << yes;
  for (const char* no : {"NO", "False", "off", "0"}) EXPECT_FALSE(Any(no).as<bool>()) << no;
  EXPECT_EQ((Any("1, 2,3").as<std::vector<int64_t>>()), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ((Any("[1 2]").as<std::vector<size_t>>()), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(Any("[?,3]").as<PartialShape>(), (PartialShape{-1, 3}));
  EXPECT_EQ(Any("FP16").as<element::Type>(), element::f16);
  EXPECT_EQ((Any("1 8").as<std::tuple<unsigned, unsigned>>()), (std::tuple<unsigned, unsigned>(1, 8)));
  EXPECT_EQ(Any("throughput").as<hint::PerformanceMode>(), hint::PerformanceMode::THROUGHPUT);
  for (const char* text : {" ", "x", "1x", "0x10", "2.5", "2.", ".0", "2.0x", "9999999999999999999999"}) {
    EXPECT_EQ(caught([&] { Any(text).as<int64_t>(); }).code(), ErrorCode::parse_error) << text;
  }
  EXPECT_THROW(Any("256").as<uint8_t>(), Exception);
  EXPECT_THROW(Any("-1").as<unsigned>(), Exception);
  EXPECT_THROW(Any("maybe").as<bool>(), Exception);
  EXPECT_THROW((Any("1,b").as<std::vector<int64_t>>()), Exception);
}

TEST(Any, ReadsAndPrintsAsTheProgramSays) {
  EXPECT_EQ(Any("3 m").as<Metres>().value, 3);
  EXPECT_EQ(Any(Metres{5}).as<std::string>(), "5 m");
  EXPECT_EQ((Any("{a:1 m,b:2 m}").as<std::map<std::string, Metres>>().at("b").value), 2);
  std::istringstream in("{a:1,b:2}");
  std::map<std::string, std::string> map;
  util::Read<std::map<std::string, std::string>>{}(in, map);
  EXPECT_EQ(map.at("b"), "2");
  std::ostringstream out;
  util::Write<std::vector<int>>{}(out, {1, 2});
  EXPECT_EQ(out.str(), "1 2");
}

TEST(Any, PrintsAnything) {
  EXPECT_EQ(Any(true).as<std::string>(), "YES");
  EXPECT_EQ(Any(0.1).as<std::string>(), "0.1");
  EXPECT_EQ((Any(std::vector<int64_t>{1, 2}).as<std::string>()), "1 2");
  EXPECT_EQ((Any(std::tuple<unsigned, unsigned>(1, 8)).as<std::string>()), "1 8");
  EXPECT_EQ(Any(element::f32).as<std::string>(), "f32");
  EXPECT_EQ(Any(streams::AUTO).as<std::string>(), "AUTO");
  EXPECT_EQ(Any(AnyMap{{"a", 1}, {"b", "x"}}).as<std::string>(), "{a:1,b:x}");
  EXPECT_EQ(Any(hint::PerformanceMode::LATENCY).as<std::string>(), "LATENCY");
}

TEST(Properties, MakeEntriesOfMaps) {
  const AnyMap map{num_streams(2), enable_profiling(true), hint::performance_mode(hint::PerformanceMode::THROUGHPUT),
                   inference_num_threads("3")};
  EXPECT_EQ(map.at("NUM_STREAMS").as<streams::Num>(), 2);
  EXPECT_TRUE(map.at("PERF_COUNT").as<bool>());
  EXPECT_EQ(map.at("PERFORMANCE_HINT").as<std::string>(), "THROUGHPUT");
  EXPECT_EQ(map.at("INFERENCE_NUM_THREADS").as<int>(), 3);
  EXPECT_FALSE(PropertyName(device::full_name).is_mutable());
  EXPECT_TRUE(PropertyName(num_streams).is_mutable());
}

TEST(Config, AcceptsTypedValuesAndTexts) {
  plugin::Config config;
  config.apply({{"NUM_STREAMS", "1"}, {"INFERENCE_NUM_THREADS", 2}, {"PERF_COUNT", "YES"}}, "CPU");
  EXPECT_EQ(config.streams, 1);
  EXPECT_EQ(config.threads, 2);
  EXPECT_TRUE(config.profiling);
  config.apply({{"NUM_STREAMS", "AUTO"}, {"INFERENCE_PRECISION_HINT", "bf16"}}, "CPU");
  EXPECT_EQ(config.streams, -1);
  EXPECT_EQ(config.inference_precision, element::bf16);
  config.apply({num_streams(3), hint::inference_precision(element::f32)}, "CPU");
  EXPECT_EQ(config.streams, 3);
  EXPECT_EQ(config.get("NUM_STREAMS").as<int>(), 3);
  EXPECT_TRUE(config.get("NONSENSE").empty());
  for (const PropertyName& key : plugin::Config::keys()) {
    plugin::Config other;
    other.apply({{key, config.get(key).as<std::string>()}}, "CPU");
    EXPECT_EQ(other.get(key).as<std::string>(), config.get(key).as<std::string>()) << key;
  }
}

TEST(Config, AppliesEntriesOfItsOwnDeviceOnly) {
  plugin::Config config;
  config.apply({device::properties("CPU", num_streams(2)), inference_num_threads(1)}, "CPU");
  EXPECT_EQ(config.streams, 2);
  config.apply({device::properties("GPU", num_streams(5))}, "CPU");
  EXPECT_EQ(config.streams, 2);
}

TEST(Config, RefusesAndStaysAsItWas) {
  plugin::Config config;
  const Exception unknown = caught([&] { config.apply({{"INFERENCE_NUM_THREADS", 2}, {"NUM_STREAM", 1}}, "CPU"); });
  EXPECT_EQ(unknown.code(), ErrorCode::not_found);
  EXPECT_STREQ(unknown.what(), "CPU has no property 'NUM_STREAM', did you mean 'NUM_STREAMS'?");
  EXPECT_EQ(config.threads, 0);
  const auto meant = [&](const char* name) { return caught([&] { config.apply({{name, 1}}, "CPU"); }).message(); };
  EXPECT_EQ(meant("streams"), "CPU has no property 'streams', did you mean 'NUM_STREAMS'?");
  for (const char* name : {"NUM_THREADS", "CPU_THREADS_NUM"})
    EXPECT_EQ(meant(name), std::string("CPU has no property '") + name +
                               "', did you mean 'INFERENCE_NUM_THREADS' or 'COMPILATION_NUM_THREADS'?");
  EXPECT_EQ(meant("num_stream"), "CPU has no property 'num_stream', did you mean 'NUM_STREAMS'?");
  EXPECT_EQ(meant("HYPERTHREADING"), "CPU has no property 'HYPERTHREADING', did you mean 'ENABLE_HYPER_THREADING'?");
  // Letters are no words.
  for (const char* name : {"", "_", "__", "N", "E_N", "x_y_z", "AM_UM", "TREAM"})
    EXPECT_EQ(meant(name).find("CPU has no property '" + std::string(name) + "'; known are "), 0u) << meant(name);
  const Exception strange = caught([&] { config.apply({{"WEATHER", 1}}, "CPU"); });
  EXPECT_NE(std::strstr(strange.what(), "known are"), nullptr);
  EXPECT_NE(std::strstr(strange.what(), "PERF_COUNT"), nullptr);
  const Exception read_only = caught([&] { config.apply({{"FULL_DEVICE_NAME", "x"}}, "CPU"); });
  EXPECT_EQ(read_only.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(read_only.what(), "the property FULL_DEVICE_NAME of CPU is read-only");
  const Exception value = caught([&] { config.apply({{"PERFORMANCE_HINT", "FAST"}}, "CPU"); });
  EXPECT_STREQ(value.what(),
               "the property PERFORMANCE_HINT: 'FAST' is not one of LATENCY, THROUGHPUT, CUMULATIVE_THROUGHPUT");
  EXPECT_EQ(caught([&] { config.apply({{"INFERENCE_NUM_THREADS", -1}}, "CPU"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { config.apply({{"NUM_STREAMS", -3}}, "CPU"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { config.apply({{"NUM_STREAMS", "two"}}, "CPU"); }).code(), ErrorCode::parse_error);
  EXPECT_EQ(caught([&] {
              config.apply({{"INFERENCE_PRECISION_HINT", "i8"}}, "CPU");
            }).code(),
            ErrorCode::invalid_argument);
}

TEST(Config, CapacityOfThePlanCacheIsANumberOfBytes) {
  plugin::Config config;
  EXPECT_EQ(config.get("PLAN_CACHE_CAPACITY").as<uint64_t>(), uint64_t{32} << 20);
  config.apply({plan_cache_capacity(uint64_t{5} << 30)}, "CPU");
  EXPECT_EQ(config.plan_cache_bytes, uint64_t{5} << 30);
  config.apply({{"PLAN_CACHE_CAPACITY", "1048576"}}, "CPU");
  EXPECT_EQ(config.plan_cache_bytes, 1048576u);
  config.apply({{"PLAN_CACHE_CAPACITY", 0}}, "CPU");
  EXPECT_EQ(config.plan_cache_bytes, 0u);
  EXPECT_THROW(config.apply({{"PLAN_CACHE_CAPACITY", "-1"}}, "CPU"), Exception);
  EXPECT_THROW(config.apply({{"PLAN_CACHE_CAPACITY", "many"}}, "CPU"), Exception);
}

TEST(Config, SettlesStreamsAndThreads) {
  const auto settle = [](const AnyMap& properties, int available) {
    plugin::Config config;
    config.apply(properties, "CPU");
    const auto threading = config.threading(available);
    return std::pair(threading.streams, threading.threads_per_stream);
  };
  EXPECT_EQ(settle({}, 8), std::pair(1, 8));
  EXPECT_EQ(settle({inference_num_threads(3)}, 8), std::pair(1, 3));
  EXPECT_EQ(settle({inference_num_threads(30)}, 8), std::pair(1, 8));
  EXPECT_EQ(settle({num_streams(2)}, 8), std::pair(2, 4));
  EXPECT_EQ(settle({num_streams(3), inference_num_threads(2)}, 8), std::pair(3, 1));
  EXPECT_EQ(settle({num_streams(streams::AUTO)}, 8), std::pair(8, 1));
  EXPECT_EQ(settle({hint::performance_mode(hint::PerformanceMode::THROUGHPUT)}, 4), std::pair(4, 1));
  EXPECT_EQ(settle({hint::performance_mode(hint::PerformanceMode::THROUGHPUT), hint::num_requests(2)}, 4),
            std::pair(2, 2));
  EXPECT_EQ(settle({hint::performance_mode(hint::PerformanceMode::THROUGHPUT), num_streams(1)}, 4), std::pair(1, 4));
  EXPECT_EQ(settle({}, 0), std::pair(1, 1));
  EXPECT_EQ(settle({}, 1000), std::pair(1, 256)) << "as many as one stream's threads may be";
}

}  // namespace
}  // namespace terroir
