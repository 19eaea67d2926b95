#pragma once
// What: how much memory this process may use, so that sizes which a file asks for are refused before it is full.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace terroir::ir {

/// Bytes of the machine, or fewer where a control group of the process, or one above it, may use no more: memory.max of
/// version 2, memory.limit_in_bytes of version 1. The largest number where nothing tells. Looked at once.
uint64_t machine_memory() noexcept;

/// The least of these limits below `root`, which is "/" but in tests; the largest number where there is none.
uint64_t memory_of_groups(const std::filesystem::path& root);

/// Throws Exception (out_of_memory) when `count` entries of `bytes` each, of a table that goes with a tensor, would
/// take more than half of that memory. `what` names the table.
void require_table_fits(const char* what, int64_t count, size_t bytes);
/// The same for a table of a layer, which the text names.
void require_table_fits(const std::string& layer, const char* what, int64_t count, size_t bytes);

}  // namespace terroir::ir
