// Counted in the sources, as in ops_work.cpp; the data are those of detection_main.cpp.
#include "tests/bench/detection.hpp"

namespace terroir::bench {

Work detection_work_of(const std::string&) { return {}; }

}  // namespace terroir::bench
