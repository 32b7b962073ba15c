// Passes: Graph -> Graph with the same meaning and fewer or cheaper nodes. There is one file per
// pass; the driver runs them in order and verifies the graph after each. Passes have no state, so
// threads may optimize different graphs at once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::passes {

struct Pass {
  std::string_view name;  // "fold_constants", the file name
  std::string_view what;  // a one-line description
  Result<Graph> (*run)(const Graph&);
};

#define SHOAL_PASS(name, what) Result<Graph> name(const Graph& graph);
#include "shoal/model/passes/list.inc"
#undef SHOAL_PASS

// All passes, in the order in which the driver runs them.
std::span<const Pass> all();
// Null if there is no pass of this name.
const Pass* find(std::string_view name);

// The effect of one pass, as `shoal inspect --passes` prints it.
struct Report {
  std::string_view pass;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  bool changed = false;
  double seconds = 0;
};

// Runs all passes, and repeats them while something changes, for a few rounds at most. Appends a
// report per pass and round. Fails only if a pass makes a graph that does not verify.
Result<Graph> optimize(const Graph& graph, std::vector<Report>* reports = nullptr);

}  // namespace shoal::passes
