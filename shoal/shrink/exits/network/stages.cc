#include "shoal/shrink/exits/network/stages.h"

#include <algorithm>

#include "shoal/base/text/printable.h"
#include "shoal/engine/device/cut.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::exits {
namespace {

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

// Marks nodes that `output` needs and no stage has yet; how many there are.
size_t assign(const Graph& graph, ValueId output, size_t stage, std::vector<size_t>& stages) {
  std::vector<bool> needed(graph.value_count(), false);
  needed[index_of(output)] = true;
  size_t assigned = 0;
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (std::ranges::none_of(node.outputs, [&](ValueId id) { return needed[index_of(id)]; })) {
      continue;
    }
    if (stages[n] > stage) {
      stages[n] = stage;
      ++assigned;
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) needed[index_of(id)] = true;
    }
  }
  return assigned;
}

// What each part reads of others and gives to later ones, its scores first.
void find_exchanges(const Graph& graph, const std::vector<ValueId>& scores,
                    std::vector<GraphPart>& parts) {
  std::vector<size_t> maker(graph.value_count(), parts.size());  // parts.size(): none
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t n : parts[p].nodes) {
      for (ValueId id : graph.nodes()[n].outputs) maker[index_of(id)] = p;
    }
    parts[p].gives.push_back(scores[p]);
  }
  const auto add_once = [](std::vector<ValueId>& list, ValueId id) {
    if (std::ranges::find(list, id) == list.end()) list.push_back(id);
  };
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t n : parts[p].nodes) {
      for (ValueId id : graph.nodes()[n].inputs) {
        if (id == kNoValue || graph[id].constant || maker[index_of(id)] == p) continue;
        add_once(parts[p].reads, id);
        if (maker[index_of(id)] < p) add_once(parts[maker[index_of(id)]].gives, id);
      }
    }
  }
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(graph[id].name);
  return names;
}

}  // namespace

Result<Graph> with_outputs(const Graph& graph, std::span<const ValueId> outputs) {
  passes::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) SHOAL_TRY(rewriter.copy(node));
  for (ValueId id : outputs) rewriter.to().mark_output(rewriter.map(id));
  return passes::remove_dead_code(rewriter.to());
}

Result<std::vector<Stage>> stages_of(const MultiExit& network) {
  const Graph& graph = network.graph;
  SHOAL_CHECK(graph.outputs().size() == network.exits.size() + 1);
  // The exits in their order, and the first output, which is the last classifier's.
  std::vector<ValueId> scores(graph.outputs().begin() + 1, graph.outputs().end());
  scores.push_back(graph.outputs()[0]);
  std::vector<size_t> stages(graph.nodes().size(), scores.size());
  for (size_t s = 0; s < scores.size(); ++s) {
    if (assign(graph, scores[s], s, stages) > 0) continue;
    return invalid("output " + printable(graph[scores[s]].name) +
                   " needs nothing that the exits before it have not computed");
  }
  std::vector<GraphPart> parts(scores.size());
  for (size_t n = 0; n < stages.size(); ++n) {
    if (stages[n] < parts.size()) parts[stages[n]].nodes.push_back(n);
  }
  find_exchanges(graph, scores, parts);
  std::vector<Stage> result;
  for (const GraphPart& part : parts) {
    Stage stage{
        .graph = {}, .reads = names_of(graph, part.reads), .gives = names_of(graph, part.gives)};
    SHOAL_ASSIGN(stage.graph, graph_of_part(graph, part));
    stage.macs = total_macs(stage.graph);
    result.push_back(std::move(stage));
  }
  return result;
}

}  // namespace shoal::exits
