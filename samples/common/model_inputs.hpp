// Inputs for models that come without data.
#pragma once

#include <cstdint>

#include <terroir/terroir.hpp>

namespace samples {

/// Fills a dense tensor with values that depend on `seed` only: real types 0..1, integers 0 or 1 (which are valid as
/// table indices and masks), bytes 0..255. Throws std::runtime_error for a type that cannot be filled.
void fill_random(const terroir::Tensor& tensor, uint64_t seed);

}  // namespace samples
