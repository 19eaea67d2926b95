// What: the blocked matrix product of one bucket. Contract: matmul.hpp. Include one bucket header first.
//
// Blocking: a register tile of R x 2 vectors runs over a slice of k. The slice of one panel of B stays in the L1 cache
// while all row groups of A pass; the slice of a block of A, copied so that the R values of one k are adjacent, stays
// in the L2 cache. Between slices of k the sums wait in C.
#pragma once

#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/kernels/matmul/matmul_blocking.hpp"
#include "plugins/cpu/kernels/matmul/narrow_panels.hpp"
#include "plugins/cpu/simd/broadcasts.hpp"
#include "plugins/cpu/simd/post_ops.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Accumulators, two vectors of B and one value of A must fit the registers; more rows than lanes could not be packed by
// one transpose.
#if defined(__AVX512F__)
constexpr int kTileRows = 14;
#elif defined(__AVX2__)
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 4;
#endif
static_assert(kTileRows <= kLanes);
constexpr int64_t kPanel = 2 * kLanes;
constexpr int kSmallRows = 4;
// Rows of A that are read where they lie take more instructions than a copy's: tiles of two panels, of as many sums in
// fewer rows, take the fewest.
constexpr int kFlatRows = kLanes == 16 ? 6 : 0;
// Up to so many panels, copying A costs more than what reading it where it lies loses, in tiles of one panel and of
// two.
constexpr int64_t kFewPanels = 4, kFewFlatPanels = 16;

// Where a group of R rows of A is read: value (r, k) is at a[r + k * stride] for packed and transposed A, and at
// a[r * stride + k] otherwise.
struct RowGroup {
  const float* a;
  int64_t stride;
};

// Memory that the next panel will read, fetched a little at a time while this one is multiplied: the first rows to meet
// a panel would otherwise wait for main memory.
struct Ahead {
  const char* at;
  int64_t step;    // bytes per k; 0 when nothing is left to fetch
  int64_t second;  // from `at` to a second line that is fetched with it
};

// One slice of k of a register tile.
struct Slice {
  const float* b;
  int64_t b_stride;
  int64_t b_panel;  // from panel to panel
  int64_t k;
  bool first;  // start from the bias, else from C
  bool last;   // apply the steps
  Ahead ahead;
};

template <int R, int C, bool RowsAdjacent>
TERROIR_INLINE void multiply(V (&acc)[R][C], RowGroup g, const Slice& s) {
  // Plain rows are addressed from every fifth one: multiples 0 to 4 of the stride take two registers, so that all
  // addresses stay in registers.
  constexpr int kRowsPerBase = 5;
  const float* TERROIR_RESTRICT a[3] = {g.a, g.a + kRowsPerBase * g.stride, g.a + 2 * kRowsPerBase * g.stride};
  const float* TERROIR_RESTRICT b[2] = {s.b, s.b + s.b_panel};
  const int64_t b_stride = s.b_stride;
  Ahead ahead = s.ahead;
#pragma GCC unroll 2
  for (int64_t i = s.k; i > 0; --i) {
    if constexpr (C <= 2) {
      __builtin_prefetch(ahead.at, 0, 2);  // to L2: L1 holds the panel in use
      __builtin_prefetch(ahead.at + ahead.second, 0, 2);
      ahead.at += ahead.step;
    }
    V right[C];
    unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { right[c] = loadu(b[c / 2] + c % 2 * kLanes); });
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      if constexpr (RowsAdjacent && r < rows_broadcast_by_products(kLanes, R, C)) {
        unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { add_product(acc[r][c], a[0] + r, right[c]); });
        return;
      }
      const V left(RowsAdjacent ? a[0][r] : a[r / kRowsPerBase][r % kRowsPerBase * g.stride]);
      unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[r][c] = fma(left, right[c], acc[r][c]); });
    });
    unroll<3>([&](auto j) TERROIR_INLINE_LAMBDA { a[j] += RowsAdjacent ? g.stride : 1; });
    unroll<2>([&](auto j) TERROIR_INLINE_LAMBDA { b[j] += b_stride; });
  }
}

