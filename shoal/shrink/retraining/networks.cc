#include "shoal/shrink/retraining/networks.h"

#include <algorithm>
#include <utility>

#include "shoal/base/math/random.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/step/weights/initial_weights.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal::shrink {
namespace {

constexpr uint64_t kDrawStream = 0x64726177;  // "draw": a stream that nothing else draws from

}  // namespace

NetworkForBatch as_given(const Model& model) {
  return [&model](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, fit::load_for_batch(model, batch));
    if (loaded.graph.inputs().size() != 1) return invalid("the model needs one input");
    if (loaded.outputs.size() != 1) return invalid("the model needs one output");
    return loaded;
  };
}

NetworkForBatch without(NetworkForBatch network, std::vector<size_t> units) {
  const auto remove = [units = std::move(units)](const Graph& graph) -> Result<Graph> {
    SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(graph));
    return compress::remove(graph, groups, units);
  };
  return fit::changed(std::move(network), remove);
}

NetworkForBatch with_fresh_weights(NetworkForBatch network, uint64_t seed) {
  return fit::changed(std::move(network), [seed](const Graph& graph) {
    return train::with_initial_weights(graph, seed);
  });
}

NetworkForBatch with_weights(NetworkForBatch network, Weights weights) {
  return fit::changed(std::move(network), [weights = std::move(weights)](const Graph& graph) {
    return train::with_constants(graph, weights);
  });
}

std::vector<size_t> drawn_instead(const compress::Groups& groups, const std::vector<size_t>& units,
                                  uint64_t seed) {
  std::vector<size_t> drawn;
  for (const compress::Group& group : groups.groups) {
    const auto lost = std::ranges::count_if(
        units, [&](size_t unit) { return unit >= group.begin && unit < group.end; });
    const std::vector<size_t> order =
        shuffled(group.size(), RandomStream(seed, kDrawStream).child(group.begin));
    for (ptrdiff_t i = 0; i < lost; ++i) {
      drawn.push_back(group.begin + order[static_cast<size_t>(i)]);
    }
  }
  return drawn;
}

}  // namespace shoal::shrink
