// Passes: Graph -> Graph, same meaning, fewer or cheaper nodes. One file each; the driver runs
// them in order and verifies the graph after each.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::passes {

struct Pass {
  std::string_view name;  // "fold_constants", the file name
  std::string_view what;  // one line for people
  Result<Graph> (*run)(const Graph&);
};

#define SHOAL_PASS(name, what) Result<Graph> name(const Graph& graph);
#include "shoal/passes/list.inc"
#undef SHOAL_PASS

// In the order the driver runs them.
std::span<const Pass> all();
const Pass* find(std::string_view name);

// What one pass did: `shoal inspect --passes` prints it.
struct Report {
  std::string_view pass;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  bool changed = false;
  double seconds = 0;
};

// Runs all passes, again from the start while something changed, a few rounds at most.
Result<Graph> optimize(const Graph& graph, std::vector<Report>* reports = nullptr);

}  // namespace shoal::passes
