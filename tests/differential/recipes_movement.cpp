// Data movement: gathers, scatters, slices, pads, and what only rearranges.
#include <algorithm>
#include <numeric>

#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;

std::vector<int64_t> some_axes(Draw& d, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (d.chance(50)) axes.push_back(axis);
  if (axes.empty() && rank > 0) axes.push_back(d.below(rank));
  return axes;
}

/// Indices into an axis of this extent.
Value indices(Draw& d, const ir::Dims& dims, int64_t extent, bool from_the_end, Fill::Order order = Fill::Order::any) {
  d.need(extent > 0 || ir::element_count(dims) == 0);
  const double low = from_the_end && order == Fill::Order::any ? static_cast<double>(-extent) : 0;
  return d.fresh(d.one_of(kIndex), dims, Fill::in(low, static_cast<double>(std::max<int64_t>(0, extent - 1)), order));
}

void broadcast(Draw& d) {
  const Value x = d.data(kAny, 0, 4);
  ir::Dims target = d.dims(x);
  const auto rank = static_cast<int64_t>(target.size());
  for (int64_t& extent : target)
    if (extent == 1 && d.chance(70)) extent = 1 + d.below(9);
  const bool newer = d.schema().opset == "opset3";
  if (d.chance(25)) {
    // Every axis of data goes to one of the target's, in order.
    std::vector<int64_t> mapping;
    ir::Dims wide;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (d.chance(40)) wide.push_back(1 + d.below(4));
      mapping.push_back(static_cast<int64_t>(wide.size()));
      wide.push_back(target[static_cast<size_t>(axis)]);
    }
    if (d.chance(40)) wide.push_back(1 + d.below(4));
    d.op({x, d.numbers(wide), d.numbers(mapping)}, {{"mode", "explicit"}});
    return;
  }
  if (d.chance(50)) target.insert(target.begin(), 1 + d.below(4));
  if (newer && d.chance(30)) {
    for (int64_t& extent : target)
      if (d.chance(30)) extent = 1;
    d.op({x, d.numbers(target)}, {{"mode", "bidirectional"}});
    return;
  }
  d.op({x, d.numbers(target)}, {{"mode", "numpy"}});
}

void concat(Draw& d) {
  const Value x = d.data(kAny, 1, 5);
  const int64_t axis = d.below(d.rank(x));
  std::vector<Value> inputs = {x};
  for (int64_t more = d.below(4); more > 0; --more) {
    ir::Dims dims = d.dims(x);
    if (d.chance(60)) dims[static_cast<size_t>(axis)] = d.extent(17);
    inputs.push_back(d.like(d.type(x), dims));
  }
  d.op(inputs, {{"axis", std::to_string(d.maybe_negative(axis, d.rank(x)))}});
}

void depth_to_space(Draw& d) {
  const int64_t spatial = d.between(1, 3), block = d.between(1, 3);
  int64_t volume = 1;
  for (int64_t i = 0; i < spatial; ++i) volume *= block;
  ir::Dims dims = {1 + d.below(3), (1 + d.below(5)) * volume};
  for (int64_t i = 0; i < spatial; ++i) dims.push_back(d.extent(9));
  d.op({d.like(d.one_of(kAny), dims)}, {{"block_size", std::to_string(block)}});
}

void space_to_depth(Draw& d) {
  const int64_t spatial = d.between(1, 3), block = d.between(1, 3);
  ir::Dims dims = {1 + d.below(3), 1 + d.below(9)};
  for (int64_t i = 0; i < spatial; ++i) dims.push_back(d.extent(5) * block);
  d.op({d.like(d.one_of(kAny), dims)}, {{"block_size", std::to_string(block)}});
}

