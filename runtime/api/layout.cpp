#include "terroir/layout.hpp"

#include <algorithm>
#include <cctype>
#include <ostream>
#include <utility>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir {

namespace {
constexpr const char* kScalar = "**SCALAR**";
// Words for the axes that have letters.
constexpr std::pair<const char*, const char*> kWords[] = {
    {"BATCH", "N"}, {"B", "N"}, {"CHANNELS", "C"}, {"CHANNEL", "C"}, {"DEPTH", "D"}, {"HEIGHT", "H"}, {"WIDTH", "W"}};
}  // namespace

std::string Layout::upper(const std::string& name) {
  std::string result = name;
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const auto& [word, letter] : kWords) {
    if (result == word) return letter;
  }
  return result;
}

Layout Layout::scalar() { return Layout(kScalar); }

Layout::Layout(const std::string& text) {
  const std::string trimmed(text.empty() ? "..." : detail::trim(text));
  if (trimmed == kScalar) {
    scalar_ = true;
    return;
  }
  const auto fail = [&](const std::string& reason) {
    throw_error(ErrorCode::parse_error, "not a layout: '", text, "': ", reason);
  };
  std::vector<std::string> axes;
  if (!trimmed.empty() && trimmed.front() == '[') {
    const auto items = detail::split_list(trimmed);
    if (!items) fail("the bracket is not closed");
    axes.assign(items->begin(), items->end());
  } else {
    for (size_t i = 0; i < trimmed.size();) {
      const size_t length = trimmed.compare(i, 3, "...") == 0 ? 3 : 1;
      axes.push_back(trimmed.substr(i, length));
      i += length;
    }
  }
  if (axes.empty()) fail("it names no axis");
  for (const std::string& axis : axes) {
    if (axis == "...") {
      if (dynamic_) fail("'...' may stand only once");
      dynamic_ = true;
      continue;
    }
    const std::int64_t index = dynamic_ ? right_++ : left_++;
    if (axis == "?") continue;
    const bool valid = !axis.empty() && std::all_of(axis.begin(), axis.end(),
                                                    [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (!valid) fail("'" + axis + "' is no name of an axis");
    // Axes behind "..." are counted from there first; their index from the end is known when all have been read.
    if (!names_.emplace(upper(axis), dynamic_ ? -1 - index : index).second) fail("'" + axis + "' stands twice");
  }
  if (dynamic_) {
    for (auto& [name, index] : names_) {
      if (index < 0) index = -1 - index - right_;
    }
  }
}

std::int64_t Layout::get_index_by_name(const std::string& name) const {
  const auto found = names_.find(upper(name));
  if (found == names_.end()) {
    throw_error(ErrorCode::not_found, "the layout ", *this, " has no axis '", name, "'");
  }
  return found->second;
}

std::string Layout::to_string() const {
  if (scalar_) return kScalar;
  std::vector<std::string> left(static_cast<size_t>(left_), "?");
  std::vector<std::string> right(static_cast<size_t>(right_), "?");
  for (const auto& [name, index] : names_) {
    (index >= 0 ? left[static_cast<size_t>(index)] : right[static_cast<size_t>(index + right_)]) = name;
  }
  if (dynamic_) left.emplace_back("...");
  left.insert(left.end(), right.begin(), right.end());
  return concat(left);
}

bool Layout::empty() const { return !scalar_ && dynamic_ && left_ == 0 && right_ == 0; }

bool Layout::operator==(const Layout& other) const {
  return scalar_ == other.scalar_ && dynamic_ == other.dynamic_ && left_ == other.left_ && right_ == other.right_ &&
         names_ == other.names_;
}

namespace layout {
bool has_batch(const Layout& layout) { return layout.has_name("N"); }
std::int64_t batch_idx(const Layout& layout) { return layout.get_index_by_name("N"); }
bool has_channels(const Layout& layout) { return layout.has_name("C"); }
std::int64_t channels_idx(const Layout& layout) { return layout.get_index_by_name("C"); }
bool has_depth(const Layout& layout) { return layout.has_name("D"); }
std::int64_t depth_idx(const Layout& layout) { return layout.get_index_by_name("D"); }
bool has_height(const Layout& layout) { return layout.has_name("H"); }
std::int64_t height_idx(const Layout& layout) { return layout.get_index_by_name("H"); }
bool has_width(const Layout& layout) { return layout.has_name("W"); }
std::int64_t width_idx(const Layout& layout) { return layout.get_index_by_name("W"); }
}  // namespace layout

std::ostream& operator<<(std::ostream& out, const Layout& layout) { return out << layout.to_string(); }

}  // namespace terroir
