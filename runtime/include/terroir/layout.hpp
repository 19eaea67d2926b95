// What the axes of a tensor mean.
//
// Text: one letter per axis, "NCHW"; "?" for an axis without meaning, "N??C"; "..." for any number of axes, "N...C";
//       longer names in brackets, "[batch,width]". Names compare without case.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "terroir/export.hpp"

namespace terroir {

class Node;
template <class NodeT>
class Output;

class TERROIR_API Layout {
 public:
  /// Says nothing about any axis; equal to Layout("...") and Layout("").
  Layout() : Layout("...") {}
  /// Throws Exception (parse_error) for a text that is no layout: a name twice, "..." twice, an unknown character.
  /// "[BATCH,CHANNEL,HEIGHT,WIDTH]" is "NCHW".
  Layout(const char* text) : Layout(std::string(text)) {}  // NOLINT: implicit, as in OpenVINO
  Layout(const std::string& text);                         // NOLINT: implicit, as in OpenVINO

  /// A tensor without axes.
  static Layout scalar();

  bool has_name(const std::string& name) const { return names_.count(upper(name)) != 0; }
  /// Position of the axis; negative, counted from the end, if it stands behind "...". Throws Exception (not_found).
  std::int64_t get_index_by_name(const std::string& name) const;
  /// "[N,C,H,W]", "[N,...,C]"; a scalar is "**SCALAR**"; "[...]" if empty().
  std::string to_string() const;
  /// Whether nothing is said: Layout() or Layout("...").
  bool empty() const;
  bool operator==(const Layout& other) const;
  bool operator!=(const Layout& other) const { return !(*this == other); }

 private:
  static std::string upper(const std::string& name);

  bool scalar_ = false;
  bool dynamic_ = false;                       // has "..."
  std::int64_t left_ = 0;                      // axes before "...", or all
  std::int64_t right_ = 0;                     // axes behind "..."
  std::map<std::string, std::int64_t> names_;  // upper-case name -> index
};

namespace layout {

TERROIR_API bool has_batch(const Layout& layout);
/// Index of axis N; these throw Exception (not_found) if the layout has no such axis.
TERROIR_API std::int64_t batch_idx(const Layout& layout);
TERROIR_API bool has_channels(const Layout& layout);
/// Index of axis C.
TERROIR_API std::int64_t channels_idx(const Layout& layout);
TERROIR_API bool has_depth(const Layout& layout);
/// Index of axis D.
TERROIR_API std::int64_t depth_idx(const Layout& layout);
TERROIR_API bool has_height(const Layout& layout);
/// Index of axis H.
TERROIR_API std::int64_t height_idx(const Layout& layout);
TERROIR_API bool has_width(const Layout& layout);
/// Index of axis W.
TERROIR_API std::int64_t width_idx(const Layout& layout);

/// The layout that the model's file or set_layout() gave to an input or output; empty if there is none.
TERROIR_API Layout get_layout(const Output<const Node>& port);
/// Kept in the model's runtime information, and written by serialize(). Throws Exception (invalid_argument) if the
/// layout does not fit the rank of the port.
TERROIR_API void set_layout(Output<Node> port, const Layout& layout);

}  // namespace layout

TERROIR_API std::ostream& operator<<(std::ostream& out, const Layout& layout);

}  // namespace terroir