void batch_to_space(Draw& d) {
  const int64_t spatial = d.between(1, 3);
  std::vector<int64_t> block = {1}, begin = {0}, end = {0};
  ir::Dims dims = {1 + d.below(2)};
  for (int64_t i = 0; i < spatial; ++i) {
    block.push_back(d.between(1, 3));
    dims[0] *= block.back();
    dims.push_back(d.extent(7) + 1);
    begin.push_back(d.below(2));
    end.push_back(d.below(block.back() * dims.back() - begin.back()) / 2);
  }
  d.op({d.like(d.one_of(kAny), dims), d.numbers(block), d.numbers(begin), d.numbers(end)});
}

void space_to_batch(Draw& d) {
  const int64_t spatial = d.between(1, 3);
  std::vector<int64_t> block = {1}, begin = {0}, end = {0};
  ir::Dims dims = {1 + d.below(3)};
  for (int64_t i = 0; i < spatial; ++i) {
    block.push_back(d.between(1, 3));
    dims.push_back(1 + d.extent(9));
    begin.push_back(d.below(3));
    const int64_t so_far = dims.back() + begin.back();
    end.push_back((block.back() - so_far % block.back()) % block.back());
  }
  d.op({d.like(d.one_of(kAny), dims), d.numbers(block), d.numbers(begin), d.numbers(end)});
}

void gather(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const ir::Dims dims = d.dims(x);
  const int64_t axis = d.below(d.rank(x));
  const bool batched = d.schema().opset != "opset1", from_the_end = d.schema().opset == "opset8";
  const int64_t batch = batched && d.chance(40) ? d.between(0, axis) : 0;
  ir::Dims wanted(dims.begin(), dims.begin() + batch);
  for (int64_t more = d.between(0, 2); more > 0; --more) wanted.push_back(d.extent(9));
  const Value at = indices(d, wanted, dims[static_cast<size_t>(axis)], from_the_end);
  AttributeTexts attributes;
  if (batched) attributes = {{"batch_dims", std::to_string(batch)}};
  const int64_t spelled = d.maybe_negative(axis, d.rank(x));
  d.op({x, at, d.chance(50) ? d.number(spelled) : d.numbers({spelled})}, attributes);
}

void gather_elements(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  ir::Dims dims = d.dims(x);
  const int64_t axis = d.below(d.rank(x)), extent = dims[static_cast<size_t>(axis)];
  dims[static_cast<size_t>(axis)] = d.extent(17);
  d.op({x, indices(d, dims, extent, true)}, {{"axis", std::to_string(d.maybe_negative(axis, d.rank(x)))}});
}

/// Coordinates [..., length] into the axes of `dims` from `first` on.
Value coordinates(Draw& d, const ir::Dims& outer, const ir::Dims& dims, int64_t first, int64_t length,
                  bool from_the_end) {
  ir::Dims shape = outer;
  shape.push_back(length);
  HostTensor host(d.one_of(kIndex), shape);
  for (int64_t i = 0; i < host.view().count(); ++i) {
    const int64_t extent = dims[static_cast<size_t>(first + i % length)];
    d.need(extent > 0);
    set_number(host.writable(), i, static_cast<double>(d.between(from_the_end ? -extent : 0, extent - 1)));
  }
  return d.place(std::move(host), 60);
}

void gather_nd(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const ir::Dims dims = d.dims(x);
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t batch = d.chance(40) ? d.below(rank) : 0;
  ir::Dims outer(dims.begin(), dims.begin() + batch);
  for (int64_t more = d.below(3); more > 0; --more) outer.push_back(d.extent(7));
  if (outer.empty()) outer.push_back(3);
  d.op({x, coordinates(d, outer, dims, batch, d.between(1, rank - batch), false)},
       {{"batch_dims", std::to_string(batch)}});
}

