#pragma once
// What: runs a random model on INTERPRETER and on CPU and says where they disagree.
//
// Expected are the results of the interpreter. On the CPU the model runs with one thread and with several, with the
// extents it was made with and with inputs of which extents or ranks are unknown, and each request infers twice; all of
// these must give the same bits. Against the interpreter an element may differ by what rounding explains
// (rounding.hpp). Images of integers that Interpolate gives may differ by a bound of their own (resampled.hpp); what
// the CPU made of them within that bound then takes their place in the interpreter's runs, so that all that follows
// from them is judged as if they were the same.
#include <string>

#include "tests/differential/model.hpp"

namespace terroir::test {

enum class Verdict {
  agree,
  refused,  // both devices refuse the model or its inputs
  differ
};

struct Judgement {
  Verdict verdict = Verdict::agree;
  std::string text;  // what differs, and where
};

/// `isa`: as TERROIR_FORCE_ISA names it.
Judgement judge(const RandomModel& model, uint64_t seed, const std::string& isa, int threads);

/// The model with as few outputs as still show the difference.
RandomModel with_fewer_outputs(const RandomModel& model, uint64_t seed, const std::string& isa, int threads);

}  // namespace terroir::test
