#include "runtime/api/layout_axes.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir::detail {

namespace {

constexpr const char* kEllipsis = "...";

/// As the layout says it: "?" and "..." are items.
std::vector<std::string> items_of(const Layout& layout) {
  if (layout == Layout::scalar()) return {};
  const std::string text = layout.to_string();  // the items are parts of it
  const auto items = split_list(text).value_or(std::vector<std::string_view>{kEllipsis});
  return {items.begin(), items.end()};
}

bool has_ellipsis(const std::vector<std::string>& items) {
  return std::find(items.begin(), items.end(), kEllipsis) != items.end();
}

Layout layout_of(const std::vector<std::string>& names) {
  if (names.empty()) return Layout::scalar();
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "[" : ",") + (name.empty() ? std::string("?") : name);
  return text + "]";
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

size_t named(const std::vector<std::string>& names) {
  return names.size() - static_cast<size_t>(std::count(names.begin(), names.end(), ""));
}

/// Whether the axes of `part` are some of those of `whole`, as far as anyone can tell.
bool is_part(const Layout& part, const Layout& whole) {
  const auto few = items_of(part), many = items_of(whole);
  return !has_ellipsis(few) && !has_ellipsis(many) && few.size() < many.size();
}

/// Checks that every axis of `part` has a name that is one of `whole`, which has a name for every axis, too.
void require_part(const Layout& part, const Layout& whole) {
  const auto few = items_of(part), many = items_of(whole);
  for (const Layout* layout : {&part, &whole}) {
    if (has(items_of(*layout), "?")) {
      throw_error(ErrorCode::invalid_argument, "the layouts ", part, " and ", whole,
                  " have different numbers of axes, so every axis needs a name; the layout ", *layout,
                  " has one without");
    }
  }
  for (const std::string& name : few) {
    if (has(many, name)) continue;
    throw_error(ErrorCode::invalid_argument, "the layout ", whole, " has no axis '", name, "', but ", part, " has");
  }
}

}  // namespace

bool fits_rank(const Layout& layout, const Rank& rank) {
  if (rank.is_dynamic()) return true;
  const auto items = items_of(layout);
  const auto axes = static_cast<size_t>(rank.get_length());
  return has_ellipsis(items) ? items.size() - 1 <= axes : items.size() == axes;
}

void require_layout_fits(const ir::RtInfo& info, const PartialShape& shape) {
  const auto entry = info.find("layout");
  if (entry == info.end()) return;
  const auto text = entry->second.find("layout");
  if (text == entry->second.end()) return;
  if (const Layout layout(text->second); !layout.empty() && !fits_rank(layout, shape.rank()))
    throw_error(ErrorCode::invalid_argument, "the layout ", layout, " does not fit the shape ", shape);
}

std::vector<std::string> axis_names(const Layout& layout, const Rank& rank) {
  std::vector<std::string> names;
  const auto items = items_of(layout);
  const bool open = has_ellipsis(items);
  if (open && rank.is_dynamic()) {
    throw_error(ErrorCode::invalid_argument, "the axes of the layout ", layout,
                " cannot be told while the rank is unknown; give the layout without '...', or a shape");
  }
  const size_t given = items.size() - (open ? 1 : 0);
  if (!fits_rank(layout, rank)) {
    throw_error(ErrorCode::invalid_argument, "the layout ", layout, " does not fit a tensor of rank ", rank);
  }
  for (const std::string& item : items) {
    if (item == kEllipsis) {
      names.resize(names.size() + static_cast<size_t>(rank.get_length()) - given);
    } else {
      names.push_back(item == "?" ? "" : item);
    }
  }
  return names;
}

int64_t axis_of(const Layout& layout, const char* name, const PartialShape& shape) {
  if (!layout.has_name(name)) {
    throw_error(ErrorCode::invalid_argument, "the layout ", layout.empty() ? "is not set, so it" : layout.to_string(),
                " has no axis '", name, "'; say where it is with set_layout(), e.g. \"NCHW\"");
  }
  if (shape.rank().is_dynamic()) {
    throw_error(ErrorCode::invalid_argument, "the axis '", name,
                "' cannot be told while the rank is unknown; give a shape with set_shape()");
  }
  const auto names = axis_names(layout, shape.rank());
  int64_t axis = layout.get_index_by_name(name);
  return axis < 0 ? axis + static_cast<int64_t>(names.size()) : axis;
}

