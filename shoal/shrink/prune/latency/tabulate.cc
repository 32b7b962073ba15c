#include "shoal/shrink/prune/latency/tabulate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/rescale.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/plan/search/planner.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/data/batches.h"

namespace shoal::shrink {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

std::set<std::string, std::less<>> names_of(const Graph& graph) {
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (!value.constant) names.insert(value.name);
  }
  return names;
}

// The value that a device's own value is a form of: devices call it "y.blocked" where the network
// has y. Empty: none.
std::string origin(std::string name, const std::set<std::string, std::less<>>& names) {
  while (!names.contains(name)) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return {};
    name.resize(dot);
  }
  return name;
}

// How many channels lie together where the device has a network's value in blocks: with one more
// axis, the last, than the network knows. 1: it has none.
int64_t block_of(const Graph& network, const Graph& executed) {
  std::map<std::string, size_t, std::less<>> ranks;
  for (size_t i = 0; i < network.value_count(); ++i) {
    const Value& value = network[static_cast<ValueId>(i)];
    if (!value.constant) ranks[value.name] = value.type.shape.rank();
  }
  const auto names = names_of(network);
  int64_t block = 1;
  for (size_t i = 0; i < executed.value_count(); ++i) {
    const Value& value = executed[static_cast<ValueId>(i)];
    if (value.constant) continue;
    const auto known = ranks.find(origin(value.name, names));
    if (known == ranks.end() || value.type.shape.rank() != known->second + 1) continue;
    block = std::max(block, value.type.shape[known->second]);
  }
  return block;
}

// Adds up the nodes of one value. A node that only converts a value, or is unknown to the network,
// counts for its first reader, which it exists for.
class StepSum {
 public:
  StepSum(const Graph& network, const Graph& executed)
      : executed_(executed), values_(executed.nodes().size()) {
    const auto names = names_of(network);
    for (size_t i = 0; i < executed.value_count(); ++i) {
      const Value& value = executed[static_cast<ValueId>(i)];
      origins_.push_back(value.constant ? "" : origin(value.name, names));
    }
    std::map<ValueId, size_t> readers;  // the first, because nodes are seen from the last on
    for (size_t n = values_.size(); n-- > 0;) {
      const Node& node = executed.nodes()[n];
      values_[n] = origin_of(node.outputs[0]);
      const auto reader = readers.find(node.outputs[0]);
      if (reader != readers.end() && is_help(node)) values_[n] = values_[reader->second];
      for (ValueId id : node.inputs) readers[id] = n;
    }
  }

  void add(size_t node, double ms) {
    const std::string& value = values_[node];
    const auto [place, fresh] = places_.try_emplace(value, steps_.size());
    if (fresh) steps_.push_back({.value = value, .reads = {}, .kind = {}});
    StepTime& step = steps_[place->second];
    step.ms += ms;
    step.kind += executed_.nodes()[node].op->name;
    step.kind += ' ';
    for (ValueId id : executed_.nodes()[node].inputs) {
      if (id == kNoValue || origin_of(id).empty() || origin_of(id) == value) continue;
      if (std::ranges::find(step.reads, origin_of(id)) == step.reads.end()) {
        step.reads.push_back(origin_of(id));
      }
    }
  }

  std::vector<StepTime> take() { return std::move(steps_); }

 private:
  const std::string& origin_of(ValueId id) const { return origins_[static_cast<size_t>(id)]; }

  bool is_help(const Node& node) const {
    const std::string& value = origin_of(node.outputs[0]);
    return value.empty() || std::ranges::any_of(node.inputs, [&](ValueId id) {
             return id != kNoValue && origin_of(id) == value;
           });
  }

  const Graph& executed_;
  std::vector<std::string> origins_;  // by value
  std::vector<std::string> values_;   // by node: the step that it belongs to
  std::map<std::string, size_t> places_;
  std::vector<StepTime> steps_;
};

// Something that is run again and again. The fastest fifth of its runs counts: what else the
// machine does only adds time. Steps and whole come from the same runs, so that they add up.
class Stint {
 public:
  static Result<Stint> start(Device& device, const Graph& graph) {
    Stint stint;
    SHOAL_ASSIGN(stint.executable_, device.compile(graph));
    std::mt19937 rng(1);
    stint.inputs_ = random_inputs(graph, rng);
    stint.outputs_.resize(graph.outputs().size());
    return stint;
  }

  Status run_for(double seconds) {
    Trace trace;
    const auto run = [&] {
      trace.clear();
      return executable_->run(inputs_, outputs_, {.trace = &trace});
    };
    SHOAL_TRY(run());  // the caches are full of another network's data
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    do {
      const auto begin = Clock::now();
      SHOAL_TRY(run());
      runs_.push_back({Milliseconds(Clock::now() - begin).count(), trace});
    } while (Clock::now() < end);
    return {};
  }

