// What: C = epilogue(A * B) in f32, with B in panels, cut into any tiles of rows and column panels.
// Formula: c[m][n] = ops(bias[n] + sum over k of a[m][k] * b[k][n], k ascending).
// Shapes: A is M x K, plain (a[m * lda + k]) or transposed (a[k * lda + m]). B is K x N, packed, or plain with row
//   stride ldb. C is M x N with row stride ldc >= N.
// Layouts: packed B is [ceil(N / panel)][K][panel], the last panel padded with zeros; or narrow_b.hpp, of which a few
//   rows at a time become such panels.
// Aliasing: C overlaps nothing but, element for element, tensor operands of the steps.
// Cost: 2 M N K flops; A is copied once per call into scratch, unless it is transposed, has few rows, or meets few
//   panels.
// Threads: every element of C is one chain of multiply-adds over ascending k, so results do not depend on the tiles.
// Edge cases: K = 0 gives bias or zero, through the steps. Empty ranges do nothing.
// Source: K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/matmul/narrow_b.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct GemmArgs {
  const float* a = nullptr;
  int64_t lda = 0;
  bool a_transposed = false;
  const float* b = nullptr;
  int64_t ldb = 0;                  // 0: packed by pack_b; else plain rows of B
  const NarrowB* narrow = nullptr;  // in the place of a packed b, or null
  float* c = nullptr;
  int64_t ldc = 0;
  int64_t n = 0;  // columns of B and C
  int64_t k = 0;
  const float* bias = nullptr;  // n values, or null
  const PostOp* ops = nullptr;
  int64_t n_ops = 0;
  // Channels of per-channel steps: columns of C (lanes) or its rows.
  ChannelAxis channel_axis = ChannelAxis::lanes;
  // Added to m * ldc + n where tensor operands are read.
  int64_t operand_offset = 0;
  float* scratch = nullptr;  // scratch_floats(rows of the call, k), 64-byte aligned
  // The rows of the call as pack_a wrote them, so that calls over other panels need not copy A again; or null.
  const float* packed_a = nullptr;
  // The thread goes on with the panels behind panel_end up to this one, so that the first of them is fetched ahead.
  int64_t panels_ahead = 0;
};

struct MatmulKernels {
  int64_t panel;    // columns of a panel of B
  int64_t tile_m;   // rows of a register tile: cut M at multiples of it where possible
  int64_t small_m;  // up to so many rows, plain B is read at full speed without packing

  // Enough for a call over m rows or fewer.
  int64_t (*scratch_floats)(int64_t m, int64_t k);
  // Of A's rows when calls over `panels` panels each should share one copy of them, 0 where they should not: A is read
  // where it lies, or a copy would not stay near. From args: lda, a_transposed, ldb and k.
  int64_t (*packed_a_floats)(const GemmArgs& args, int64_t m, int64_t panels);
  // Rows [m_begin, m_end) of A to dst, 64-byte aligned.
  void (*pack_a)(const GemmArgs& args, int64_t m_begin, int64_t m_end, float* dst);
  // Packs panels [panel_begin, panel_end) of B to their places in dst, which holds
  // ceil(n / panel) * panel * k floats. b_transposed: b[n * ldb + k] instead of b[k * ldb + n].
  void (*pack_b)(const float* b, int64_t ldb, bool b_transposed, int64_t k, int64_t n, float* dst, int64_t panel_begin,
                 int64_t panel_end);
  // Rows [m_begin, m_end) and column panels [panel_begin, panel_end) of C.
  void (*gemm)(const GemmArgs& args, int64_t m_begin, int64_t m_end, int64_t panel_begin, int64_t panel_end);
};

const MatmulKernels& matmul_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
