// What: what the convolution kernels must know of a bucket. Include one bucket header first.
#pragma once

#include <cstdint>

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int kBlock = kLanes == 16 ? 16 : 8;  // channel_block() of the bucket
constexpr int kVectorsPerBlock = kBlock / static_cast<int>(kLanes);
#ifdef TERROIR_FEW_TILES
constexpr int kRegisters = 10;  // as far as tiles go
#else
constexpr int kRegisters = kLanes == 16 ? 32 : 16;
#endif
constexpr bool kFused = kLanes >= 8;

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
