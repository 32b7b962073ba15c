// Removes nodes whose outputs no output of the graph depends on, and constants that only they read.
// Inputs of the graph stay, read or not: they are its interface.
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {

Result<Graph> remove_dead_code(const Graph& graph) {
  std::vector<bool> alive(graph.value_count(), false);
  for (ValueId id : graph.outputs()) alive[static_cast<size_t>(id)] = true;
  std::vector<bool> keep(graph.nodes().size(), false);
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    for (ValueId id : node.outputs) keep[n] = keep[n] || alive[static_cast<size_t>(id)];
    if (!keep[n]) continue;
    for (ValueId id : node.inputs) {
      if (id != kNoValue) alive[static_cast<size_t>(id)] = true;
    }
  }
  Rewriter rewriter(graph);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (keep[n]) SHOAL_TRY(rewriter.copy(graph.nodes()[n]));
  }
  return rewriter.finish();
}

}  // namespace shoal::passes