template <int R, int C, bool RowsAdjacent>
void tile(const GemmArgs& args, const Slice& s, RowGroup g, int64_t m, int64_t n) {
  float* c = args.c + m * args.ldc + n;
  const int64_t columns = args.n - n < C * kLanes ? args.n - n : C * kLanes;
  const Tail t = tail(columns - (C - 1) * kLanes);
  V acc[R][C];
  if (s.first) {
    V start[C];
    unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
      start[j] = args.bias == nullptr ? zero()
                 : j + 1 == C         ? load_tail(args.bias + n + j * kLanes, t)
                                      : loadu(args.bias + n + j * kLanes);
    });
    unroll<R>([&](auto r)
                  TERROIR_INLINE_LAMBDA { unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { acc[r][j] = start[j]; }); });
  } else {
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
        const float* p = c + r * args.ldc + j * kLanes;
        acc[r][j] = j + 1 == C ? load_tail(p, t) : loadu(p);
      });
    });
  }
  multiply<R, C, RowsAdjacent>(acc, g, s);
  if (s.last && args.n_ops != 0) {
    TilePlace place;
    place.offset = args.operand_offset + m * args.ldc + n;
    place.row_stride = args.ldc;
    place.channel = args.channel_axis == ChannelAxis::lanes ? n : m;
    place.channel_axis = args.channel_axis;
    place.tail = columns - (C - 1) * kLanes;
    apply_post_ops(acc, place, args.ops, args.n_ops);
  }
  if (columns == C * kLanes) {
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA { storeu(c + r * args.ldc + j * kLanes, acc[r][j]); });
    });
  } else {
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      unroll<C>([&](auto j) TERROIR_INLINE_LAMBDA {
        float* p = c + r * args.ldc + j * kLanes;
        if (j + 1 == C) {
          store_tail(p, acc[r][j], t);
        } else {
          storeu(p, acc[r][j]);
        }
      });
    });
  }
}

template <int C, bool RowsAdjacent, int R = 1>
TERROIR_INLINE void tile_of_rows(int rows, const GemmArgs& args, const Slice& s, RowGroup g, int64_t m, int64_t n) {
  if constexpr (R < kTileRows) {
    if (rows != R) return tile_of_rows<C, RowsAdjacent, R + 1>(rows, args, s, g, m, n);
  }
  tile<R, C, RowsAdjacent>(args, s, g, m, n);
}

template <bool RowsAdjacent>
TERROIR_INLINE void tile_of(int rows, const GemmArgs& args, const Slice& s, RowGroup g, int64_t m, int64_t n) {
  if (args.n - n > kLanes) {
    tile_of_rows<2, RowsAdjacent>(rows, args, s, g, m, n);
  } else {
    tile_of_rows<1, RowsAdjacent>(rows, args, s, g, m, n);
  }
}

// Panels of packed B that one row of A meets at once: a tile of one panel alone would have fewer sums than the latency
// of a multiply-add times their number per cycle.
constexpr int kRowPanels = 4;

// Rows of a plain B that few rows of A meet at once.
constexpr int64_t kRowsAlong = 16;

