// What: the time of an operation beside that of a plain copy of its bytes, and how much slower its arithmetic explains.
//   slower     operation by copy
//   explained  what moving its bytes and its arithmetic take, by copy: the sum of both, though they overlap in part.
//              Moving is the copy, or where results have more bytes than operands, a copy of the operands and a fill of
//              the rest, if that is slower: a cache line that is written costs about twice what one costs that is read;
//              or where rows of a table are read from anywhere, a loop that does no more than fetch their cache lines,
//              if that is slower: their pages are in no first table of pages, and no line follows from the one before
//   beyond     operation by explained: 1 is as fast as explained, more is slower
// All three are medians over rounds. A round times the copy, the operation and the rates of this machine that the
// arithmetic needs one right after the other: on a machine that others use too, they meet the same load and the same
// clock, which best runs of each need not.
// Threads: the copy runs on those of `arena`; rates are one thread's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/parallel/arena.hpp"

namespace terroir::bench {

/// Rows of a table that are read in no order.
struct TableRows {
  int64_t read = 0, bytes = 0;  // how many, and of each
  int64_t all = 0;              // that the table has
};

/// What an operation computes, where that and not its bytes explains its time.
struct Work {
  double vectors = 0;    // operations on elements of f32 in vectors, each as much as a multiply-add
  double quotients = 0;  // divisions and roots of f64 in vectors
  double steps = 0;   // cycles of a core that issues all it can: what goes element by element, as loads from anywhere
  double cached = 0;  // bytes read or written in the second cache, by passes through what the first cannot hold
  const char* why = "";
  double copied = 0;  // bytes read and written beside those of operands and results, by passes over what no cache holds
  TableRows rows = {};
};

struct Traffic {
  double read = 0, written = 0;  // bytes
  double all() const { return read + written; }
};

struct BesideCopy {
  double best = 0;       // seconds
  double best_copy = 0;  // the same for memcpy of an array of half as many bytes, which reads and writes as many
  double best_peak = 0;  // additions and multiplications per second on one thread; only if `work` has vectors
  double slower = 0, explained = 0, beyond = 0;
};

/// `operation` returns its seconds. Both sides of a round run twice and the second time counts, when their data are
/// again where the caches of this machine keep them.
BesideCopy beside_copy(const std::function<double()>& operation, Traffic traffic, const Work& work,
                       const parallel::Arena& arena);

double median(std::vector<double> values);

}  // namespace terroir::bench
