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

constexpr const char* kByteProductsNames[] = {"none", "avx2", "avx2_vnni", "avx512_vnni", "avx512_bf16", "avx512_amx"};
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

// Of those of a bucket, which the processor has.
ByteProducts detect_byte_products(Isa isa) noexcept {
  constexpr unsigned kAvx512Vnni = 1u << 11, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  constexpr unsigned kAvxVnni = 1u << 4, kAvx512Bf16 = 1u << 5;
  constexpr uint64_t kTileState = 0x60000;  // configuration and data
  if (isa < Isa::avx2 || isa > detect_cpu()) return ByteProducts::none;
  const CpuidRegisters leaf7 = cpuid(7, 0), more = cpuid(7, 1);
  if (isa == Isa::avx2) return has_all(more.eax, kAvxVnni) ? ByteProducts::avx2_vnni : ByteProducts::avx2;
  if (!has_all(leaf7.ecx, kAvx512Vnni)) return ByteProducts::none;
  if (!has_all(more.eax, kAvx512Bf16)) return ByteProducts::avx512_vnni;
  const bool amx =
      has_all(leaf7.edx, kAmxBf16 | kAmxTile | kAmxInt8) && has_all(read_xcr0(), kTileState) && may_use_tiles();
  return amx ? ByteProducts::avx512_amx : ByteProducts::avx512_bf16;
}

bool is_amd() noexcept {
  const CpuidRegisters vendor = cpuid(0, 0);
  return vendor.ebx == signature_AMD_ebx && vendor.ecx == signature_AMD_ecx && vendor.edx == signature_AMD_edx;
}

bool is_amd_family_1ah() noexcept {
  const unsigned signature = cpuid(1, 0).eax;
  return is_amd() && ((signature >> 8) & 0xf) + ((signature >> 20) & 0xff) == 0x1a;
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
ByteProducts detect_byte_products(Isa) noexcept { return ByteProducts::none; }
bool is_amd() noexcept { return false; }
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

// What TERROIR_FORCE_ISA names: a bucket, and products of bytes beside it.
struct NamedKernels {
  Isa isa;
  ByteProducts products = ByteProducts::none;
  const char* name() const noexcept {
    return products == ByteProducts::none ? isa_name(isa) : byte_products_name(products);
  }
};
constexpr NamedKernels kNamedKernels[] = {{Isa::scalar},
                                          {Isa::sse42},
                                          {Isa::avx2, ByteProducts::avx2},
                                          {Isa::avx2, ByteProducts::avx2_vnni},
                                          {Isa::avx512},
                                          {Isa::avx512, ByteProducts::avx512_vnni},
                                          {Isa::avx512, ByteProducts::avx512_bf16},
                                          {Isa::avx512, ByteProducts::avx512_amx}};

const NamedKernels* named_kernels(std::string_view name) noexcept {
  const auto* const found = std::find_if(std::begin(kNamedKernels), std::end(kNamedKernels),
                                         [&](const NamedKernels& kernels) { return name == kernels.name(); });
  return found == std::end(kNamedKernels) ? nullptr : found;
}

ByteProducts detected_byte_products(Isa isa) noexcept {
  static const ByteProducts of_avx2 = detect_byte_products(Isa::avx2), of_avx512 = detect_byte_products(Isa::avx512);
  if (!isa_built(isa) || isa < Isa::avx2) return ByteProducts::none;
  return isa == Isa::avx2 ? of_avx2 : of_avx512;
}

bool is_available(const NamedKernels& kernels) noexcept {
  return isa_available(kernels.isa) && kernels.products <= detected_byte_products(kernels.isa);
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

const char* byte_products_name(ByteProducts products) noexcept {
  return kByteProductsNames[static_cast<int32_t>(products)];
}

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

std::vector<const char*> available_kernels() {
  std::vector<const char*> names;
  for (const NamedKernels& kernels : kNamedKernels)
    if (is_available(kernels)) names.push_back(kernels.name());
  return names;
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
  const NamedKernels* const named = named_kernels(forced);
  if (named != nullptr && is_available(*named)) return named->isa;
  std::string available;
  for (const char* const each : available_kernels()) available.append(available.empty() ? "" : ", ").append(each);
  throw Exception(named ? ErrorCode::unsupported : ErrorCode::invalid_argument,
                  "TERROIR_FORCE_ISA: '" + std::string(forced) +
                      (named ? "' is not available on this machine" : "' is not an instruction set bucket") +
                      "; available: " + available);
}

ByteProducts active_byte_products() {
  const Isa isa = active_isa();
  if (const NamedKernels* const named = named_kernels(forced_isa())) return named->products;
  const ByteProducts detected = detected_byte_products(isa);
  static const bool gains_by_bf16 = is_amd();
  return detected == ByteProducts::avx512_bf16 && !gains_by_bf16 ? ByteProducts::avx512_vnni : detected;
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