// The panels' sums over one slice of k, to C without the steps: those that `tile` loads when the slice is not the first
// one.
TERROIR_NOINLINE void row_sums(const GemmArgs& args, const Slice& s, const float* a, float* c, int64_t n) {
  const int64_t stride = s.b_panel;
  V acc[kRowPanels][2];
  unroll<kRowPanels>([&](auto p) TERROIR_INLINE_LAMBDA {
    unroll<2>([&](auto j) TERROIR_INLINE_LAMBDA {
      const int64_t at = p * kPanel + j * kLanes;
      acc[p][j] = !s.first ? loadu(c + at) : args.bias == nullptr ? zero() : loadu(args.bias + n + at);
    });
  });
  // Nothing is fetched ahead: processors do that themselves for so few streams, and a request for what the second cache
  // has already takes the place of one that brings it to the first.
  for (int64_t i = 0; i < s.k; ++i) {
    const V left(a[i]);
    const float* b = s.b + i * kPanel;
    unroll<kRowPanels>([&](auto p) TERROIR_INLINE_LAMBDA {
      unroll<2>([&](auto j)
                    TERROIR_INLINE_LAMBDA { acc[p][j] = fma(left, loadu(b + p * stride + j * kLanes), acc[p][j]); });
    });
  }
  unroll<kRowPanels>([&](auto p) TERROIR_INLINE_LAMBDA {
    unroll<2>([&](auto j) TERROIR_INLINE_LAMBDA { storeu(c + p * kPanel + j * kLanes, acc[p][j]); });
  });
}

// Rows of A, k values each, to dst[k][rows]. Writes up to kLanes - rows floats behind the end.
void pack_rows(const float* a, int64_t lda, int rows, int64_t k, float* dst) {
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    V r[kLanes];
    for (int j = 0; j < kLanes; ++j) r[j] = j < rows ? loadu(a + j * lda + i) : zero();
    transpose(r);
    // Ascending, so that each store repairs what the one before wrote too much.
    for (int j = 0; j < kLanes; ++j) storeu(dst + (i + j) * rows, r[j]);
  }
  for (; i < k; ++i) {
    for (int j = 0; j < rows; ++j) dst[i * rows + j] = a[j * lda + i];
  }
}

// Of a narrow B the slices are as short as L1 keeps as floats, of as many panels as m rows may meet at once.
GemmBlocking blocking_of(const GemmArgs& args, int64_t m, bool direct) {
  GemmBlocking blocking = gemm_blocking(m, args.k, kPanel, kTileRows);
  if (args.narrow == nullptr) return blocking;
  const int64_t at_once = !direct ? 1 : m == 1 ? kRowPanels : kFlatRows > 0 ? 2 : 1;
  const int64_t most = blocking.near_floats / (kPanel * at_once);
  if (blocking.k > most) blocking.k = most;
  return blocking;
}

// Of the scratch, what is in front of the panels of B that are made on the way: a block of packed A with the overhang
// of pack_rows.
int64_t floats_in_front(const GemmBlocking& blocking, int64_t rows) {
  constexpr int64_t kLine = 16;
  return ((rows + kTileRows) * blocking.k + 2 * kLanes + kLine - 1) / kLine * kLine;
}

// Enough for m rows, and for any part of them.
int64_t scratch_floats(int64_t m, int64_t k) {
  const auto needed = [k](int64_t rows) {
    const GemmBlocking blocking = gemm_blocking(rows, k, kPanel, kTileRows);
    // The last, partial panel of a plain B, or those of a narrow one.
    const int64_t plain = kPanel * blocking.k, narrow = blocking.near_floats;
    return floats_in_front(blocking, blocking.most_rows) + (plain > narrow ? plain : narrow);
  };
  // A single tile has longer slices of k than several.
  const int64_t all = needed(m), one = needed(m < kTileRows ? m : kTileRows);
  return all > one ? all : one;
}