void gather_tree(Draw& d) {
  const ir::Dims dims = {1 + d.extent(9), d.extent(5), 1 + d.below(5)};
  const element::Type type = d.chance(70) ? element::i32 : element::f32;
  const auto beams = static_cast<double>(dims[2] - 1);
  HostTensor parents = d.tensor(element::i32, dims, Fill::in(0, beams));
  HostTensor cast(type, dims), lengths(type, {dims[1]});
  for (int64_t i = 0; i < parents.view().count(); ++i) set_number(cast.writable(), i, parents.as<int32_t>()[i]);
  for (int64_t i = 0; i < dims[1]; ++i) set_number(lengths.writable(), i, static_cast<double>(d.between(1, dims[0])));
  HostTensor ids(type, dims), end(type, {});
  for (int64_t i = 0; i < ids.view().count(); ++i) set_number(ids.writable(), i, static_cast<double>(d.below(9)));
  set_number(end.writable(), 0, static_cast<double>(d.below(9)));
  d.op({d.place(std::move(ids), 80), d.place(std::move(cast), 80), d.place(std::move(lengths), 50),
        d.constant(std::move(end))});
}

void pad(Draw& d) {
  const Value x = d.data(kAny, 1, 5);
  const ir::Dims dims = d.dims(x);
  const std::string mode = d.one_of({"constant", "edge", "reflect", "symmetric"});
  const bool cuts = d.schema().opset == "opset12";
  std::vector<int64_t> begin, end;
  for (const int64_t extent : dims) {
    const int64_t most = mode == "reflect" ? extent - 1 : mode == "symmetric" ? extent : 6;
    d.need(mode == "constant" || extent > 0);
    begin.push_back(d.chance(50) ? 0 : d.between(0, std::clamp<int64_t>(most, 0, 6)));
    end.push_back(d.chance(50) ? 0 : d.between(0, std::clamp<int64_t>(most, 0, 6)));
    if (cuts && d.chance(15) && extent > 2) begin.back() = -1;
    if (cuts && d.chance(15) && extent > 2) end.back() = -1;
  }
  const Types& types = kIndex;
  std::vector<Value> inputs = {x, d.numbers(begin, types), d.numbers(end, types)};
  if (mode == "constant" && d.chance(60)) inputs.push_back(d.weights(d.type(x), {}));
  d.op(inputs, {{"pad_mode", mode}});
}

void reverse(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const auto axes = some_axes(d, d.rank(x));
  if (d.chance(50)) {
    d.op({x, d.numbers(axes)}, {{"mode", "index"}});
    return;
  }
  HostTensor mask(element::boolean, {d.rank(x)});
  for (int64_t axis = 0; axis < d.rank(x); ++axis)
    set_number(mask.writable(), axis, std::find(axes.begin(), axes.end(), axis) != axes.end() ? 1 : 0);
  d.op({x, d.constant(std::move(mask))}, {{"mode", "mask"}});
}

void reverse_sequence(Draw& d) {
  const Value x = d.data(kAny, 2, 4);
  const int64_t batch = d.below(d.rank(x)), sequence = (batch + 1 + d.below(d.rank(x) - 1)) % d.rank(x);
  const ir::Dims dims = d.dims(x);
  const int64_t longest = dims[static_cast<size_t>(sequence)];
  d.need(longest > 0);
  const Value lengths =
      d.fresh(d.one_of(kIndex), {dims[static_cast<size_t>(batch)]}, Fill::in(1, static_cast<double>(longest)));
  d.op({x, lengths}, {{"batch_axis", std::to_string(batch)}, {"seq_axis", std::to_string(sequence)}});
}

void roll(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const auto axes = some_axes(d, d.rank(x));
  std::vector<int64_t> shifts;
  for (size_t i = 0; i < axes.size(); ++i) shifts.push_back(d.between(-9, 9));
  d.op({x, d.numbers(shifts), d.numbers(axes)});
}

void scatter_elements(Draw& d) {
  const Value x = d.data(kNumber, 1, 4);
  const ir::Dims dims = d.dims(x);
  const int64_t axis = d.below(d.rank(x)), extent = dims[static_cast<size_t>(axis)];
  d.need(extent > 0);
  ir::Dims part = dims;
  for (int64_t& length : part) length = d.between(std::min<int64_t>(1, length), length);
  if (d.chance(30)) part[static_cast<size_t>(axis)] = d.extent(9);
  std::vector<Value> inputs = {x, indices(d, part, extent, true), d.like(d.type(x), part),
                               d.number(d.maybe_negative(axis, d.rank(x)))};
  d.op(inputs);
}

