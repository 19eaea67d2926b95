#include "plugins/cpu/isa.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include <terroir/exception.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace terroir::cpu {
namespace {

constexpr Isa kAllIsas[] = {Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512};
constexpr const char* kIsaNames[] = {"scalar", "sse42", "avx2", "avx512"};

#if defined(__x86_64__)
struct CpuidRegisters {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) noexcept {
  CpuidRegisters r;
  // Answers zeros for a leaf the processor does not know.
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// XCR0 tells which register states the operating system saves; an instruction set it does not save faults.
uint64_t read_xcr0() noexcept {
  unsigned eax = 0, edx = 0;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (static_cast<uint64_t>(edx) << 32) | eax;
}

constexpr bool has_all(uint64_t value, uint64_t bits) noexcept { return (value & bits) == bits; }

Isa detect_cpu() noexcept {
  const CpuidRegisters leaf1 = cpuid(1, 0);
  const CpuidRegisters leaf7 = cpuid(7, 0);
  if (!has_all(leaf1.ecx, bit_SSE4_2)) return Isa::scalar;

  const uint64_t xcr0 = has_all(leaf1.ecx, bit_OSXSAVE) ? read_xcr0() : 0;
  constexpr uint64_t kAvxState = 0x6;      // xmm, ymm
  constexpr uint64_t kAvx512State = 0xe6;  // and opmask, upper halves of zmm0-15, zmm16-31
  if (!has_all(xcr0, kAvxState) || !has_all(leaf1.ecx, bit_AVX | bit_FMA) || !has_all(leaf7.ebx, bit_AVX2)) {
    return Isa::sse42;
  }
  constexpr unsigned kAvx512Bits = bit_AVX512F | bit_AVX512CD | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  if (!has_all(xcr0, kAvx512State) || !has_all(leaf7.ebx, kAvx512Bits)) return Isa::avx2;
  return Isa::avx512;
}

/// Whether the system lets all threads of this process use the registers of AMX, which it saves on request only.
bool may_use_tiles() noexcept {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

ByteProducts detect_byte_products() noexcept {
  constexpr unsigned kAvx512Vnni = 1u << 11, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  constexpr unsigned kAvx512Bf16 = 1u << 5;
  constexpr uint64_t kTileState = 0x60000;  // configuration and data
  const CpuidRegisters leaf7 = cpuid(7, 0);
  if (detect_cpu() != Isa::avx512 || !has_all(leaf7.ecx, kAvx512Vnni)) return ByteProducts::none;
  const bool amx = has_all(leaf7.edx, kAmxBf16 | kAmxTile | kAmxInt8) && has_all(cpuid(7, 1).eax, kAvx512Bf16) &&
                   has_all(read_xcr0(), kTileState) && may_use_tiles();
  return amx ? ByteProducts::amx : ByteProducts::vnni;
}

bool is_amd_family_1ah() noexcept {
  const CpuidRegisters vendor = cpuid(0, 0);
  const bool amd =
      vendor.ebx == signature_AMD_ebx && vendor.ecx == signature_AMD_ecx && vendor.edx == signature_AMD_edx;
  const unsigned signature = cpuid(1, 0).eax;
  return amd && ((signature >> 8) & 0xf) + ((signature >> 20) & 0xff) == 0x1a;
}

// Deterministic cache parameters: leaf 4 on Intel, 0x8000001d in the same format on AMD.
int64_t cpuid_cache_bytes(unsigned wanted_level) noexcept {
  for (const unsigned leaf : {4u, 0x8000001du}) {
    for (unsigned index = 0; index < 16; ++index) {
      const CpuidRegisters r = cpuid(leaf, index);
      const unsigned type = r.eax & 0x1f;  // 0: no more caches, 1: data, 2: instructions, 3: unified
      if (type == 0) break;
      if (type == 2 || ((r.eax >> 5) & 0x7) != wanted_level) continue;
      const int64_t ways = ((r.ebx >> 22) & 0x3ff) + 1, partitions = ((r.ebx >> 12) & 0x3ff) + 1;
      const int64_t line = (r.ebx & 0xfff) + 1, sets = static_cast<int64_t>(r.ecx) + 1;
      return ways * partitions * line * sets;
    }
  }
  return 0;
}
#else
Isa detect_cpu() noexcept { return Isa::scalar; }
ByteProducts detect_byte_products() noexcept { return ByteProducts::none; }
bool is_amd_family_1ah() noexcept { return false; }
int64_t cpuid_cache_bytes(unsigned) noexcept { return 0; }
#endif

constexpr bool isa_built(Isa isa) noexcept {
  switch (isa) {
    case Isa::scalar:
      return true;
    case Isa::sse42:
#if defined(TERROIR_HAVE_SSE42)
      return true;
#else
      return false;
#endif
    case Isa::avx2:
#if defined(TERROIR_HAVE_AVX2)
      return true;
#else
      return false;
#endif
    case Isa::avx512:
#if defined(TERROIR_HAVE_AVX512)
      return true;
#else
      return false;
#endif
  }
  return false;
}

Isa detected_cpu() noexcept {
  static const Isa isa = detect_cpu();
  return isa;
}

// Beside the bucket avx512.
struct NamedProducts {
  const char* name;
  ByteProducts products;
};
constexpr NamedProducts kByteProducts[] = {
    {"avx512", ByteProducts::none}, {"avx512_vnni", ByteProducts::vnni}, {"avx512_amx", ByteProducts::amx}};

ByteProducts detected_byte_products() noexcept {
#if defined(TERROIR_HAVE_AVX512_AMX)
  static const ByteProducts detected = detect_byte_products();
  return detected;
#else
  return ByteProducts::none;
#endif
}

/// The products that TERROIR_FORCE_ISA names.
std::optional<ByteProducts> parse_byte_products(std::string_view name) noexcept {
  for (const NamedProducts& named : kByteProducts)
    if (name == named.name) return named.products;
  return std::nullopt;
}

/// TERROIR_FORCE_ISA, or "" where it is not set.
std::string_view forced_isa() noexcept {
  const char* const forced = std::getenv("TERROIR_FORCE_ISA");
  return forced == nullptr ? std::string_view() : forced;
}

int64_t cache_bytes(int sysconf_name, unsigned level, int64_t fallback) noexcept {
  const long told = sysconf(sysconf_name);
  if (told > 0) return told;
  const int64_t read = cpuid_cache_bytes(level);
  return read > 0 ? read : fallback;
}

}  // namespace

const char* isa_name(Isa isa) noexcept { return kIsaNames[static_cast<int32_t>(isa)]; }

std::optional<Isa> parse_isa(std::string_view name) noexcept {
  for (const Isa isa : kAllIsas) {
    if (name == isa_name(isa)) return isa;
  }
  return std::nullopt;
}

bool isa_available(Isa isa) noexcept { return isa_built(isa) && isa <= detected_cpu(); }

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) isas.push_back(isa);
  }
  return isas;
}

