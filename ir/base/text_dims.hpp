// Reading extents from text; shared by Shape, Dimension and PartialShape.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace terroir::detail {

/// Without white space at both ends.
std::string_view trim(std::string_view text);

/// A whole number with optional sign, nothing else in `text`; nothing if it is no number or does not fit.
std::optional<int64_t> parse_int64(std::string_view text);

/// The items of "[a,b]", "{a,b}" or "a,b", trimmed; no items for "[]" and "". Nothing if brackets do not match.
std::optional<std::vector<std::string_view>> split_list(std::string_view text);

}  // namespace terroir::detail
