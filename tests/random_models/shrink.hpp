#pragma once
// What: makes a model that shows a fault as small as it can, so that people can look at it.
// How: outputs go, layers are replaced by one of their operands or by an input of the same values, and each change
// stays as long as the fault does; until no change is possible or there is no time left.
#include <functional>

#include "tests/random_models/subject.hpp"

namespace terroir::test {

/// Whether a model shows the fault. It may throw: then it does not.
using ShowsFault = std::function<bool(const Subject&)>;

/// `seconds`: about how long it may take. A model that is batched stays so.
Subject shrunk(const Subject& subject, const ShowsFault& shows_fault, double seconds);

}  // namespace terroir::test
