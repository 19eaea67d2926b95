#pragma once
// What: runs a random model in every way there is and says where two ways disagree.
//
// Expected are the results of the interpreter, within what rounding explains (tests/differential/oracle.hpp). All ways
// of running the model on CPU must give the same bits: kCheckNames lists them. Models of which both devices refuse the
// same are no fault.
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tests/random_models/subject.hpp"

namespace terroir::test {

/// The names of the checks, in the order in which they are made, each with what it compares.
struct CheckName {
  std::string_view name, what;
};
std::span<const CheckName> check_names();

struct Examination {
  bool refused = false;                        // by both devices
  std::string check;                           // the first check that failed; empty: none did
  std::string text;                            // what differs, and where
  std::map<std::string, int> made;             // the checks that were made; some say nothing about some models
  int steps = 0;                               // that the model ran in on CPU
  std::map<std::string, int> reference_steps;  // of these, by the type of the layer: those that ran on a reference
  std::map<std::string, int> kernels;          // by kernel: the steps that ran on it
};

/// `isa`: as TERROIR_FORCE_ISA names it; empty: the best there is. `only`: the name of the one check to make; empty:
/// all.
Examination examine(const Subject& subject, uint64_t seed, const std::string& isa, std::string_view only = {});

}  // namespace terroir::test
