#pragma once
// What: how much memory this machine has, so that sizes which a file asks for are refused before the machine is full.
#include <cstddef>
#include <cstdint>

namespace terroir::ir {

/// Bytes of the machine, also where a container may use less of them; the largest number where it does not tell.
uint64_t machine_memory() noexcept;

/// Throws Exception (out_of_memory) when `count` entries of `bytes` each, of a table that goes with a tensor, would
/// take more than half the machine's memory. `what` names the table.
void require_table_fits(const char* what, int64_t count, size_t bytes);

}  // namespace terroir::ir
