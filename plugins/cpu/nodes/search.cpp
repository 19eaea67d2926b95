// Bucketize and SearchSorted: a binary search for every element; f32 in f32 by vectors. Every number type; Bucketize
// compares as the reference does: integers exactly, anything beside a real number or u64 as f64; its bounds are f32,
// f64, i32 or i64. Layouts: plain. Threads: slices of the elements.
#include <algorithm>
#include <span>

#include "ops/defs/condition/bucketize.hpp"
#include "ops/defs/sort/search_sorted.hpp"
#include "ops/reference/dispatch.hpp"
#include "plugins/cpu/kernels/select/select.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kTaskElements = 2048;

/// Sorted sequences of `length`, each for `per_sequence` values.
struct Search {
  int64_t length = 0, per_sequence = 1;
  bool right = false;  // behind equal ones
  bool wide = true;    // i64 results
};

/// Values [begin, end).
using SearchFn = void (*)(const Search& search, const void* sorted, const void* values, void* places, int64_t begin,
                          int64_t end);

/// `Common`: what values and bounds are compared as; bounds are of type `Bound`.
template <class Value, class Bound, class Common>
void search_values(const Search& search, const void* sorted, const void* values, void* places, int64_t begin,
                   int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const Bound* first = static_cast<const Bound*>(sorted) + i / search.per_sequence * search.length;
    const auto value = static_cast<Common>(static_cast<const Value*>(values)[i]);
    const auto below = [](const Bound& bound, Common x) { return static_cast<Common>(bound) < x; };
    const auto above = [](Common x, const Bound& bound) { return x < static_cast<Common>(bound); };
    const Bound* found = search.right ? std::upper_bound(first, first + search.length, value, above)
                                      : std::lower_bound(first, first + search.length, value, below);
    if (search.wide)
      static_cast<int64_t*>(places)[i] = found - first;
    else
      static_cast<int32_t*>(places)[i] = static_cast<int32_t>(found - first);
  }
}

template <class... Ts, class Fn>
SearchFn for_type(element::Type type, Fn&& fn) {
  SearchFn found = nullptr;
  ((element::from<Ts>() == type ? (found = fn.template operator()<Ts>(), true) : false) || ...);
  return found;
}

/// Both of one type.
SearchFn search_sorted_for(element::Type type) {
  return for_type<TERROIR_NUMBERS>(
      type, []<class T>() -> SearchFn { return &search_values<T, T, ops::reference::compute_t<T>>; });
}

bool is_exact(element::Type type) { return !type.is_real() && type != element::u64; }

/// Bounds of type `Common`.
template <class Common>
SearchFn bucketize_for(element::Type values) {
  return for_type<TERROIR_NUMBERS>(values, []<class T>() -> SearchFn { return &search_values<T, Common, Common>; });
}

/// The same for f32 values in f32 sequences, by vectors.
void search_floats(const SelectKernels& kernels, const Search& search, const void* sorted, const void* values,
                   void* places, int64_t begin, int64_t end) {
  constexpr int64_t kAtOnce = 256;
  for (int64_t i = begin; i < end;) {
    const int64_t sequence = i / search.per_sequence;
    const int64_t n = std::min({kAtOnce, end - i, (sequence + 1) * search.per_sequence - i});
    int32_t found[kAtOnce];
    kernels.places(static_cast<const float*>(sorted) + sequence * search.length, search.length,
                   static_cast<const float*>(values) + i, n, search.right, found);
    if (search.wide)
      std::copy_n(found, n, static_cast<int64_t*>(places) + i);
    else
      std::copy_n(found, n, static_cast<int32_t*>(places) + i);
    i += n;
  }
}