void scatter_nd(Draw& d) {
  const Value x = d.data(kNumber, 1, 4);
  const ir::Dims dims = d.dims(x);
  const int64_t length = d.between(1, d.rank(x));
  ir::Dims outer;
  for (int64_t more = d.below(3); more > 0; --more) outer.push_back(d.extent(7));
  if (outer.empty()) outer.push_back(2);
  ir::Dims updates = outer;
  updates.insert(updates.end(), dims.begin() + length, dims.end());
  const Value at = coordinates(d, outer, dims, 0, length, d.schema().opset == "opset15");
  d.op({x, at, d.like(d.type(x), updates)});
}

void scatter_update(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const ir::Dims dims = d.dims(x);
  const int64_t axis = d.below(d.rank(x));
  ir::Dims at;
  for (int64_t more = d.below(3); more > 0; --more) at.push_back(d.extent(5));
  ir::Dims updates(dims.begin(), dims.begin() + axis);
  updates.insert(updates.end(), at.begin(), at.end());
  updates.insert(updates.end(), dims.begin() + axis + 1, dims.end());
  d.op({x, indices(d, at, dims[static_cast<size_t>(axis)], false), d.like(d.type(x), updates), d.number(axis)});
}

struct Ranges {
  std::vector<int64_t> start, stop, step, axes;
  ir::Dims dims;  // of the slice
};

Ranges ranges(Draw& d, const ir::Dims& dims) {
  Ranges chosen;
  chosen.dims = dims;
  chosen.axes = some_axes(d, static_cast<int64_t>(dims.size()));
  for (const int64_t axis : chosen.axes) {
    const int64_t extent = dims[static_cast<size_t>(axis)];
    int64_t from = d.between(0, std::max<int64_t>(0, extent - 1)), to = d.between(0, extent), by = d.between(1, 3);
    if (from > to) std::swap(from, to);
    int64_t count = (to - from + by - 1) / by;
    if (d.chance(30) && extent > 0) {
      // Backwards, down to and without `to`.
      by = -by;
      from = d.between(0, extent - 1);
      to = d.between(-1, from);
      count = (from - to - by - 1) / -by;
      if (to < 0) to = -extent - 1;
    } else if (d.chance(30) && to == extent) {
      to = 1 << 20;
    }
    chosen.start.push_back(d.chance(30) && extent > 0 ? from - extent : from);
    chosen.stop.push_back(to);
    chosen.step.push_back(by);
    chosen.dims[static_cast<size_t>(axis)] = std::max<int64_t>(0, count);
  }
  return chosen;
}

void slice(Draw& d) {
  const Value x = d.data(kAny, 1, 5);
  const Ranges r = ranges(d, d.dims(x));
  d.op({x, d.numbers(r.start), d.numbers(r.stop), d.numbers(r.step), d.numbers(r.axes)});
}

void slice_scatter(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const Ranges r = ranges(d, d.dims(x));
  const Value updates = d.like(d.type(x), r.dims);
  d.op({x, updates, d.numbers(r.start, {element::i64}), d.numbers(r.stop, {element::i64}),
        d.numbers(r.step, {element::i64}), d.numbers(r.axes, {element::i64})});
}

void split(Draw& d) {
  const Value x = d.data(kAny, 1, 5);
  const int64_t axis = d.below(d.rank(x)), extent = d.dims(x)[static_cast<size_t>(axis)];
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= std::min<int64_t>(extent, 6); ++count)
    if (extent % count == 0) counts.push_back(count);
  d.need(!counts.empty());
  d.op({x, d.number(d.maybe_negative(axis, d.rank(x)))}, {{"num_splits", std::to_string(d.one_of(counts))}});
}

