#pragma once
// What: runs passes over a graph: applies their patches, verifies the graph after each in checked builds, counts,
// times, logs, dumps, and can leave passes out. Switches for people: TERROIR_DISABLE_PASS=a,b leaves passes out;
// TERROIR_VERBOSE=pass prints a line per pass that changed something; TERROIR_DUMP=dir writes the graph as text after
// each such pass.
#include <functional>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/pass/patch.hpp"

namespace terroir::ir {

/// One rewrite. `run` reads the graph and says what it wants; an empty patch means that there is nothing left to do.
struct Pass {
  std::string name;  // a verb phrase, the spelling of TERROIR_DISABLE_PASS
  std::function<void(const Graph&, Patch&)> run;
};

struct PassReport {
  std::string name;
  size_t edits = 0;   // replacements and rewires
  size_t erased = 0;  // nodes
  double milliseconds = 0;
};

class PassManager {
 public:
  /// Runs once.
  void add(Pass pass);
  /// Runs the passes in turn, again and again, until a whole round changes nothing, or `cap` rounds are over: a model
  /// is right after each. Checked builds then throw Exception (general) with the names of the passes that still wanted
  /// changes, as it may be a fault of theirs; others log them.
  void add_until_stable(std::vector<Pass> passes, int cap = 100);

  /// What every pass did, in order of running. A disabled pass does not appear.
  std::vector<PassReport> run(Graph& graph) const;

 private:
  struct Group {
    std::vector<Pass> passes;
    int cap;
  };
  std::vector<Group> groups_;
};

}  // namespace terroir::ir