void pack_b(const float* b, int64_t ldb, bool b_transposed, int64_t k, int64_t n, float* dst, int64_t panel_begin,
            int64_t panel_end) {
  for (int64_t p = panel_begin; p < panel_end; ++p) {
    const int64_t columns = n - p * kPanel < kPanel ? n - p * kPanel : kPanel;
    float* out = dst + p * kPanel * k;
    if (!b_transposed) {
      const float* in = b + p * kPanel;
      const int64_t second = columns - kLanes > 0 ? columns - kLanes : 0;
      const Tail t0 = tail(columns < kLanes ? columns : kLanes), t1 = tail(second);
      for (int64_t i = 0; i < k; ++i) {
        storeu(out + i * kPanel, load_tail(in + i * ldb, t0));
        storeu(out + i * kPanel + kLanes, load_tail(in + i * ldb + kLanes, t1));
      }
      continue;
    }
    const float* in = b + p * kPanel * ldb;
    for (int64_t half = 0; half < 2; ++half, in += kLanes * ldb) {
      const int64_t valid = columns - half * kLanes;
      float* to = out + half * kLanes;
      int64_t i = 0;
      for (; valid >= kLanes && i + kLanes <= k; i += kLanes) {
        V r[kLanes];
        unroll<kLanes>([&](auto j) TERROIR_INLINE_LAMBDA { r[j] = loadu(in + j * ldb + i); });
        transpose(r);
        unroll<kLanes>([&](auto j) TERROIR_INLINE_LAMBDA { storeu(to + (i + j) * kPanel, r[j]); });
      }
      for (int64_t j = 0; j < kLanes; ++j)
        for (int64_t at = i; at < k; ++at) to[at * kPanel + j] = j < valid ? in[j * ldb + at] : 0;
    }
  }
}

// The rows of one block, in groups of nearly equal size: 15 rows are 8 and 7, not 14 and 1.
struct RowGroups {
  int64_t count, base, larger;
  explicit RowGroups(int64_t rows, int64_t most)
      : count((rows + most - 1) / most), base(rows / count), larger(rows % count) {}
  int64_t size(int64_t g) const { return base + (g < larger ? 1 : 0); }
};

// Whether all groups of rows are of the sizes that flat tiles have.
bool cuts_to_flat_rows(int64_t rows) {
  if constexpr (kFlatRows == 0) return false;
  return RowGroups(rows, kFlatRows).base >= kFlatRows - 1;
}

// Whether A is read where it lies. Rows whose starts differ by a multiple of 4 KiB would evict each other from L1.
bool reads_in_place(const GemmArgs& args, int64_t rows, int64_t panels) {
  if (args.a_transposed) return false;
  if (rows <= kSmallRows) return true;
  if (args.lda % 1024 == 0) return false;
  if (panels <= kFewPanels) return true;
  // Flat tiles fetch nothing ahead: of a packed B, weights as a rule, these panels must stay near.
  const int64_t in_l2 = gemm_blocking(rows, args.k, kPanel, kTileRows).most_floats;
  return panels <= kFewFlatPanels && cuts_to_flat_rows(rows) &&
         (args.ldb != 0 || panels * kPanel * args.k <= in_l2 / 2);
}

// Of columns from n on, in `panels` panels. The last vector of a plain B would read past its end.
bool has_flat_tiles(const GemmArgs& args, int64_t rows, int64_t panels, int64_t n) {
  const int64_t columns = args.n - n;
  return panels > 1 && cuts_to_flat_rows(rows) && (args.ldb == 0 ? columns > 3 * kLanes : columns >= 2 * kPanel);
}

void run_flat_tiles(const GemmArgs& args, const Slice& s, int64_t m0, int64_t rows, int64_t k0, int64_t n) {
  if constexpr (kFlatRows > 0) {
    const RowGroups groups(rows, kFlatRows);
    int64_t m = m0;
    for (int64_t g = 0; g < groups.count; ++g) {
      const RowGroup group{args.a + m * args.lda + k0, args.lda};
      if (groups.size(g) == kFlatRows) {
        tile<kFlatRows, 4, false>(args, s, group, m, n);
      } else {
        tile<kFlatRows - 1, 4, false>(args, s, group, m, n);
      }
      m += groups.size(g);
    }
  }
}

