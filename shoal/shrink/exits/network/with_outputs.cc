#include "shoal/shrink/exits/network/with_outputs.h"

#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::exits {

Result<Graph> with_outputs(const Graph& graph, std::span<const ValueId> outputs) {
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) SHOAL_TRY(rewriter.copy(node));
  for (ValueId id : outputs) rewriter.to().mark_output(rewriter.map(id));
  return passes::remove_dead_code(rewriter.to());
}

}  // namespace shoal::exits
