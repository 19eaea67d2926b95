#include "plugins/cpu/isa.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <terroir/exception.hpp>

#include "tests/support/scoped_variable.hpp"

namespace terroir::testing {
namespace {

using cpu::Isa;
using test::ForcedIsa;

std::string refusal() {
  try {
    cpu::active_isa();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(IsaTest, NamesReadBackAsThemselves) {
  for (const Isa isa : {Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512}) {
    EXPECT_EQ(cpu::parse_isa(cpu::isa_name(isa)), isa);
  }
  EXPECT_EQ(cpu::parse_isa("avx"), std::nullopt);
  EXPECT_EQ(cpu::parse_isa(""), std::nullopt);
}

TEST(IsaTest, AvailableOnesAscendAndEndWithTheBest) {
  const auto isas = cpu::available_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::scalar);
  EXPECT_EQ(isas.back(), cpu::best_isa());
  for (size_t i = 1; i < isas.size(); ++i) EXPECT_LT(isas[i - 1], isas[i]);
}

// The compiler's own detection, which also looks at the state the operating system saves.
#if defined(__x86_64__)
TEST(IsaTest, AgreesWithTheCompiler) {
  __builtin_cpu_init();
  const bool sse42 = __builtin_cpu_supports("sse4.2");
  const bool avx2 = sse42 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
#if defined(TERROIR_HAVE_AVX512)  // one of the architecture's buckets is built if all are
  constexpr bool kBuilt = true;
#else
  constexpr bool kBuilt = false;
#endif
  EXPECT_EQ(cpu::isa_available(Isa::sse42), kBuilt && sse42);
  EXPECT_EQ(cpu::isa_available(Isa::avx2), kBuilt && avx2);
  EXPECT_EQ(cpu::isa_available(Isa::avx512), kBuilt && avx512);
}
#endif

TEST(IsaTest, TheEnvironmentForcesEveryAvailableOne) {
  for (const Isa isa : cpu::available_isas()) {
    const ForcedIsa forced(cpu::isa_name(isa));
    EXPECT_EQ(cpu::active_isa(), isa);
  }
}

TEST(IsaTest, ProductsOfBytesAreAskedForByName) {
  struct Named {
    const char* name;
    Isa isa;
    cpu::ByteProducts products;
    bool is_there;
  };
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx_vnni = __builtin_cpu_supports("avxvnni"), vnni = __builtin_cpu_supports("avx512vnni"),
             bf16 = vnni && __builtin_cpu_supports("avx512bf16"), tiles = bf16 && __builtin_cpu_supports("amx-int8");
#else
  const bool avx_vnni = false, vnni = false, bf16 = false, tiles = false;
#endif
  using Products = cpu::ByteProducts;
  const Named all[] = {{"scalar", Isa::scalar, Products::none, true},
                       {"sse42", Isa::sse42, Products::none, true},
                       {"avx2", Isa::avx2, Products::avx2, true},
                       {"avx2_vnni", Isa::avx2, Products::avx2_vnni, avx_vnni},
                       {"avx512", Isa::avx512, Products::none, true},
                       {"avx512_vnni", Isa::avx512, Products::avx512_vnni, vnni},
                       {"avx512_bf16", Isa::avx512, Products::avx512_bf16, bf16},
                       {"avx512_amx", Isa::avx512, Products::avx512_amx, tiles}};
  std::vector<std::string> available;
  for (const Named& named : all) {
    SCOPED_TRACE(named.name);
    const ForcedIsa forced(named.name);
    // Systems may keep tiles from a process.
    const bool may_be_kept = named.products == Products::avx512_amx && refusal() != "nothing thrown";
    if (cpu::isa_available(named.isa) && named.is_there && !may_be_kept) {
      EXPECT_EQ(cpu::active_isa(), named.isa);
      EXPECT_EQ(cpu::active_byte_products(), named.products);
      available.emplace_back(named.name);
    } else {
      EXPECT_NE(refusal().find("is not available on this machine"), std::string::npos) << refusal();
    }
  }
  const std::vector<const char*> told = cpu::available_kernels();
  EXPECT_EQ(std::vector<std::string>(told.begin(), told.end()), available);
  // Unasked, the last of them, but that products of bf16 are not always faster than those of floats.
  const ForcedIsa unset("");
  const cpu::ByteProducts best = cpu::active_byte_products();
  const auto* const last =
      std::find_if(std::begin(all), std::end(all), [&](const Named& named) { return named.name == available.back(); });
  EXPECT_TRUE(best == last->products || (last->products == Products::avx512_bf16 && best == Products::avx512_vnni))
      << cpu::byte_products_name(best);
}

TEST(IsaTest, UnsetOrEmptyMeansTheBest) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const ForcedIsa forced(value);
    EXPECT_EQ(cpu::active_isa(), cpu::best_isa());
  }
}

TEST(IsaTest, AnUnknownNameIsAnErrorThatListsTheAvailableOnes) {
  const ForcedIsa forced("avx3");
  const std::string text = refusal();
  EXPECT_NE(text.find("'avx3' is not an instruction set bucket; available: scalar"), std::string::npos) << text;
  EXPECT_NE(text.find(cpu::isa_name(cpu::best_isa())), std::string::npos) << text;
}

TEST(IsaTest, ABucketThisMachineLacksIsAnError) {
  if (cpu::best_isa() == Isa::avx512) GTEST_SKIP() << "this machine has every bucket";
  const ForcedIsa forced("avx512");
  EXPECT_NE(refusal().find("'avx512' is not available on this machine"), std::string::npos) << refusal();
}

TEST(IsaTest, TheEnvironmentTellsWhetherThereArePipesForAdditions) {
  const test::ScopedVariable unset("TERROIR_ADD_PIPES", nullptr);
  const bool found = cpu::separate_add_pipes();
  {
    const test::AddPipes yes(true);
    EXPECT_TRUE(cpu::separate_add_pipes());
    const test::AddPipes no(false);
    EXPECT_FALSE(cpu::separate_add_pipes());
    const test::ScopedVariable empty("TERROIR_ADD_PIPES", "");
    EXPECT_EQ(cpu::separate_add_pipes(), found);
  }
  const test::ScopedVariable wrong("TERROIR_ADD_PIPES", "many");
  try {
    cpu::separate_add_pipes();
    ADD_FAILURE() << "nothing thrown";
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find("TERROIR_ADD_PIPES: 'many' is neither 0"), std::string::npos)
        << error.what();
  }
}

TEST(IsaTest, CacheSizesAreBelievable) {
  const cpu::CacheSizes& caches = cpu::cache_sizes();
  EXPECT_GE(caches.l1d, 8 << 10);
  EXPECT_LE(caches.l1d, caches.l2);
  EXPECT_LE(caches.l2, caches.l3);
}

}  // namespace
}  // namespace terroir::testing