// The rows of a block from m0 on, values [k0, k0 + depth) of each, group behind group.
void pack_block(const GemmArgs& args, int64_t m0, const RowGroups& groups, int64_t k0, int64_t depth, float* dst) {
  int64_t m = m0;
  for (int64_t g = 0; g < groups.count; ++g) {
    const int64_t size = groups.size(g);
    pack_rows(args.a + m * args.lda + k0, args.lda, static_cast<int>(size), depth, dst + (m - m0) * depth);
    m += size;
  }
}

int64_t packed_a_floats(const GemmArgs& args, int64_t m, int64_t panels) {
  if (args.a_transposed || reads_in_place(args, m, panels)) return 0;
  const GemmBlocking blocking = blocking_of(args, m, false);
  return blocking.rows >= m && m * args.k <= blocking.most_floats ? m * args.k + kLanes : 0;
}

void pack_a(const GemmArgs& args, int64_t m_begin, int64_t m_end, float* dst) {
  const int64_t rows = m_end - m_begin;
  const GemmBlocking blocking = blocking_of(args, rows, false);
  for (int64_t k0 = 0; k0 < args.k; k0 += blocking.k) {
    const int64_t depth = args.k - k0 < blocking.k ? args.k - k0 : blocking.k;
    pack_block(args, m_begin, RowGroups(rows, kTileRows), k0, depth, dst + rows * k0);
  }
}

