// TopK of every numeric type along any axis.
// How: an element becomes an integer key, its rank before its position, so that the order of keys is that of the
//   reference: best first, of equal elements the first one. The best k keys of a row gather in a buffer of twice their
//   number; whenever it is full, the worse half goes, and what follows must beat the worst of the rest. In f32 vectors
//   skip all that does not; what the first must beat follows from the best of some parts of the row, of which the k
//   best are as many elements. So a row costs little more than reading it once. Where k is a large part of the row, all
//   keys are made, the bound is found and the best are sorted digit by digit (ops/reference/sort/radix.hpp).
// Layouts: plain. Slices that are not adjacent are transposed, a few columns at a time; the single best of f32 columns
//   is found without.
// Threads: slices of the rows or columns.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "ops/defs/sort/topk.hpp"
#include "ops/reference/sort/radix.hpp"
#include "ops/shape/inputs.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/select/select.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

using ops::reference::ascending_rank, ops::reference::position_of, ops::reference::ranked;

/// The lower, the better.
template <class T>
auto key_of(T value, uint32_t position, bool largest) {
  const auto rank = ascending_rank(value);
  return ranked(static_cast<decltype(rank)>(largest ? ~rank : rank), position);
}

template <class Key>
void sort_by_position(Key* keys, int64_t count) {
  std::sort(keys, keys + count, [](const Key& a, const Key& b) { return position_of(a) < position_of(b); });
}

/// The best k of the keys offered so far, and at most as many others.
template <class Key>
class Best {
 public:
  Best(Key* buffer, int64_t k, int64_t capacity) : buffer_(buffer), k_(k), capacity_(capacity) {}

  void add(Key key) {
    buffer_[count_++] = key;
    if (count_ == capacity_) drop_worse();
  }
  /// Nothing is dropped before the buffer was full once.
  bool has_worst() const { return full_; }
  const Key& worst() const { return worst_; }

  /// The best k in order.
  const Key* finish() {
    if (count_ > k_) drop_worse();
    std::sort(buffer_, buffer_ + k_);
    return buffer_;
  }

 private:
  void drop_worse() {
    std::nth_element(buffer_, buffer_ + k_ - 1, buffer_ + count_);
    worst_ = buffer_[k_ - 1];
    count_ = k_;
    full_ = true;
  }

  Key* buffer_;
  int64_t k_, capacity_, count_ = 0;
  bool full_ = false;
  Key worst_{};
};

struct Problem {
  int64_t outer = 1, extent = 1, inner = 1, k = 1;
  bool largest = true, by_index = false, wide_indices = false;

  /// So many are wanted that it takes less time to rank all of them.
  bool ranks_all() const { return k > 32 && k > extent / 32; }
  int64_t buffer_keys() const { return ranks_all() ? 2 * extent : std::min(extent, 2 * k); }
};

template <class T>
class TopKExecutor final : public Executor {
  using Key = decltype(key_of(T{}, 0, true));

 public:
  TopKExecutor(const Problem& problem, Isa isa) : p_(problem), kernels_(select_kernels(isa)), isa_(isa) {
    // A tile of columns that stays in the L2 cache while it is searched, and wide enough to read whole lines.
    constexpr int64_t kMostColumns = 16, kTileBytes = 256 * 1024;
    if (p_.inner > 1 && p_.k > 0)
      columns_ = std::clamp<int64_t>(kTileBytes / (p_.extent * static_cast<int64_t>(sizeof(T))), 1, kMostColumns);
    units_ = p_.outer * ceil_div(p_.inner, columns_);
  }

  void run(const RunArgs& args) const noexcept override {
    if (p_.k == 0) return;
    const auto* src = static_cast<const T*>(args.inputs[0]);
    auto* values = static_cast<T*>(args.outputs[0]);
    if constexpr (std::is_same_v<T, float>)
      if (single_of_columns()) return run_columns(args.arena, src, values, args.outputs[1]);
    const int64_t slices = slice_count(args.arena.threads());
    args.arena.parallel_for(slices, [&](int64_t slice) {
      char* scratch = static_cast<char*>(args.scratch) + static_cast<size_t>(slice) * slice_bytes();
      auto* keys = reinterpret_cast<Key*>(scratch);
      auto* tile = reinterpret_cast<T*>(scratch + keys_bytes());
      for (int64_t unit = slice * units_ / slices; unit < (slice + 1) * units_ / slices; ++unit)
        run_unit(unit, src, values, args.outputs[1], keys, tile);
    });
  }
  size_t scratch_bytes(int threads) const override { return slice_bytes() * static_cast<size_t>(slice_count(threads)); }
  std::string kernel_name() const override {
    const std::string type = element::from<T>().get_type_name();
    return type + "_topk" + (std::is_same_v<T, float> ? std::string("__") + isa_name(isa_) : "");
  }

