// One trial of a layer: random attributes, types and shapes, run in every way that must give the same result.
#pragma once

#include <map>
#include <string>

#include "check_extension/description.hpp"

namespace check {

struct Fault {
  int count = 0;
  std::string example;  // the first one
};

/// What many trials of one layer came to.
struct Findings {
  int run = 0;                          // trials in which the layer computed something
  int blocked = 0, dynamic = 0;         // of these: also in other layouts; also with unknown extents
  std::map<std::string, int> refusals;  // what shape inference refused, by its text: no fault
  std::map<std::string, Fault> faults;  // what a user of the layer would complain about

  void add_fault(const std::string& what, const std::string& example) {
    Fault& fault = faults[what];
    if (fault.count++ == 0) fault.example = example;
  }
  bool sound() const { return faults.empty(); }
};

/// Adds to `findings` what a trial with this seed shows. Throws nothing: what the layer throws is a finding.
void run_trial(terroir::Core& core, const terroir_layer& layer, uint64_t seed, Findings& findings);

/// The same with attributes that no model should have: each must be refused, or do no harm.
void run_malformed(terroir::Core& core, const terroir_layer& layer, uint64_t seed, Findings& findings);

/// A tensor with `margin` bytes of a pattern on both sides, so that writing outside of it is seen.
class Guarded {
 public:
  Guarded(const terroir::element::Type& type, const terroir::Shape& shape, unsigned char fill);
  const terroir::Tensor& tensor() const { return tensor_; }
  bool intact() const;

 private:
  std::vector<unsigned char> memory_;
  size_t bytes_;
  terroir::Tensor tensor_;
};

}  // namespace check