void gemm(const GemmArgs& args, int64_t m_begin, int64_t m_end, int64_t panel_begin, int64_t panel_end) {
  if (m_begin >= m_end || panel_begin >= panel_end) return;
  const int64_t m_total = m_end - m_begin;
  const bool direct = args.packed_a == nullptr && reads_in_place(args, m_total, panel_end - panel_begin);
  GemmBlocking blocking = blocking_of(args, m_total, direct);
  const bool b_packed = args.ldb == 0;
  // Numbers that are read once lie one behind the other.
  if (args.narrow != nullptr && direct && panel_end - panel_begin > kRowPanels) {
    for (int64_t p = panel_begin; p < panel_end; p += kRowPanels)
      gemm(args, m_begin, m_end, p, p + kRowPanels < panel_end ? p + kRowPanels : panel_end);
    return;
  }
  float* const own_panels = args.scratch + floats_in_front(blocking, blocking.rows);
  // A plain B that few rows meet is read once: a few of its rows at a time, from end to end, as prefetchers like it.
  // Down a panel every row would be another page.
  const bool along_rows = !b_packed && m_total <= kSmallRows && panel_end - panel_begin >= kRowPanels;
  if (along_rows && blocking.k > kRowsAlong) blocking.k = kRowsAlong;

  for (int64_t m0 = m_begin; m0 < m_end; m0 += blocking.rows) {
    const int64_t rows = m_end - m0 < blocking.rows ? m_end - m0 : blocking.rows;
    const RowGroups groups(rows, kTileRows);
    // At least one slice, even for k = 0.
    for (int64_t k0 = 0; k0 == 0 || k0 < args.k; k0 += blocking.k) {
      const int64_t depth = args.k - k0 < blocking.k ? args.k - k0 : blocking.k;
      const float* packed_a = args.packed_a != nullptr ? args.packed_a + m_total * k0 : args.scratch;
      if (args.packed_a == nullptr && !direct && !args.a_transposed)
        pack_block(args, m0, groups, k0, depth, args.scratch);
      for (int64_t p = panel_begin; p < panel_end; ++p) {
        const int64_t n = p * kPanel;
        Slice s = {};
        s.k = depth;
        s.first = k0 == 0;
        s.last = k0 + depth >= args.k;
        s.b_panel = kPanel;
        const bool single =
            m_total == 1 && direct && b_packed && p + kRowPanels <= panel_end && n + kRowPanels * kPanel <= args.n;
        const bool flat = !single && direct && has_flat_tiles(args, rows, panel_end - p, n);
        if (args.narrow != nullptr) {
          const int64_t at_once = single ? kRowPanels : flat ? 2 : 1;
          s.b_panel = depth * kPanel;
          for (int64_t j = 0; j < at_once; ++j)
            unpack_panel(*args.narrow, p + j, k0, depth, own_panels + j * s.b_panel);
          s.b = own_panels;
          s.b_stride = kPanel;
        } else if (b_packed) {
          s.b = args.b + (p * args.k + k0) * kPanel;
          s.b_stride = kPanel;
          s.b_panel = args.k * kPanel;
        } else if (args.n - n >= kPanel) {
          s.b = args.b + k0 * args.ldb + n;
          s.b_stride = args.ldb;
        } else {
          // Whole vectors of a partial panel would read past the end of B.
          pack_b(args.b + k0 * args.ldb + n, args.ldb, false, depth, args.n - n, own_panels, 0, 1);
          s.b = own_panels;
          s.b_stride = kPanel;
        }
        if (single) {
          row_sums(args, s, args.a + m0 * args.lda + k0, args.c + m0 * args.ldc + n, n);
          s.k = 0;
          s.first = false;
          for (int64_t j = 0; s.last && args.n_ops != 0 && j < kRowPanels; ++j)
            tile<1, 2, false>(args, s, {args.a, args.lda}, m0, n + j * kPanel);
          p += kRowPanels - 1;
          continue;
        }
        if (flat) {
          run_flat_tiles(args, s, m0, rows, k0, n);
          ++p;
          continue;
        }
        // Each group of rows fetches its share of the slice that comes after this one. A single group meets every value
        // of B once, in order: it runs ahead of itself, by what main memory delivers while a value is on its way.
        const void* next = nullptr;
        if (args.narrow != nullptr) {
          const int64_t row = p + 1 < panel_end ? k0 : k0 + depth;
          next = args.narrow->numbers + (p + 1 < panel_end ? p + 1 : panel_begin) * args.narrow->panel_bytes(kPanel) +
                 row * args.narrow->row_bytes(kPanel);
        } else if (b_packed && p + 1 < panel_end) {
          next = args.b + ((p + 1) * args.k + k0) * kPanel;
        } else if (b_packed && !s.last) {
          next = args.b + (panel_begin * args.k + k0 + depth) * kPanel;
        } else if (b_packed && panel_end < args.panels_ahead) {
          next = args.b + panel_end * args.k * kPanel;
        }
        const int64_t row_bytes =
            args.narrow != nullptr ? args.narrow->row_bytes(kPanel) : kPanel * static_cast<int64_t>(sizeof(float));
        const int64_t step = next == nullptr ? 0 : row_bytes / groups.count;
        s.ahead = {static_cast<const char*>(next == nullptr ? s.b : next), step, 0};
        if (groups.count == 1 && !along_rows && args.narrow == nullptr) {
          constexpr int64_t kFloat = sizeof(float), kLine = 64, kDistance = 16384;
          s.ahead = {reinterpret_cast<const char*>(s.b + kDistance / (kPanel * kFloat) * s.b_stride),
                     s.b_stride * kFloat, kPanel * kFloat > kLine ? kLine : 0};
        }
        int64_t m = m0;
        for (int64_t g = 0; g < groups.count; ++g, s.ahead.at += step * depth) {
          const int64_t size = groups.size(g);
          const int r = static_cast<int>(size);
          if (direct) {
            tile_of<false>(r, args, s, {args.a + m * args.lda + k0, args.lda}, m, n);
          } else if (args.a_transposed) {
            tile_of<true>(r, args, s, {args.a + k0 * args.lda + m, args.lda}, m, n);
          } else {
            tile_of<true>(r, args, s, {packed_a + (m - m0) * depth, size}, m, n);
          }
          m += size;
        }
      }
    }
  }
}

}  // namespace

const MatmulKernels& matmul_table() {
  static constexpr MatmulKernels kTable = {kPanel,           kTileRows, kSmallRows, &scratch_floats,
                                           &packed_a_floats, &pack_a,   &pack_b,    &gemm};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
