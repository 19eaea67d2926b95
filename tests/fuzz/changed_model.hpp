#pragma once
// What: files that are nearly models: sound ones with a few changes, each of which follows from a seed.
//
// TERROIR_FUZZ_SEED=n runs that seed alone; TERROIR_FUZZ_SECONDS=s (default 5) bounds each test's time,
// TERROIR_FUZZ_ROUNDS=n (default 20000) the number of files.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/random.hpp"

namespace terroir::test {

struct ModelFiles {
  std::string xml, weights;
};

/// `model` with one to four changes to its text and, at times, others to its weights.
ModelFiles mutated(const ModelFiles& model, Random& random);

/// Whether TERROIR_FUZZ_SEED names one seed.
bool is_single_round();

/// Calls round(seed) with ascending seeds until it says false or the settings end it; how many were done.
int64_t for_each_round(const std::function<bool(int64_t seed)>& round);

/// Small models of the conformance suite, so many of each operation; none where there is no such folder.
std::vector<ModelFiles> conformance_models(size_t per_operation);

}  // namespace terroir::test