 private:
  bool single_of_columns() const { return p_.k == 1 && p_.inner > 1; }
  int64_t slice_count(int threads) const { return std::min<int64_t>(units_, threads); }
  static size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
  size_t keys_bytes() const { return whole_lines(static_cast<size_t>(p_.buffer_keys()) * sizeof(Key)); }
  size_t slice_bytes() const {
    const int64_t tile = p_.inner > 1 ? columns_ * p_.extent : 0;
    return keys_bytes() + whole_lines(static_cast<size_t>(tile) * sizeof(T));
  }

  /// A row, or some adjacent columns.
  void run_unit(int64_t unit, const T* src, T* values, void* indices, Key* keys, T* tile) const {
    const int64_t groups = units_ / p_.outer;
    const int64_t outer = unit / groups, first = unit % groups * columns_;
    const int64_t n = std::min(columns_, p_.inner - first);
    const T* from = src + outer * p_.extent * p_.inner + first;
    if (p_.inner > 1)
      for (int64_t i = 0; i < p_.extent; ++i)
        for (int64_t c = 0; c < n; ++c) tile[c * p_.extent + i] = from[i * p_.inner + c];
    for (int64_t c = 0; c < n; ++c) {
      const T* row = p_.inner > 1 ? tile + c * p_.extent : from;
      write(row, best_of(row, keys), outer * p_.k * p_.inner + first + c, values, indices);
    }
  }

  /// The best k, in order.
  const Key* best_of(const T* row, Key* keys) const {
    if (p_.ranks_all()) return best_of_ranks(row, keys);
    Best<Key> best(keys, p_.k, p_.buffer_keys());
    const auto key_at = [&](int64_t i) { return key_of(row[i], static_cast<uint32_t>(i), p_.largest); };
    int64_t i = 0;
    if constexpr (std::is_same_v<T, float>) {
      std::optional<float> bound = first_bound(row);
      if (!bound) {
        for (; i < p_.extent && !best.has_worst(); ++i) best.add(key_at(i));
        if (best.has_worst()) bound = row[position_of(best.worst())];
      }
      const auto next = p_.largest ? kernels_.next_above : kernels_.next_below;
      const auto skip = [&](int64_t from) { return from < p_.extent ? next(row, from, p_.extent, *bound) : from; };
      for (i = skip(i); i < p_.extent; i = skip(i + 1)) {
        const Key key = key_at(i);
        if (best.has_worst() && !(key < best.worst())) continue;
        best.add(key);
        if (best.has_worst()) bound = row[position_of(best.worst())];
      }
    } else {
      for (; i < p_.extent && !best.has_worst(); ++i) best.add(key_at(i));
      for (; i < p_.extent; ++i)
        if (const Key key = key_at(i); key < best.worst()) best.add(key);
    }
    const Key* found = best.finish();
    if (p_.by_index) sort_by_position(keys, p_.k);
    return found;
  }

  /// What at least k elements are better than, if vectors find it.
  std::optional<float> first_bound(const float* row) const {
    // More of the row gives a closer bound; where this ends, reading on would take longer than what is kept in vain.
    constexpr int64_t kRead = 512, kMost = 64;
    int64_t count = kernels_.bests;
    if (p_.k > count || p_.extent < 2 * count) return std::nullopt;
    float bests[kMost];
    kernels_.bests_of(row, std::min(p_.extent, kRead * p_.k), p_.largest, bests);
    const auto better = [this](float a, float b) { return p_.largest ? a > b : a < b; };
    for (; count >= 4 * p_.k; count /= 2)
      for (int64_t i = 0; i < count / 2; ++i)
        if (better(bests[count / 2 + i], bests[i])) bests[i] = bests[count / 2 + i];
    std::nth_element(bests, bests + p_.k - 1, bests + count, better);
    const float bound = bests[p_.k - 1];
    if (!std::isfinite(bound)) return std::nullopt;
    // A little worse, so that it is beaten by those that equal it, also where denormal numbers count as zeros.
    const float step = std::max(std::fabs(bound) * 0x1p-22f, std::numeric_limits<float>::min());
    return p_.largest ? bound - step : bound + step;
  }