void variadic_split(Draw& d) {
  const Value x = d.data(kAny, 1, 5);
  const int64_t axis = d.below(d.rank(x));
  std::vector<int64_t> lengths;
  int64_t left = d.dims(x)[static_cast<size_t>(axis)];
  while (left > 0 && lengths.size() < 4) {
    lengths.push_back(d.between(1, left));
    left -= lengths.back();
  }
  if (left > 0 || lengths.empty()) lengths.push_back(left);
  if (d.chance(30)) lengths[static_cast<size_t>(d.below(static_cast<int64_t>(lengths.size())))] = -1;
  HostTensor host(element::i64, {static_cast<int64_t>(lengths.size())});
  std::copy(lengths.begin(), lengths.end(), host.writable().as<int64_t>());
  d.op({x, d.number(d.maybe_negative(axis, d.rank(x))), d.constant(std::move(host))});
}

void strided_slice(Draw& d) {
  const Value x = d.data(kAny, 1, 5);
  const ir::Dims dims = d.dims(x);
  std::vector<int64_t> begin, end, stride, begin_mask, end_mask, new_axis, shrink, ellipsis;
  const auto push = [&](int64_t b, int64_t e, int64_t s, int64_t bm, int64_t em, int64_t na, int64_t sh, int64_t el) {
    begin.push_back(b), end.push_back(e), stride.push_back(s), begin_mask.push_back(bm), end_mask.push_back(em);
    new_axis.push_back(na), shrink.push_back(sh), ellipsis.push_back(el);
  };
  const int64_t used = d.between(1, static_cast<int64_t>(dims.size()));
  const bool skips = d.chance(15);
  for (int64_t axis = 0; axis < used; ++axis) {
    if (d.chance(8)) push(0, 1, 1, d.below(2), d.below(2), 1, 0, 0);
    if (skips && axis + 1 == used) {
      push(0, 0, 1, 0, 0, 0, 0, 1);
      break;
    }
    const int64_t extent = dims[static_cast<size_t>(axis)];
    if (d.chance(12) && extent > 0) {
      push(d.between(-extent, extent - 1), 1 << 10, 1, 0, d.below(2), 0, 1, 0);
      continue;
    }
    const int64_t step = d.chance(25) ? -d.between(1, 3) : d.between(1, 3);
    push(d.between(-extent - 1, extent + 1), d.between(-extent - 1, extent + 1), step, d.below(2), d.below(2), 0, 0, 0);
  }
  std::vector<Value> inputs = {x, d.numbers(begin, {element::i64}), d.numbers(end, {element::i64})};
  if (d.chance(80)) inputs.push_back(d.numbers(stride, {element::i64}));
  d.op(inputs, {{"begin_mask", list(begin_mask)},
                {"end_mask", list(end_mask)},
                {"new_axis_mask", list(new_axis)},
                {"shrink_axis_mask", list(shrink)},
                {"ellipsis_mask", list(ellipsis)}});
}

void tile(Draw& d) {
  const Value x = d.data(kAny, 0, 4);
  std::vector<int64_t> repeats;
  const int64_t count = d.between(std::max<int64_t>(0, d.rank(x) - 1), d.rank(x) + 1);
  for (int64_t i = 0; i < count; ++i) repeats.push_back(d.chance(50) ? 1 : d.between(1, 4));
  d.op({x, d.numbers(repeats)});
}

void transpose(Draw& d) {
  const Value x = d.data(kAny, 0, 5);
  std::vector<int64_t> order(static_cast<size_t>(d.rank(x)));
  std::iota(order.begin(), order.end(), 0);
  if (d.chance(8)) {
    order.clear();
  } else {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[d.random().below(i)]);
  }
  d.op({x, d.numbers(order)});
}

