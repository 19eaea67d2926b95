// What: what the arithmetic of the rows of bench_detection costs.
#pragma once

#include <string>

#include "tests/bench/beside_copy.hpp"

namespace terroir::bench {

/// Nothing for rows that move their bytes and no more.
Work detection_work_of(const std::string& row);

}  // namespace terroir::bench