  NetworkTime time(const Graph& network) {
    const size_t count = std::max<size_t>(1, runs_.size() / 5);
    std::ranges::sort(runs_, {}, &TimedRun::ms);
    NetworkTime result;
    StepSum sum(network, executable_->graph());
    std::map<size_t, double> nodes;
    for (const TimedRun& run : std::span(runs_).first(count)) {
      result.ms += run.ms / static_cast<double>(count);
      for (const TraceEvent& event : run.trace) {
        nodes[event.node] +=
            Milliseconds(event.end - event.begin).count() / static_cast<double>(count);
      }
    }
    for (const auto& [node, ms] : nodes) sum.add(node, ms);
    result.steps = sum.take();
    result.block = block_of(network, executable_->graph());
    return result;
  }

  void forget() { runs_.clear(); }

 private:
  struct TimedRun {
    double ms;
    Trace trace;
  };
  std::unique_ptr<Executable> executable_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<TimedRun> runs_;
};

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
    const auto position = by_name_.find(name);
    if (position == by_name_.end()) return;  // a pass made it
    seen.alike += to_string(graph_[position->second].type) + " ";
    for (Extent& extent : extents_of(graph_, groups_, position->second)) {
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

// A plan takes up to a tenth of a second to carry over.
constexpr size_t kPlannedNetworks = 96;

void scale_to(double ms, const compress::Groups& groups, LatencyTable& table) {
  const double whole = table.ms(all_kept(groups));
  if (whole > 0) table.scale = ms / whole;
}

}  // namespace

Result<StepTimer> timer_on(Device& device, const Graph& yardstick, double seconds) {
  constexpr int kTurns = 4;
  constexpr double kYardstick = 10;  // times as long for the yardstick alone, at first
  if (!device.info().traces) {
    return Status(Code::kUnsupported, "this device does not tell the times of layers");
  }
  SHOAL_ASSIGN(Stint started, Stint::start(device, yardstick));
  const auto other = std::make_shared<Stint>(std::move(started));
  SHOAL_TRY(other->run_for(kYardstick * seconds));
  const double usual = other->time(yardstick).ms;
  return StepTimer([=, &device, graph = yardstick](const Graph& network) -> Result<NetworkTime> {
    SHOAL_ASSIGN(Stint stint, Stint::start(device, network));
    other->forget();
    for (int turn = 0; turn < kTurns; ++turn) {
      SHOAL_TRY(other->run_for(seconds / kTurns));
      SHOAL_TRY(stint.run_for(seconds / kTurns));
    }
    NetworkTime time = stint.time(network);
    const double factor = usual / other->time(graph).ms;
    time.ms *= factor;
    for (StepTime& step : time.steps) step.ms *= factor;
    return time;
  });
}