  const Key* best_of_ranks(const T* row, Key* keys) const {
    using Rank = decltype(ascending_rank(T{}));
    static_assert(sizeof(Key) >= 2 * sizeof(Rank));
    // Ranks lie where the keys go when they are sorted. They are half as wide and are read again and again.
    Key* spare = keys + p_.extent;
    auto* ranks = reinterpret_cast<Rank*>(spare);
    const auto flip = static_cast<Rank>(p_.largest ? ~Rank{0} : Rank{0});
    if constexpr (std::is_same_v<T, float>)
      ops::reference::rank_floats(row, p_.extent, flip, ranks);
    else
      for (int64_t i = 0; i < p_.extent; ++i) ranks[i] = static_cast<Rank>(ascending_rank(row[i]) ^ flip);
    ops::reference::lowest_keys(ranks, ranks + p_.extent, p_.extent, p_.k, keys);
    return p_.by_index ? keys : ops::reference::sort_by_rank(keys, spare, p_.k);
  }

  void write(const T* row, const Key* best, int64_t base, T* values, void* indices) const {
    for (int64_t i = 0; i < p_.k; ++i) {
      const uint32_t from = position_of(best[i]);
      values[base + i * p_.inner] = row[from];
      if (p_.wide_indices)
        static_cast<int64_t*>(indices)[base + i * p_.inner] = from;
      else
        static_cast<int32_t*>(indices)[base + i * p_.inner] = static_cast<int32_t>(from);
    }
  }

  void run_columns(const parallel::Arena& arena, const float* src, float* values, void* indices) const {
    constexpr int64_t kUnit = 256;
    const int64_t groups = ceil_div(p_.inner, kUnit);
    arena.parallel_for(p_.outer * groups, [&](int64_t task) {
      const int64_t outer = task / groups, first = task % groups * kUnit;
      const int64_t n = std::min(kUnit, p_.inner - first), to = outer * p_.inner + first;
      int32_t found[kUnit];
      kernels_.best_of_columns(src + outer * p_.extent * p_.inner + first, p_.extent, p_.inner, n, p_.largest,
                               values + to, found);
      if (p_.wide_indices)
        std::copy_n(found, n, static_cast<int64_t*>(indices) + to);
      else
        std::copy_n(found, n, static_cast<int32_t*>(indices) + to);
    });
  }

  Problem p_;
  const SelectKernels& kernels_;
  Isa isa_;
  int64_t columns_ = 1, units_ = 0;
};

template <class... Ts>
bool is_one_of(element::Type type) {
  return ((element::from<Ts>() == type) || ...);
}

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (!is_one_of<TERROIR_NUMBERS>(src.type)) return Reject{"no keys for " + src.type.get_type_name()};
  if (!context.constants[1]) return Reject{"k is known at run time only"};
  if (std::any_of(src.dims.begin(), src.dims.end(), [](int64_t extent) { return extent > INT32_MAX; }))
    return Reject{"positions of more than 31 bits"};
  LayoutChoice choice;
  choice.inputs = {src.layout, std::nullopt};
  choice.outputs = {dst.layout, context.outputs[1].layout};
  choice.cost = 2 * stream_ns(static_cast<double>(src.bytes() + dst.bytes()));
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const ir::Node& node = context.node;
  const ops::TopKAttrs& attrs =
      node.schema->opset == "opset11" ? node.attrs<ops::TopK11Attrs>() : node.attrs<ops::TopKAttrs>();
  const ir::Dims& dims = context.inputs[0].dims;
  const auto axis = static_cast<size_t>(ops::normalize_axis(attrs.axis, static_cast<int64_t>(dims.size())));
  Problem problem;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? problem.outer : i == axis ? problem.extent : problem.inner) *= dims[i];
  problem.k = context.outputs[0].dims[axis];
  problem.largest = attrs.mode == ops::TopKMode::max;
  problem.by_index = attrs.sort == ops::TopKSort::index;
  problem.wide_indices = context.outputs[1].type == element::i64;
  std::unique_ptr<const Executor> executor;
  ops::reference::dispatch_type<TERROIR_NUMBERS>(context.inputs[0].type, "TopK", [&](auto tag) {
    executor = std::make_unique<TopKExecutor<decltype(tag)>>(problem, context.isa);
  });
  return executor;
}

constexpr Impl kTopK[] = {{"topk", &propose, &create}};

}  // namespace

std::span<const Impl> topk_impls() { return kTopK; }

}  // namespace terroir::cpu
