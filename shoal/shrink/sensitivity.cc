#include "shoal/shrink/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "shoal/compress/remove.h"
#include "shoal/shrink/decide.h"
#include "shoal/shrink/retrain.h"
#include "shoal/shrink/worth.h"

namespace shoal::shrink {
namespace {

constexpr size_t kShares = 10;  // of a group, of which one stays

// The units of a group, the least worth first.
std::vector<size_t> ordered(const compress::Group& group, const std::vector<double>& worth) {
  std::vector<size_t> units(group.size());
  std::iota(units.begin(), units.end(), group.begin);
  std::ranges::stable_sort(units, {}, [&](size_t unit) { return worth[unit]; });
  return units;
}

// At least one of at least two goes, and one stays.
size_t gone_at(size_t share, size_t units) {
  const double part = static_cast<double>(share * units) / kShares;
  return std::clamp<size_t>(static_cast<size_t>(std::lround(part)), 1, units - 1);
}

}  // namespace

size_t sensitivity_examples(size_t there_are, size_t groups, int64_t macs) {
  constexpr double kMostMacs = 1e13, kFewest = 100, kMost = 2000;
  const double of_one = static_cast<double>((kShares - 1) * groups) * static_cast<double>(macs);
  const double wanted = std::clamp(kMostMacs / std::max(of_one, 1.0), kFewest, kMost);
  return std::min(there_are, static_cast<size_t>(wanted));
}

Result<Sensitivity> sensitivity_of(Device& device, const NetworkForBatch& network,
                                   const std::shared_ptr<const Dataset>& examples,
                                   const ShrinkOptions& options, const std::atomic<bool>* cancel) {
  if (examples->size() == 0) return invalid("no examples are held out to look at");
  SHOAL_ASSIGN(const LoadedGraph batch, network(static_cast<int64_t>(options.recipe.batch)));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(batch.graph));
  SHOAL_ASSIGN(const int64_t macs, compress::macs_without(batch.graph, groups, {}));
  const int64_t of_one = macs / static_cast<int64_t>(options.recipe.batch);
  std::vector<size_t> first(sensitivity_examples(examples->size(), groups.groups.size(), of_one));
  std::iota(first.begin(), first.end(), size_t{0});
  const auto some = make_subset(examples, first);
  SHOAL_ASSIGN(
      const std::vector<double> worth,
      worth_of(device, batch.graph, groups, {}, options.importance, *some, options.recipe));
  Sensitivity result{.examples = some->size()};
  SHOAL_ASSIGN(result.top1, top1_of(device, network, *some, options.recipe));
  for (const compress::Group& group : groups.groups) {
    const GroupLeft named = described(batch.graph, groups, group, group.size());
    GroupSensitivity& of_group = result.groups.emplace_back(
        GroupSensitivity{.weights = named.weights, .axis = named.axis, .units = group.size()});
    const std::vector<size_t> units = ordered(group, worth);
    for (size_t share = 1; share < kShares; ++share) {
      if (cancel != nullptr && cancel->load()) return Status(Code::kCancelled, "interrupted");
      const size_t gone = gone_at(share, group.size());
      if (share > 1 && gone == gone_at(share - 1, group.size())) {
        of_group.top1.push_back(of_group.top1.back());
        continue;
      }
      const std::span<const size_t> least = std::span(units).first(gone);
      const auto smaller = [&](int64_t) -> Result<LoadedGraph> {
        SHOAL_ASSIGN(Graph graph, compress::remove(batch.graph, groups, least));
        return LoadedGraph{std::move(graph), batch.outputs};
      };
      const auto top1 = top1_of(device, smaller, *some, options.recipe);
      if (top1.status().code() == Code::kUnsupported) break;  // it cannot lose so many
      if (!top1.ok()) return top1.status();
      of_group.top1.push_back(*top1);
    }
  }
  return result;
}

}  // namespace shoal::shrink