void unique(Draw& d) {
  const Value x =
      d.exact({element::f32, element::i32, element::i64, element::u8}, 1, 3, d.chance(60) ? Fill::in(0, 3) : Fill{});
  std::vector<Value> inputs = {x};
  if (d.chance(50))
    inputs.push_back(d.constant(d.tensor(element::i64, {}, Fill::in(0, static_cast<double>(d.rank(x) - 1)))));
  d.op(inputs);
}

void shuffle_channels(Draw& d) {
  const Value x = d.data(kAny, 1, 4);
  const int64_t axis = d.below(d.rank(x)), extent = d.dims(x)[static_cast<size_t>(axis)];
  std::vector<int64_t> groups = {1};
  for (int64_t group = 2; group <= extent; ++group)
    if (extent % group == 0) groups.push_back(group);
  d.op({x}, {{"axis", std::to_string(d.maybe_negative(axis, d.rank(x)))}, {"group", std::to_string(d.one_of(groups))}});
}

void col2im(Draw& d) {
  const ir::Dims image = {d.between(3, 9), d.between(3, 9)}, kernel = {d.between(1, 3), d.between(1, 3)};
  const ir::Dims strides = {d.between(1, 2), d.between(1, 2)}, begin = {d.below(2), d.below(2)},
                 end = {d.below(2), d.below(2)};
  int64_t blocks = 1;
  for (size_t i = 0; i < 2; ++i) blocks *= (image[i] + begin[i] + end[i] - kernel[i]) / strides[i] + 1;
  ir::Dims dims = {d.between(1, 4) * kernel[0] * kernel[1], blocks};
  if (d.chance(60)) dims.insert(dims.begin(), d.between(1, 3));
  d.op({d.like(d.one_of(kReal), dims), d.numbers(image), d.numbers(kernel)},
       {{"strides", list(strides)}, {"pads_begin", list(begin)}, {"pads_end", list(end)}});
}

void extract_image_patches(Draw& d) {
  const Value x = d.data(kNumber, 4, 4);
  d.op({x}, {{"sizes", list(std::vector<int64_t>{d.between(1, 3), d.between(1, 3)})},
             {"strides", list(std::vector<int64_t>{d.between(1, 3), d.between(1, 3)})},
             {"rates", list(std::vector<int64_t>{d.between(1, 2), d.between(1, 2)})}});
}

const RecipeRow kMovementRows[] = {
    {"BatchToSpace-2", batch_to_space},
    {"Broadcast-1 Broadcast-3", broadcast},
    {"Col2Im-15", col2im},
    {"Concat-1", concat},
    {"DepthToSpace-1", depth_to_space},
    {"ExtractImagePatches-3", extract_image_patches},
    {"Gather-1 Gather-7 Gather-8", gather},
    {"GatherElements-6", gather_elements},
    {"GatherND-5 GatherND-8", gather_nd},
    {"GatherTree-1", gather_tree},
    {"NonZero-3", [](Draw& d) { d.op({d.exact(kAny, 1, 4, d.chance(70) ? Fill::in(0, 2) : Fill{})}); }},
    {"Pad-1 Pad-12", pad},
    {"Reverse-1", reverse},
    {"ReverseSequence-1", reverse_sequence},
    {"Roll-7", roll},
    {"ScatterElementsUpdate-3 ScatterElementsUpdate-12", scatter_elements},
    {"ScatterNDUpdate-4 ScatterNDUpdate-15", scatter_nd},
    {"ScatterUpdate-3", scatter_update},
    {"ShuffleChannels-1", shuffle_channels},
    {"Slice-8", slice},
    {"SliceScatter-15", slice_scatter},
    {"SpaceToBatch-2", space_to_batch},
    {"SpaceToDepth-1", space_to_depth},
    {"Split-1", split},
    {"StridedSlice-1", strided_slice},
    {"Tile-1", tile},
    {"Transpose-1", transpose},
    {"Unique-10", unique},
    {"VariadicSplit-1", variadic_split},
};

}  // namespace

std::span<const RecipeRow> movement_recipes() { return kMovementRows; }

}  // namespace terroir::test