std::vector<uint64_t> order_between(const Layout& from, const Layout& to, const Rank& rank) {
  if (from == to || from.empty() || to.empty()) return {};
  const auto source = axis_names(from, rank), target = axis_names(to, rank);
  if (source.size() != target.size()) {
    throw_error(ErrorCode::invalid_argument, "the layouts ", from, " and ", to, " have different numbers of axes");
  }
  const auto& fewer = named(source) <= named(target) ? source : target;
  const auto& more = &fewer == &source ? target : source;
  for (const std::string& name : fewer) {
    if (name.empty() || has(more, name)) continue;
    throw_error(ErrorCode::invalid_argument, "the axis '", name, "' is in only one of the layouts ", from, " and ", to);
  }
  constexpr uint64_t kOpen = ~uint64_t{0};
  std::vector<uint64_t> order(target.size(), kOpen);
  std::vector<bool> placed(source.size(), false);
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i].empty()) continue;
    const auto at = std::find(target.begin(), target.end(), source[i]);
    if (at == target.end()) continue;
    order[static_cast<size_t>(at - target.begin())] = i;
    placed[i] = true;
  }
  size_t next = 0;
  for (uint64_t& axis : order) {
    if (axis != kOpen) continue;
    while (placed[next]) ++next;
    axis = next;
    placed[next] = true;
  }
  return std::is_sorted(order.begin(), order.end()) ? std::vector<uint64_t>{} : order;
}

std::vector<uint64_t> inverse_order(const std::vector<uint64_t>& order) {
  std::vector<uint64_t> inverse(order.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= order.size() || inverse[order[i]] != order.size()) {
      throw_error(ErrorCode::invalid_argument, "expected every axis from 0 to ", order.size() - 1, " once, got ",
                  order);
    }
    inverse[order[i]] = i;
  }
  return inverse;
}

Layout transposed(const Layout& layout, const std::vector<uint64_t>& order) {
  static_cast<void>(inverse_order(order));
  if (layout.empty()) return layout;
  const auto items = items_of(layout);
  if (has_ellipsis(items) || items.size() != order.size()) {
    throw_error(ErrorCode::invalid_argument, "the layout ", layout, " cannot follow the order ", order, ", which has ",
                order.size(), " axes");
  }
  std::vector<std::string> names;
  for (const uint64_t axis : order) names.push_back(items[axis]);
  return layout_of(names);
}

PartialShape transposed(const PartialShape& shape, const std::vector<uint64_t>& order) {
  static_cast<void>(inverse_order(order));
  if (shape.rank().is_dynamic()) return shape;
  if (shape.size() != order.size()) {
    throw_error(ErrorCode::invalid_argument, "the order ", order, " has ", order.size(), " axes, the shape ", shape,
                " has ", shape.size());
  }
  std::vector<Dimension> dims;
  for (const uint64_t axis : order) dims.push_back(shape[static_cast<std::ptrdiff_t>(axis)]);
  return dims;
}

LaidOutShape without_axes(const LaidOutShape& whole, const Layout& part) {
  if (!is_part(part, whole.layout)) return whole;
  require_part(part, whole.layout);
  const auto names = axis_names(whole.layout, whole.shape.rank()), kept = items_of(part);
  std::vector<std::string> left;
  std::vector<Dimension> dims;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!has(kept, names[i])) continue;
    left.push_back(names[i]);
    if (whole.shape.rank().is_static()) dims.push_back(whole.shape[static_cast<std::ptrdiff_t>(i)]);
  }
  return {whole.shape.rank().is_static() ? PartialShape(dims) : PartialShape::dynamic(), layout_of(left)};
}

LaidOutShape with_axes(const LaidOutShape& part, const Layout& whole, size_t& added) {
  added = 0;
  if (!is_part(part.layout, whole)) return part;
  require_part(part.layout, whole);
  const auto names = axis_names(part.layout, part.shape.rank());
  std::vector<std::string> all;
  for (const std::string& name : items_of(whole)) {
    if (!has(names, name)) all.push_back(name);
  }
  added = all.size();
  std::vector<Dimension> dims(added, 1);
  all.insert(all.end(), names.begin(), names.end());
  if (part.shape.rank().is_dynamic()) return {part.shape, layout_of(all)};
  dims.insert(dims.end(), part.shape.begin(), part.shape.end());
  return {PartialShape(dims), layout_of(all)};
}

}  // namespace terroir::detail
