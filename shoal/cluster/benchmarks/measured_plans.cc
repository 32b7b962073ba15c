#include "shoal/cluster/benchmarks/measured_plans.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "shoal/base/text/number_text.h"
#include "shoal/cluster/benchmarks/measured_stream.h"
#include "shoal/cluster/benchmarks/plan_race.h"
#include "shoal/plan/search/choices.h"

namespace shoal::emulate {
namespace {

using plan::Prediction;
using plan::Timeline;

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

std::string measured_again(cluster::Coordinator& coordinator) {
  std::string names;
  const std::vector<cluster::WorkerInfo> workers = coordinator.workers();
  for (int lost : coordinator.lost()) {
    names += (names.empty() ? " without " : ", ") + workers[static_cast<size_t>(lost)].name;
  }
  return "workers have changed: planned and measured again" + names;
}

// Both plans in turns, in the motion that the devices have now.
Result<PlanFigures> race_once(ClusterAccess& access, cluster::PlanRace& race,
                              const MeasureOptions& options) {
  const ShapedLinks shaped(access);
  SHOAL_ASSIGN(const cluster::RaceResult result,
               race.run({.seconds = options.seconds,
                         .dilation = access.dilation(),
                         // A request finds radios asleep.
                         .before_request = [&] { std::this_thread::sleep_for(access.lull()); },
                         .progress = options.progress,
                         .begins_again =
                             [&] {
                               if (options.note) options.note(measured_again(access.coordinator()));
                             }}));
  const auto late = [&](const Prediction& prediction, const Timeline& measured) {
    if (!access.emulated()) return 0.0;
    return lateness_of(prediction.plan(), prediction.timeline, measured);
  };
  return PlanFigures{
      result.first, result.second, result.rounds, access.dilation(),
      std::max(late(race.first(), result.first), late(race.second(), result.second))};
}

// The two plans, made again for other workers when one is lost or comes. Where no worker has the
// memory for everything, both are the plan for all: that of a single one cannot be deployed.
Result<std::unique_ptr<cluster::PlanRace>> deploy(ClusterAccess& access,
                                                  const plan::Comparison& made,
                                                  const plan::PlanOptions& how) {
  const auto graph = std::make_shared<const Graph>(made.single.graph());
  const auto plan_again = [&access, graph, how](const cluster::Workers& set,
                                                bool single) -> Result<Prediction> {
    SHOAL_ASSIGN(const plan::ClusterProfile profile, access.connection().profile(*graph, set));
    const plan::PlanOptions its = plan::for_workers(how, set, profile);
    if (single) {
      SHOAL_ASSIGN(plan::BestWorker best, plan::plan_for_best(*graph, profile, its.excluded));
      return std::move(best.plan);
    }
    SHOAL_ASSIGN(std::vector<Prediction> plans, plan::make_plans(*graph, profile, its));
    return std::move(plans.front());
  };
  const bool single = made.single_fits;
  return cluster::PlanRace::deploy(
      access.coordinator(),
      {single ? made.single : made.best(),
       [plan_again, single](const cluster::Workers& set) { return plan_again(set, single); }},
      {made.best(), [plan_again](const cluster::Workers& set) { return plan_again(set, false); }});
}

}  // namespace

Result<PlanFigures> measure_plans(ClusterAccess& access, plan::Comparison& made,
                                  const plan::PlanOptions& how, const MeasureOptions& options) {
  SHOAL_ASSIGN(const auto race, deploy(access, made, how));
  const auto say = [&](const std::string& note) {
    if (options.note) options.note(note);
  };
  const double slowdown = access.connection().slowdown();
  const double initial = access.dilation();
  double late = 0;  // by the last measurement
  const auto run = [&](double dilation) {
    if (dilation != initial) {
      say("emulated devices were " + percent(late) + " late: measured again, " +
          fixed(dilation, 1) + " times as slow");
      access.set_dilation(dilation);
    }
    auto figures = race_once(access, *race, options);
    if (figures.ok()) late = figures->lateness;
    return figures;
  };
  auto best =
      options.strict ? run(initial) : measure_least_late(initial, race->least_seconds(), run);
  if (access.dilation() != initial) access.set_dilation(initial);
  if (!best.ok()) return best;
  made.plans.front() = race->second();
  if (made.single_fits) {
    made.single = race->first();
  } else {
    best->single = made.single.timeline;  // cannot be measured
  }
  best->slowdown = slowdown;
  best->shares_machine = access.connection().shares_machine();
  if (best->lateness <= kGoodLateness) return best;
  if (options.strict) {
    return Status(Code::kExhausted,
                  "this machine is too busy to be so many devices: a request took " +
                      percent(late) + " longer for it; try a larger --dilate");
  }
  say("this machine is busy: measured times are up to " + percent(best->lateness) + " too long");
  return best;
}

plan::Evidence evidence_of(const plan::Comparison& made, const PlanFigures& figures) {
  return {.predicted_speedup = made.speedup(),
          .measured_speedup = figures.speedup(),
          .slowdown_then = plan::largest_slowdown(made.cluster),
          .slowdown_now = figures.slowdown,
          .shares_machine = figures.shares_machine};
}

void judge_profiles(const ClusterAccess& access, const plan::Comparison& made,
                    const PlanFigures& figures) {
  const Graph& graph = made.single.graph();
  access.connection().compare(graph, made.single.timeline.seconds, figures.single.seconds);
  if (conclude(evidence_of(made, figures)).needs_profile()) {
    access.connection().forget_profiles(graph);
  }
}

Result<double> measure_stream(ClusterAccess& access, const plan::StreamComparison& made,
                              const plan::StreamOptions& how, bool forced) {
  // When a worker is lost or comes.
  const auto plan_again = [&](const cluster::Workers& set) -> Result<plan::StreamPrediction> {
    plan::StreamOptions others = how;
    for (int w = 0; w < std::ssize(made.cluster.workers); ++w) {
      if (!set.contains(w)) others.excluded.push_back(w);
    }
    others.survive = std::clamp(static_cast<int>(set.size()) - 1, 0, how.survive);
    SHOAL_ASSIGN(plan::ClusterProfile profile, access.connection().profile(made.graph, set));
    SHOAL_ASSIGN(plan::StreamComparison again,
                 plan::compare_streams(made.graph, std::move(profile), others, forced));
    return std::move(again.plans.front());
  };
  SHOAL_ASSIGN(const auto stream,
               cluster::MeasuredStream::deploy(access.coordinator(), made.best(), plan_again));
  const ShapedLinks shaped(access);
  return stream->period(access.dilation());
}

}  // namespace shoal::emulate
