#include "shoal/shrink/retraining/teaching.h"

#include <algorithm>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/train/step/graph/features.h"

namespace shoal::shrink {
namespace {

constexpr size_t kChannelAxis = 1;

// A value without some of its channels.
Result<ValueId> without_channels(Graph& graph, ValueId id, const std::vector<int64_t>& gone) {
  if (gone.empty()) return id;
  const int64_t channels = graph[id].type.shape[kChannelAxis];
  std::vector<int64_t> kept;
  for (int64_t channel = 0; channel < channels; ++channel) {
    if (std::ranges::find(gone, channel) == gone.end()) kept.push_back(channel);
  }
  if (kept.empty() || kept.size() + gone.size() != static_cast<size_t>(channels)) {
    return invalid(graph[id].name + " does not have these channels");
  }
  const ValueId indices = graph.add_constant(
      "", Tensor::of<int64_t>({std::ssize(kept)}, std::span<const int64_t>(kept)));
  return graph.add(ops::gather, {id, indices}, {{"axis", static_cast<int64_t>(kChannelAxis)}});
}

}  // namespace

StageChannels channels_of(const Graph& graph, const compress::Groups& groups,
                          std::span<const size_t> units) {
  const std::vector<ValueId> ends = train::stage_ends(graph);
  StageChannels gone(ends.size());
  for (size_t unit : units) {
    for (const compress::Cell& cell : groups.units[unit].cells) {
      const auto end = std::ranges::find(ends, cell.value);
      if (end == ends.end() || cell.axis != kChannelAxis) continue;
      gone[static_cast<size_t>(end - ends.begin())].push_back(cell.index);
    }
  }
  return gone;
}

NetworkForBatch with_features(NetworkForBatch teacher, StageChannels gone) {
  return
      [teacher = std::move(teacher), gone = std::move(gone)](int64_t batch) -> Result<LoadedGraph> {
        SHOAL_ASSIGN(LoadedGraph loaded, teacher(batch));
        const std::vector<ValueId> ends = train::stage_ends(loaded.graph);
        if (ends.empty() || (!gone.empty() && gone.size() != ends.size())) {
          return invalid("the teacher has " + std::to_string(ends.size()) + " stages");
        }
        for (size_t i = 0; i < ends.size(); ++i) {
          const std::vector<int64_t> none;
          SHOAL_ASSIGN(const ValueId end,
                       without_channels(loaded.graph, ends[i], gone.empty() ? none : gone[i]));
          loaded.graph.mark_output(end);
        }
        return loaded;
      };
}

}  // namespace shoal::shrink