Isa best_isa() noexcept {
  Isa best = Isa::scalar;
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) best = isa;
  }
  return best;
}

Isa active_isa() {
  const std::string_view forced = forced_isa();
  if (forced.empty()) return best_isa();
  const std::optional<ByteProducts> products = parse_byte_products(forced);
  const std::optional<Isa> isa = products ? Isa::avx512 : parse_isa(forced);
  if (isa && isa_available(*isa) && products.value_or(ByteProducts::none) <= detected_byte_products()) return *isa;
  std::string available;
  const auto add = [&](const char* name) { available.append(available.empty() ? "" : ", ").append(name); };
  for (const Isa each : available_isas()) add(isa_name(each));
  for (const NamedProducts& named : kByteProducts)
    if (named.products != ByteProducts::none && named.products <= detected_byte_products()) add(named.name);
  throw Exception(isa ? ErrorCode::unsupported : ErrorCode::invalid_argument,
                  "TERROIR_FORCE_ISA: '" + std::string(forced) +
                      (isa ? "' is not available on this machine" : "' is not an instruction set bucket") +
                      "; available: " + available);
}

ByteProducts active_byte_products() {
  const Isa isa = active_isa();
  if (isa != Isa::avx512) return isa == Isa::avx2 ? ByteProducts::avx2 : ByteProducts::none;
  return parse_byte_products(forced_isa()).value_or(detected_byte_products());
}

bool separate_add_pipes() {
  static const bool separate = is_amd_family_1ah();
  const char* const told = std::getenv("TERROIR_ADD_PIPES");
  if (told == nullptr || *told == '\0') return separate;
  const std::string_view value(told);
  if (value == "0" || value == "1") return value == "1";
  throw Exception(ErrorCode::invalid_argument,
                  "TERROIR_ADD_PIPES: '" + std::string(value) +
                      "' is neither 0 (additions and multiply-adds share pipes) nor 1 (they have their own)");
}

const CacheSizes& cache_sizes() noexcept {
  static const CacheSizes sizes = {cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 1, 32 << 10),
                                   cache_bytes(_SC_LEVEL2_CACHE_SIZE, 2, 512 << 10),
                                   cache_bytes(_SC_LEVEL3_CACHE_SIZE, 3, 4 << 20)};
  return sizes;
}

}  // namespace terroir::cpu
