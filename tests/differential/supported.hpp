#pragma once
// What: the page of supported operations: for each (type, set), the element types its reference kernel takes, those for
// which the CPU device has kernels of its own, and notes. Nothing in it is told by hand: the table comes from running
// models of single operations (recipes.hpp) and from what the CPU device says it ran.
#include <string>

namespace terroir::test {

/// The table, as Markdown; for the instruction set in force.
std::string supported_operations();

/// `page` with the table between its marks; Exception (parse_error) when it has none.
std::string with_supported_operations(const std::string& page);

}  // namespace terroir::test