namespace {

// The nodes as steps, each with the time of a worker that computes it alone.
std::vector<StepTime> reckoned(const Graph& network, const plan::WorkerProfile& profile) {
  constexpr double kMilli = 1e3;
  std::vector<StepTime> steps;
  for (const Node& node : network.nodes()) {
    StepTime step{
        .value = network[node.outputs[0]].name, .reads = {}, .kind = std::string(node.op->name)};
    plan::Work work{.macs = static_cast<double>(macs(network, node))};
    for (ValueId id : node.outputs) work.bytes += static_cast<double>(network[id].type.bytes());
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      work.bytes += static_cast<double>(network[id].type.bytes());
      const std::string& name = network[id].name;
      if (network[id].constant || std::ranges::find(step.reads, name) != step.reads.end()) {
        continue;
      }
      step.reads.push_back(name);
    }
    step.ms = kMilli * plan::seconds_of(work, profile.speed_of(node.op->name));
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

StepTimer timer_by(plan::WorkerProfile profile) {
  return [profile = std::move(profile)](const Graph& network) -> Result<NetworkTime> {
    NetworkTime time;
    time.steps = reckoned(network, profile);
    for (const StepTime& step : time.steps) time.ms += step.ms;
    return time;
  };
}

namespace {

// Plans for networks that differ in their widths.
class KnownPlans {
 public:
  KnownPlans(plan::ClusterProfile cluster, plan::WireOptions wire)
      : cluster_(std::move(cluster)), options_{.wire = std::move(wire)} {}

  const plan::ClusterProfile& cluster() const { return cluster_; }

  // The best plan for a network: by a search, or of those that are known.
  Result<plan::Prediction> best_for(const Graph& network) {
    if (searched_ >= kSearched) {
      if (std::optional<plan::Prediction> best = carried_over(network)) return *std::move(best);
    }
    SHOAL_ASSIGN(std::vector<plan::Prediction> plans,
                 plan::make_plans(network, cluster_, options_));
    ++searched_;
    const auto graph = std::make_shared<const Graph>(network);
    for (plan::Prediction& prediction : plans) {
      // Sums and clusters are other nodes than the network's. Rounding comes after the search.
      if (!prediction.origin.sums.empty() || !prediction.origin.clusters.empty()) continue;
      const plan::Plan& found = prediction.origin.plan;
      const bool is_new = std::ranges::none_of(
          known_, [&](const Known& other) { return other.graph == graph && other.plan == found; });
      if (is_new) known_.push_back({prediction.name, graph, found});
    }
    return std::move(plans[0]);
  }

 private:
  struct Known {
    std::string name;
    std::shared_ptr<const Graph> graph;
    plan::Plan plan;
  };

  // The whole network, whose plans are used where little goes, and two narrow ones.
  static constexpr size_t kSearched = 3;

  std::optional<plan::Prediction> carried_over(const Graph& network) const {
    const auto graph = std::make_shared<const Graph>(network);
    const auto workers = static_cast<int>(cluster_.workers.size());
    std::optional<plan::Prediction> best;
    const auto keep = [&](plan::Prediction one) {
      if (best && best->timeline.seconds <= one.timeline.seconds) return;
      if (plan::fits(cluster_, one)) best = std::move(one);
    };
    for (const Known& known : known_) {
      auto narrow = plan::rescaled(known.plan, *known.graph, network, workers);
      if (!narrow.ok()) continue;
      auto scheduled = plan::ScheduledPlan::make(graph, *std::move(narrow));
      if (!scheduled.ok()) continue;
      plan::Prediction one = plan::predict(known.name, *std::move(scheduled), cluster_);
      if (options_.wire.smallest != plan::WireFormat::kF32) {
        auto rounded = plan::with_narrow_wire(one, cluster_, options_.wire);
        if (rounded.ok()) keep(*std::move(rounded));
      }
      keep(std::move(one));
    }
    return best;
  }

  const plan::ClusterProfile cluster_;
  const plan::PlanOptions options_;
  std::vector<Known> known_;
  size_t searched_ = 0;
};

}  // namespace

StepTimer timer_by_plan(plan::ClusterProfile cluster, plan::WireOptions wire) {
  const auto plans = std::make_shared<KnownPlans>(std::move(cluster), std::move(wire));
  return [plans](const Graph& network) -> Result<NetworkTime> {
    constexpr double kMilli = 1e3;
    SHOAL_ASSIGN(const plan::Prediction best, plans->best_for(network));
    const Graph& planned = best.graph();
    const std::vector<StepTime> alone = reckoned(planned, plans->cluster().workers[0]);
    StepSum sum(network, planned);
    double before = 0;
    for (size_t s = 0; s < best.plan().segments.size(); ++s) {
      const plan::NodeRange nodes = best.plan().segments[s].nodes;
      double end = before, together = 0;
      for (const plan::Span& task : best.timeline.tasks[s]) end = std::max(end, task.end);
      for (size_t n = nodes.begin; n < nodes.end; ++n) together += alone[n].ms;
      for (size_t n = nodes.begin; n < nodes.end; ++n) {
        sum.add(n, kMilli * (end - before) * (together > 0 ? alone[n].ms / together : 0));
      }
      before = end;
    }
    NetworkTime time;
    time.steps = sum.take();
    time.ms = kMilli * best.timeline.seconds;
    return time;
  };
}

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

Result<LatencyTable> table_for(const NetworkForBatch& network, const compress::Groups& groups,
                               const ShrinkOptions& options, Device& runs,
                               const TableOptions& table_options) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
  if (!options.device.empty()) {
    SHOAL_ASSIGN(plan::ClusterProfile cluster, plan::find_cluster(options.device));
    if (cluster.workers.size() == 1) {
      return tabulate(loaded.graph, groups, timer_by(cluster.workers[0]), table_options);
    }
    TableOptions fewer = table_options;
    fewer.networks = std::min(table_options.networks, kPlannedNetworks);
    const StepTimer timer =
        timer_by_plan(std::move(cluster), options.wire ? *options.wire : plan::WireOptions());
    SHOAL_ASSIGN(LatencyTable table, tabulate(loaded.graph, groups, timer, fewer));
    table.exact_ms = [=, graph = loaded.graph](std::span<const size_t> units) -> Result<double> {
      SHOAL_ASSIGN(const Graph smaller, compress::remove(graph, groups, units));
      SHOAL_ASSIGN(const Graph optimized, passes::optimize(smaller));
      SHOAL_ASSIGN(const NetworkTime time, timer(optimized));
      return time.ms;
    };
    SHOAL_ASSIGN(const double whole, table.exact_ms({}));
    scale_to(whole, groups, table);
    return table;
  }
  SHOAL_ASSIGN(const Graph dense, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(const StepTimer timer, timer_on(runs, dense));
  SHOAL_ASSIGN(LatencyTable table, tabulate(loaded.graph, groups, timer, table_options));
  if (options.measure_seconds > 0) {
    SHOAL_ASSIGN(const std::vector<double> ms,
                 measured_ms(runs, {network}, options.measure_seconds));
    scale_to(ms[0], groups, table);
  }
  return table;
}

}  // namespace shoal::shrink
