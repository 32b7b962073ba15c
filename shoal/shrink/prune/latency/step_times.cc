#include "shoal/shrink/prune/latency/step_times.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/plan/rescale.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/plan/search/planner.h"

namespace shoal::shrink {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// Which names of a graph are values that a run computes or gets.
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

// Adds up the nodes of one value. A node that only brings a value into another form, or computes
// something that the network does not know, works for its first reader: whether it is there at all
// depends on that.
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
    for (plan::Prediction& made : plans) {
      // Sums and clusters are other nodes than the network's. Rounding comes after the search.
      if (!made.origin.sums.empty() || !made.origin.clusters.empty()) continue;
      const plan::Plan& found = made.origin.plan;
      const bool is_new = std::ranges::none_of(
          known_, [&](const Known& other) { return other.graph == graph && other.plan == found; });
      if (is_new) known_.push_back({made.name, graph, found});
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
    for (const Known& made : known_) {
      auto narrow = plan::rescaled(made.plan, *made.graph, network, workers);
      if (!narrow.ok()) continue;
      auto scheduled = plan::ScheduledPlan::make(graph, *std::move(narrow));
      if (!scheduled.ok()) continue;
      plan::Prediction one = plan::predict(made.name, *std::move(scheduled), cluster_);
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

}  // namespace shoal::shrink
