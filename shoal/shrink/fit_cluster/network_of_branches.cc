#include <string>
#include <utility>
#include <vector>

#include "shoal/shrink/branches/compare.h"
#include "shoal/shrink/branches/learn_branches.h"
#include "shoal/shrink/fit_cluster/other_networks.h"
#include "shoal/shrink/prune/decision/depth.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::fit_cluster {
namespace {

// Messages of branches, whose values have names of their own: the image, of the known range, is
// nearly all that travels.
plan::WireOptions messages_of_branches(const Task& task, const Graph& graph) {
  plan::WireOptions wire = task.wire;
  wire.largest.clear();
  for (const ValueId input : graph.inputs()) {
    const auto range = task.wire.largest.find(graph[input].name);
    if (range != task.wire.largest.end()) wire.largest.insert(*range);
  }
  return wire;
}

// What the branches are, before anything learns. Held-out examples say which blocks are missed
// least.
Result<std::optional<branch::Widest>> choose(const Task& task,
                                             const fit::NetworkForBatch& network) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  const plan::WireOptions wire = messages_of_branches(task, loaded.graph);
  if (task.options.keeps_depth) {
    return branch::widest_branches(loaded.graph, task.cluster, task.ms / 1e3, wire);
  }
  shrink::ShrinkOptions options;
  options.recipe = task.options.recipe;
  SHOAL_ASSIGN(const std::vector<size_t> order,
               shrink::blocks_by_loss({.device = task.devices.learns,
                                       .runs = task.devices.runs,
                                       .network = network,
                                       .data = task.data.data,
                                       .options = options,
                                       .callbacks = {.cancel = task.callbacks.cancel}}));
  return branch::balanced_branches(loaded.graph, order, task.cluster, task.ms / 1e3, wire);
}

Result<branch::LearnResult> learn(const Task& task, const branch::Widest& chosen) {
  branch::LearnOptions options{.branches = chosen.branches, .recipe = task.options.recipe};
  options.branches.merge = branch::Merge::kConcat;
  options.dropout = 0;
  options.refit = true;
  options.blocks = chosen.blocks;
  options.controls = false;
  options.out = task.out;
  branch::LearnCallbacks callbacks{.on_note = task.callbacks.on_note,
                                   .cancel = task.callbacks.cancel};
  if (task.callbacks.on_step) {
    callbacks.on_step = [&](const branch::LearnStep& step) {
      const bool is_control = step.network == "dense control";
      task.callbacks.on_step(
          {step.network, is_control ? size_t{0} : 1, 2, step.step, step.step.seconds_left});
    };
  }
  return branch::learn_branches(task.devices.learns, task.model, task.data, options, callbacks);
}

}  // namespace

Result<OtherNetwork> network_of_branches(const Task& task) {
  if (plan::count_present(task.cluster) < 2) {
    return OtherNetwork{.why_not = "branches need two workers"};
  }
  const auto chosen = choose(task, shrink::as_given(task.model));
  if (!chosen.ok() && chosen.status().code() == Code::kUnsupported) {
    return OtherNetwork{.why_not = std::string(chosen.status().message())};
  }
  SHOAL_TRY(chosen.status());
  if (!*chosen) return OtherNetwork{.why_not = "even the narrowest branches take longer"};
  if (task.callbacks.on_note) {
    task.callbacks.on_note(std::to_string((*chosen)->branches.widths.size()) +
                           " branches without " + std::to_string((*chosen)->blocks.size()) +
                           " of the residual blocks learn");
  }
  SHOAL_ASSIGN(const branch::LearnResult learned, learn(task, **chosen));
  SHOAL_ASSIGN(OtherNetwork planned, planned_file(task.out, task.cluster));
  planned.top1 = learned.top1;
  planned.top1_control = learned.top1_dense;
  return planned;
}

}  // namespace shoal::fit_cluster
