// What: the instruction set buckets of the CPU plugin, detection of what this machine and this build offer, cache
// sizes. Threads: everything here is computed once and read-only afterwards; safe from any thread. Edge cases:
// TERROIR_FORCE_ISA naming an unknown bucket, or one this machine or this build lacks, is a terroir::Exception that
// lists the available ones. An empty variable counts as unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace terroir::cpu {

// Ordered: a machine that runs one bucket runs all smaller ones.
//   sse42  SSE4.2
//   avx2   AVX2 and FMA
//   avx512 F, CD, DQ, BW, VL and FMA
enum class Isa : int32_t { scalar, sse42, avx2, avx512 };

const char* isa_name(Isa isa) noexcept;
std::optional<Isa> parse_isa(std::string_view name) noexcept;

// Compiled in, and supported by the processor and the operating system.
bool isa_available(Isa isa) noexcept;
std::vector<Isa> available_isas();

// The best available bucket; the environment is not looked at.
Isa best_isa() noexcept;

// The bucket to compile models for: TERROIR_FORCE_ISA if set, else best_isa(). Reads the environment at each call.
Isa active_isa();

// The channel block of the blocked layouts that the kernels of a bucket prefer: nChw16c on avx512, nChw8c elsewhere.
constexpr int64_t channel_block(Isa isa) noexcept { return isa == Isa::avx512 ? 16 : 8; }

// How kernels may multiply bytes and add the products to 32-bit sums:
//   avx2         AVX2, two products for a lane in one instruction, of bytes that have become numbers of 16 bits
//   avx2_vnni    that, and AVX_VNNI, four products for a lane in one instruction
//   avx512_vnni  AVX512_VNNI, likewise
//   avx512_bf16  that, and AVX512_BF16, two products of numbers of bf16 for a lane
//   avx512_amx   that, and AMX_TILE and AMX_INT8, 64 products for each of 16 x 16 sums; the system lets this process
//                use them. And AMX_BF16, which all of these have, 32 products of numbers of bf16
// Of those of a bucket each has all that stand in front of it.
enum class ByteProducts : int32_t { none, avx2, avx2_vnni, avx512_vnni, avx512_bf16, avx512_amx };

const char* byte_products_name(ByteProducts products) noexcept;

// What TERROIR_FORCE_ISA may name here: buckets, and products of bytes beside them; smaller ones first.
std::vector<const char*> available_kernels();

// What TERROIR_FORCE_ISA names: avx2 and avx512 alone are without the products that the others add. Else the best that
// the processor and this build have beside the active bucket; those of bf16 only where they are faster than
// multiply-add in f32, as on AMD's processors. Reads the environment at each call.
ByteProducts active_byte_products();

constexpr bool has_products_of_bf16(ByteProducts products) noexcept { return products >= ByteProducts::avx512_bf16; }

// Whether the processor adds floats in pipes of their own, as many as those for multiply-add, so that both go on at
// once: known of AMD's Zen 5 (family 1Ah), where it was measured. TERROIR_ADD_PIPES=0 or 1 says it for any processor;
// another value is a terroir::Exception, an empty one counts as unset. Reads the environment at each call.
bool separate_add_pipes();

// Bytes available to one core; never zero (typical sizes stand in for what the system does not tell).
struct CacheSizes {
  int64_t l1d;
  int64_t l2;
  int64_t l3;
};
const CacheSizes& cache_sizes() noexcept;

}  // namespace terroir::cpu
