#include "shoal/shrink/prune/latency/tabulate.h"

#include <algorithm>
#include <map>
#include <string>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/train/data/batches.h"

namespace shoal::shrink {
namespace {

constexpr uint64_t kTableStream = 0x7461626c65;  // "table": a stream that nothing else draws from

// What a step looks like where it was first seen.
struct Seen {
  TimedStep step;
  std::string alike;  // equal for steps that share their times
};

// Of many widths only their sum is looked at: steps that read many values copy them.
std::vector<Extent> at_most_two(std::vector<Extent> extents) {
  if (extents.size() <= 2) return extents;
  Extent sum;
  std::map<size_t, int64_t> per_unit;
  for (const Extent& extent : extents) {
    sum.fixed += extent.fixed;
    for (const auto& [group, each] : extent.per_unit) per_unit[group] += each;
  }
  sum.per_unit.assign(per_unit.begin(), per_unit.end());
  return {sum};
}

class Assembly {
 public:
  Assembly(const Graph& graph, const compress::Groups& groups) : graph_(graph), groups_(groups) {
    for (size_t i = 0; i < graph.value_count(); ++i) {
      by_name_[graph[static_cast<ValueId>(i)].name] = static_cast<ValueId>(i);
    }
  }

  // Steps, in the order in which they are first seen.
  void see(const NetworkTime& time) {
    for (const StepTime& step : time.steps) {
      if (!places_.try_emplace(step.value, seen_.size()).second) continue;
      Seen seen{{.value = step.value, .extents = {}}, step.kind};
      for (const std::string& name : step.reads) add(name, seen);
      add(step.value, seen);
      seen.step.extents = at_most_two(std::move(seen.step.extents));
      seen.alike += std::to_string(seen.step.extents.size());
      seen_.push_back(std::move(seen));
    }
  }

  // A step that a network does without takes no time there.
  LatencyTable table(std::span<const TimedNetwork> networks) {
    LatencyTable table;
    std::map<std::string, size_t> surfaces;
    for (Seen& seen : seen_) {
      seen.step.surface = surfaces.try_emplace(seen.alike, surfaces.size()).first->second;
      table.steps.push_back(seen.step);
    }
    std::vector<std::vector<WidthSample>> samples(surfaces.size());
    std::vector<double> outside;
    int64_t block = 1;
    for (const TimedNetwork& network : networks) {
      block = std::max(block, network.time.block);
      std::vector<double> ms(seen_.size());
      double rest = network.time.ms;
      for (const StepTime& step : network.time.steps) {
        ms[places_.at(step.value)] += step.ms;
        rest -= step.ms;
      }
      outside.push_back(rest);
      for (size_t i = 0; i < ms.size(); ++i) {
        const TimedStep& step = table.steps[i];
        samples[step.surface].push_back({step.widths(network.kept), ms[i]});
      }
    }
    for (const auto& of_surface : samples) {
      table.surfaces.push_back(WidthSurface::fit(of_surface, block));
    }
    const auto middle = outside.begin() + static_cast<ptrdiff_t>(outside.size() / 2);
    std::ranges::nth_element(outside, middle);
    table.outside_ms = std::max(*middle, 0.0);
    return table;
  }

 private:
  void add(const std::string& name, Seen& seen) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;  // a pass made it
    seen.alike += to_string(graph_[found->second].type) + " ";
    for (Extent& extent : extents_of(graph_, groups_, found->second)) {
      auto& known = seen.step.extents;
      if (std::ranges::find(known, extent) == known.end()) known.push_back(std::move(extent));
    }
  }

  const Graph& graph_;
  const compress::Groups& groups_;
  std::map<std::string, ValueId> by_name_;
  std::map<std::string, size_t> places_;  // of steps in seen_
  std::vector<Seen> seen_;
};

}  // namespace

std::vector<size_t> drawn_units(const compress::Groups& groups, uint64_t seed, int64_t block) {
  const RandomStream random(seed, kTableStream);
  std::vector<size_t> units;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const compress::Group& group = groups.groups[g];
    const std::vector<int64_t> widths = stair_knots(1, static_cast<int64_t>(group.size()), block);
    const auto kept = static_cast<size_t>(widths[random.below(widths.size(), g)]);
    const std::vector<size_t> order = shuffled(group.size(), random.child(g));
    for (size_t i = kept; i < order.size(); ++i) units.push_back(group.begin + order[i]);
  }
  return units;
}

LatencyTable table_of(const Graph& graph, const compress::Groups& groups,
                      std::span<const TimedNetwork> networks) {
  Assembly assembly(graph, groups);
  for (const TimedNetwork& network : networks) assembly.see(network.time);
  return assembly.table(networks);
}

Result<LatencyTable> tabulate(const Graph& graph, const compress::Groups& groups,
                              const StepTimer& timer, const TableOptions& options) {
  std::vector<TimedNetwork> networks;
  const RandomStream seeds(options.seed, kTableStream);
  for (size_t i = 0; i <= options.networks; ++i) {
    const std::vector<size_t> units =
        i == 0 ? std::vector<size_t>() : drawn_units(groups, seeds[i], networks[0].time.block);
    SHOAL_ASSIGN(const Graph smaller, compress::remove(graph, groups, units));
    SHOAL_ASSIGN(const Graph network, passes::optimize(smaller));
    TimedNetwork& timed = networks.emplace_back();
    timed.kept = kept_without(groups, units);
    SHOAL_ASSIGN(timed.time, timer(network));
  }
  return table_of(graph, groups, networks);
}

}  // namespace shoal::shrink
