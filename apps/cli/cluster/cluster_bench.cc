// The bench of one plan. Both contenders are deployed at once and asked in turn, so that changes of
// the machine's load meet both.
#include "cluster_bench.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "../exit_codes.h"
#include "../progress.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cluster_access.h"
#include "shoal/base/atomic_file.h"
#include "shoal/cluster/plan_race.h"
#include "shoal/emulate/dilation.h"
#include "shoal/plan/search/conclusion.h"
#include "shoal/plan/search/subset.h"
#include "shoal/report/plan_page.h"

namespace shoal::cli {
namespace {

using plan::Prediction;
using plan::Timeline;

void say_measured_again(cluster::Coordinator& coordinator) {
  std::string names;
  const std::vector<cluster::WorkerInfo> workers = coordinator.workers();
  for (int lost : coordinator.lost()) {
    names += (names.empty() ? " without " : ", ") + workers[static_cast<size_t>(lost)].name;
  }
  std::fprintf(stderr, "workers have changed: planned and measured again%s\n", names.c_str());
}

// Both plans in turns, in the motion that the devices have now.
Result<ClusterFigures> race_once(ClusterAccess& access, cluster::PlanRace& race, double seconds) {
  const ShapedLinks shaped(access);
  ProgressBar progress("bench", static_cast<size_t>(seconds * 10));
  SHOAL_ASSIGN(const cluster::RaceResult result,
               race.run({.seconds = seconds,
                         .dilation = access.dilation(),
                         // A request finds radios asleep.
                         .before_request = [&] { std::this_thread::sleep_for(access.lull()); },
                         .progress = [&](double at) { progress.at(static_cast<size_t>(at * 10)); },
                         .begins_again = [&] { say_measured_again(access.coordinator()); }}));
  const auto late = [&](const Prediction& prediction, const Timeline& measured) {
    if (!access.emulated()) return 0.0;
    return emulate::lateness_of(prediction.plan(), prediction.timeline, measured);
  };
  return ClusterFigures{
      result.first, result.second, result.rounds, access.dilation(),
      std::max(late(race.first(), result.first), late(race.second(), result.second))};
}

// The two plans, made again for other workers when one is lost or comes. Where no worker has the
// memory for everything, both are the plan for all: that of a single one cannot be deployed.
Result<std::unique_ptr<cluster::PlanRace>> deploy(ClusterAccess& access, const Planned& planned) {
  const auto graph = std::make_shared<const Graph>(planned.single.graph());
  const auto plan_again = [&access, graph, options = planned.options](
                              const cluster::Workers& set, bool single) -> Result<Prediction> {
    SHOAL_ASSIGN(const plan::ClusterProfile profile, access.connection().profile(*graph, set));
    const plan::PlanOptions its = plan::for_workers(options, set, profile);
    if (single) {
      SHOAL_ASSIGN(plan::BestWorker best, plan::plan_for_best(*graph, profile, its.excluded));
      return std::move(best.plan);
    }
    SHOAL_ASSIGN(std::vector<Prediction> plans, plan::make_plans(*graph, profile, its));
    return std::move(plans.front());
  };
  const bool single = planned.single_fits;
  return cluster::PlanRace::deploy(
      access.coordinator(),
      {single ? planned.single : planned.best(),
       [plan_again, single](const cluster::Workers& set) { return plan_again(set, single); }},
      {planned.best(),
       [plan_again](const cluster::Workers& set) { return plan_again(set, false); }});
}

plan::Evidence evidence_of(const Planned& planned, const ClusterFigures& figures) {
  return {.predicted_speedup = planned.speedup(),
          .measured_speedup = figures.single.seconds / figures.many.seconds,
          .slowdown_then = plan::largest_slowdown(planned.cluster),
          .slowdown_now = figures.slowdown,
          .shares_machine = figures.shares_machine};
}

std::string conclusion_of(const Planned& planned, const ClusterFigures& figures) {
  return plan::conclusion_text(with_measured(planned, figures.single, figures.many),
                               evidence_of(planned, figures));
}

Json to_json(const Planned& planned, const ClusterFigures& figures) {
  Json result = to_json(planned);
  const Timeline &one = figures.single, &all = figures.many;
  result["single_ms"] = 1e3 * one.seconds;
  result["cluster_ms"] = 1e3 * all.seconds;
  result["speedup"] = one.seconds / all.seconds;
  result["predicted_speedup"] = planned.speedup();
  result["advice"] = conclusion_of(planned, figures);
  result["single_predicted_ms"] = 1e3 * planned.single.timeline.seconds;
  result["rounds"] = figures.rounds;
  result["dilation"] = figures.dilation;
  result["lateness"] = figures.lateness;
  for (size_t w = 0; w < all.compute_seconds.size(); ++w) {
    result["workers"][w]["compute_ms"] = 1e3 * all.compute_seconds[w];
    result["workers"][w]["transfer_ms"] = 1e3 * all.transfer_seconds[w];
  }
  return result;
}

void print(const Planned& planned, const ClusterFigures& figures) {
  const Prediction& best = planned.best();
  Table segments({"nodes", "split", "predicted ms", "measured ms"});
  for (size_t s = 0; s < best.plan().segments.size(); ++s) {
    const plan::Segment& segment = best.plan().segments[s];
    segments.add(
        {std::to_string(segment.nodes.begin) + " to " + std::to_string(segment.nodes.end - 1),
         segment.split, fixed(1e3 * best.timeline.segment_seconds(s), 1),
         fixed(1e3 * figures.many.segment_seconds(s), 1)});
  }
  segments.print();
  std::printf("\n");
  Table workers({"worker", "compute ms", "transfer ms"});
  for (size_t w = 0; w < planned.cluster.workers.size(); ++w) {
    workers.add({planned.cluster.workers[w].name, fixed(1e3 * figures.many.compute_seconds[w], 1),
                 fixed(1e3 * figures.many.transfer_seconds[w], 1)});
  }
  workers.print();
  std::printf("\n");
  Table table({"", "predicted ms", "measured ms"});
  table.add({"one worker", fixed(1e3 * planned.single.timeline.seconds, 1),
             planned.single_fits ? fixed(1e3 * figures.single.seconds, 1) : "no memory"});
  table.add(
      {best.name, fixed(1e3 * best.timeline.seconds, 1), fixed(1e3 * figures.many.seconds, 1)});
  table.add({"speed-up", fixed(planned.speedup(), 2),
             fixed(figures.single.seconds / figures.many.seconds, 2)});
  table.print();
  std::printf("%s\n", conclusion_of(planned, figures).c_str());
}

}  // namespace

Result<ClusterFigures> measure(ClusterAccess& access, Planned& planned, double seconds,
                               bool strict) {
  SHOAL_ASSIGN(const auto race, deploy(access, planned));
  const double slowdown = access.connection().slowdown();
  const auto percent = [](double share) { return fixed(100 * share, 0) + " %"; };
  const double initial = access.dilation();
  double late = 0;  // by the last measurement
  const auto run = [&](double dilation) {
    if (dilation != initial) {
      std::fprintf(stderr, "emulated devices were %s late: measured again, %.1f times as slow\n",
                   percent(late).c_str(), dilation);
      access.set_dilation(dilation);
    }
    auto figures = race_once(access, *race, seconds);
    if (figures.ok()) late = figures->lateness;
    return figures;
  };
  auto best =
      strict ? run(initial) : emulate::measure_least_late(initial, race->least_seconds(), run);
  if (access.dilation() != initial) access.set_dilation(initial);
  if (!best.ok()) return best;
  planned.plans.front() = race->second();
  if (planned.single_fits) {
    planned.single = race->first();
  } else {
    best->single = planned.single.timeline;  // nobody can measure it
  }
  best->slowdown = slowdown;
  best->shares_machine = access.connection().shares_machine();
  if (best->lateness <= emulate::kGoodLateness) return best;
  if (strict) {
    return Status(Code::kExhausted,
                  "this machine is too busy to be so many devices: a request took " +
                      percent(late) + " longer for it; try a larger --dilate");
  }
  std::fprintf(stderr, "this machine is busy: measured times are up to %s too long\n",
               percent(best->lateness).c_str());
  return best;
}

Outcome bench_cluster(const ClusterBenchFlags& flags) {
  if (flags.balance && !flags.plan.is_stream()) {
    return {Exit::kUsage, "--balance is for --objective throughput"};
  }
  if (!flags.deployed.empty()) return bench_deployment(flags);
  if (flags.stragglers > 1) return bench_stragglers(flags);
  if (flags.plan.verify > 0) return bench_verify(flags);
  if (flags.plan.is_stream()) return flags.balance ? bench_balance(flags) : bench_stream(flags);
  auto opened = ClusterAccess::open(flags.plan);
  if (!opened.ok()) return fail(Doing::kConnect, opened.status());
  const auto access = *std::move(opened);
  auto made = make_planned(flags.plan, [&](const Graph& graph) { return access->profile(graph); });
  if (!made.ok()) return fail(Doing::kRun, made.status());
  Planned& planned = *made;
  const auto figures = measure(*access, planned, flags.seconds, flags.strict);
  if (!figures.ok()) return fail(Doing::kTalk, figures.status());
  access->connection().compare(planned.single.graph(), planned.single.timeline.seconds,
                               figures->single.seconds);
  if (conclude(evidence_of(planned, *figures)).needs_profile()) {
    access->connection().forget_profiles(planned.single.graph());
  }
  if (!flags.html.empty()) {
    const auto measured = with_measured(planned, figures->single, figures->many);
    const Status written = write_file(flags.html, report::plan_page(planned.model, measured));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  flags.json ? print_json(to_json(planned, *figures)) : print(planned, *figures);
  return {};
}

}  // namespace shoal::cli