class SearchExecutor final : public Executor {
 public:
  SearchExecutor(const NodeContext& context, const Search& search, SearchFn fn, size_t values, const std::string& name)
      : search_(search),
        fn_(fn),
        kernels_(select_kernels(context.isa)),
        count_(context.inputs[values].count()),
        values_(values),
        floats_(context.inputs[0].type == element::f32 && context.inputs[1].type == element::f32 &&
                search.length <= INT32_MAX),
        name_(floats_ ? "f32_" + name + "__" + isa_name(context.isa) : name) {}
  void run(const RunArgs& args) const noexcept override {
    args.arena.parallel_for(ceil_div(count_, kTaskElements), [&](int64_t task) {
      const void *sorted = args.inputs[1 - values_], *values = args.inputs[values_];
      const int64_t begin = task * kTaskElements, end = std::min(count_, begin + kTaskElements);
      if (floats_)
        search_floats(kernels_, search_, sorted, values, args.outputs[0], begin, end);
      else
        fn_(search_, sorted, values, args.outputs[0], begin, end);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  Search search_;
  SearchFn fn_;
  const SelectKernels& kernels_;
  int64_t count_;
  size_t values_;  // which input
  bool floats_;    // values and sequences
  std::string name_;
};

LayoutChoice choice_of(const NodeContext& context) {
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.emplace_back(input.layout);
  choice.outputs = {context.outputs[0].layout};
  choice.cost = copy_ns(context.outputs[0]);
  return choice;
}

Proposal propose_search_sorted(const NodeContext& context) {
  if (!search_sorted_for(context.inputs[0].type))
    return Reject{"no order of " + context.inputs[0].type.get_type_name()};
  return std::vector{choice_of(context)};
}

std::unique_ptr<const Executor> create_search_sorted(const NodeContext& context, const LayoutChoice&) {
  const auto& attrs = context.node.attrs<ops::SearchSortedAttrs>();
  const ir::Dims &sorted = context.inputs[0].dims, &values = context.inputs[1].dims;
  const int64_t count = context.inputs[1].count();
  Search search{sorted.back(), 1, attrs.right_mode, attrs.output_type == element::i64};
  search.per_sequence = std::max<int64_t>(1, sorted.size() == 1 ? count : values.back());
  return std::make_unique<SearchExecutor>(context, search, search_sorted_for(context.inputs[0].type), 1,
                                          "search_sorted");
}

/// Null for bounds of types that are rare.
SearchFn bucketize_for(const NodeContext& context) {
  const element::Type values = context.inputs[0].type, bounds = context.inputs[1].type;
  const bool exact = is_exact(values) && is_exact(bounds);
  if (bounds == element::f32 && !exact)
    return for_type<TERROIR_NUMBERS>(values, []<class T>() -> SearchFn { return &search_values<T, float, double>; });
  if (bounds == element::f64) return bucketize_for<double>(values);
  if (bounds == element::i64 && exact) return bucketize_for<int64_t>(values);
  if (bounds == element::i32 && exact)
    return for_type<TERROIR_NUMBERS>(values, []<class T>() -> SearchFn { return &search_values<T, int32_t, int64_t>; });
  return nullptr;
}

Proposal propose_bucketize(const NodeContext& context) {
  if (!bucketize_for(context))
    return Reject{"values of type " + context.inputs[0].type.get_type_name() + " with bounds of type " +
                  context.inputs[1].type.get_type_name()};
  return std::vector{choice_of(context)};
}

std::unique_ptr<const Executor> create_bucketize(const NodeContext& context, const LayoutChoice&) {
  const auto& attrs = context.node.attrs<ops::BucketizeAttrs>();
  const int64_t count = context.inputs[0].count();
  const Search search{context.inputs[1].count(), std::max<int64_t>(1, count), !attrs.with_right_bound,
                      attrs.output_type == element::i64};
  return std::make_unique<SearchExecutor>(context, search, bucketize_for(context), 0, "bucketize");
}

constexpr Impl kSearchSorted[] = {{"search_sorted", &propose_search_sorted, &create_search_sorted}};
constexpr Impl kBucketize[] = {{"bucketize", &propose_bucketize, &create_bucketize}};

}  // namespace

std::span<const Impl> search_sorted_impls() { return kSearchSorted; }
std::span<const Impl> bucketize_impls() { return kBucketize; }

}  // namespace terroir::cpu
