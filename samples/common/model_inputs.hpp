// Inputs for models that come without data.
#pragma once

#include <cstdint>

#include <terroir/terroir.hpp>

namespace samples {

/// Both ends are included for integers; real values stay below `high`.
struct Range {
  double low = 0;
  double high = 1;
};

/// Fills a dense tensor with values that depend on `seed` only: real types 0..1, integers 0 or 1 (which are valid as
/// table indices and masks), bytes 0..255. Throws std::runtime_error for a type that cannot be filled.
void fill_random(const terroir::Tensor& tensor, uint64_t seed);
/// The same with values of this range. Throws std::runtime_error, too, for an integer type that cannot hold its ends.
void fill_random(const terroir::Tensor& tensor, uint64_t seed, const Range& range);

}  // namespace samples
