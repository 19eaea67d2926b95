#pragma once
// What: texts of an IR file to values. A text that is none of the kind gives nothing; the caller knows what to say.
#include <optional>
#include <string>
#include <string_view>
#include <terroir/partial_shape.hpp>
#include <vector>

namespace terroir::ir::xml {

/// true, false, 1, 0, in any case.
std::optional<bool> parse_bool(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);
/// C locale, also inf and nan.
std::optional<double> parse_real(std::string_view text);
/// Separated by commas, blanks around elements allowed; an empty text is an empty list, an empty element is an error.
std::optional<std::vector<int64_t>> parse_ints(std::string_view text);
std::optional<std::vector<double>> parse_reals(std::string_view text);
std::optional<std::vector<std::string>> parse_words(std::string_view text);
/// "1, ?, 1..64, -1"; "..." for an unknown rank; an empty text is a scalar.
std::optional<PartialShape> parse_shape(std::string_view text);
/// A comma list of tensor names where a comma inside a name is written "\,". Sorted, without doubles and empty names.
std::vector<std::string> parse_names(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace terroir::ir::xml
