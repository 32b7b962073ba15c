// The bench of one plan. Both contenders are deployed at once and asked in turn, so that changes of
// the machine's load meet both.
#include "cluster_bench.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "../model.h"
#include "../plan_picture.h"
#include "../progress.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "balance_bench.h"
#include "cluster_access.h"
#include "exit_codes.h"
#include "shoal/base/atomic_file.h"
#include "shoal/cluster/plan_race.h"
#include "shoal/emulate/dilation.h"
#include "straggler_bench.h"
#include "stream_bench.h"

namespace shoal::cli {
namespace {

using plan::Prediction;
using plan::Timeline;

// The measurement of a cluster, and the lateness of emulated devices (emulate/dilation.h).
class Bench {
 public:
  static Result<Bench> deploy(ClusterAccess& access, const Planned& planned) {
    SHOAL_ASSIGN(auto race,
                 cluster::PlanRace::deploy(access.coordinator(), planned.single, planned.best()));
    return Bench(access, planned, std::move(race));
  }

  Result<ClusterFigures> run(double seconds) {
    const ShapedLinks shaped(access_);
    ProgressBar progress("bench", static_cast<size_t>(seconds * 10));
    SHOAL_ASSIGN(
        const cluster::RaceResult result,
        race_->run({.seconds = seconds,
                    .dilation = access_.dilation(),
                    // A request finds radios asleep.
                    .before_request = [&] { std::this_thread::sleep_for(access_.lull()); },
                    .progress = [&](double at) { progress.at(static_cast<size_t>(at * 10)); }}));
    const double late = access_.emulated() ? std::max(lateness(planned_.single, result.first),
                                                      lateness(planned_.best(), result.second))
                                           : 0;
    return ClusterFigures{result.first, result.second, result.rounds, access_.dilation(), late};
  }

  double least_seconds() const { return race_->least_seconds(); }

 private:
  Bench(ClusterAccess& access, const Planned& planned, std::unique_ptr<cluster::PlanRace> race)
      : access_(access), planned_(planned), race_(std::move(race)) {}

  static double lateness(const Prediction& prediction, const Timeline& measured) {
    return emulate::lateness_of(prediction.plan(), prediction.timeline, measured);
  }

  ClusterAccess& access_;
  const Planned& planned_;
  std::unique_ptr<cluster::PlanRace> race_;
};

// Puts the dilation back when it goes.
class InitialDilation {
 public:
  explicit InitialDilation(ClusterAccess& access) : access_(access), dilation_(access.dilation()) {}
  ~InitialDilation() {
    if (access_.dilation() != dilation_) access_.set_dilation(dilation_);
  }
  InitialDilation(const InitialDilation&) = delete;
  InitialDilation& operator=(const InitialDilation&) = delete;

 private:
  ClusterAccess& access_;
  const double dilation_;
};

Json to_json(const Planned& planned, const ClusterFigures& figures) {
  Json result = to_json(planned);
  const Timeline &one = figures.single, &all = figures.many;
  result["single_ms"] = 1e3 * one.seconds;
  result["cluster_ms"] = 1e3 * all.seconds;
  result["speedup"] = one.seconds / all.seconds;
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

double length_of(const std::vector<plan::Span>& tasks) {
  double begin = 1e18, end = 0;
  for (const plan::Span& span : tasks) {
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  return tasks.empty() ? 0 : end - begin;
}

// The plan with measured instead of predicted times.
Planned as_measured(Planned planned, const ClusterFigures& figures) {
  const double wire_bytes = planned.best().timeline.wire_bytes;
  planned.plans[0].timeline = figures.many;
  planned.plans[0].timeline.wire_bytes = wire_bytes;
  planned.single.timeline = figures.single;
  return planned;
}

void print(const Planned& planned, const ClusterFigures& figures) {
  const Prediction& best = planned.best();
  Table segments({"nodes", "split", "predicted ms", "measured ms"});
  for (size_t s = 0; s < best.plan().segments.size(); ++s) {
    const plan::Segment& segment = best.plan().segments[s];
    segments.add(
        {std::to_string(segment.nodes.begin) + " to " + std::to_string(segment.nodes.end - 1),
         segment.split, fixed(1e3 * length_of(best.timeline.tasks[s]), 1),
         fixed(1e3 * length_of(figures.many.tasks[s]), 1)});
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
             fixed(1e3 * figures.single.seconds, 1)});
  table.add(
      {best.name, fixed(1e3 * best.timeline.seconds, 1), fixed(1e3 * figures.many.seconds, 1)});
  table.add({"speed-up", fixed(planned.speedup(), 2),
             fixed(figures.single.seconds / figures.many.seconds, 2)});
  table.print();
  std::printf("%s\n", advice_text(planned).c_str());
}

}  // namespace

Result<ClusterFigures> measure(ClusterAccess& access, const Planned& planned, double seconds,
                               bool strict) {
  SHOAL_ASSIGN(Bench bench, Bench::deploy(access, planned));
  SHOAL_ASSIGN(ClusterFigures best, bench.run(seconds));
  const auto percent = [](double share) { return fixed(100 * share, 0) + " %"; };
  if (strict && best.lateness > emulate::kGoodLateness) {
    return Status(Code::kExhausted,
                  "this machine is too busy to be so many devices: a request took " +
                      percent(best.lateness) + " longer for it; try a larger --dilate");
  }
  const InitialDilation restored(access);
  emulate::DilationSearch search(best.dilation, bench.least_seconds());
  double lateness = best.lateness;
  while (const auto slower = search.next(lateness)) {
    std::fprintf(stderr, "emulated devices were %s late: measured again, %g times as slow\n",
                 percent(lateness).c_str(), *slower);
    access.set_dilation(*slower);
    SHOAL_ASSIGN(const ClusterFigures again, bench.run(seconds));
    lateness = again.lateness;
    if (lateness < best.lateness) best = again;
  }
  if (best.lateness > emulate::kGoodLateness) {
    std::fprintf(stderr, "this machine is busy: measured times are up to %s too long\n",
                 percent(best.lateness).c_str());
  }
  return best;
}

Outcome bench_cluster(const ClusterBenchFlags& flags) {
  if (flags.balance && !flags.plan.is_stream()) {
    return {Exit::kUsage, "--balance is for --objective throughput"};
  }
  if (flags.stragglers > 1) return bench_stragglers(flags);
  if (flags.plan.is_stream()) return flags.balance ? bench_balance(flags) : bench_stream(flags);
  auto opened = ClusterAccess::open(flags.plan);
  if (!opened.ok()) return fail(exit_of_cluster(opened.status()), opened.status());
  const auto access = *std::move(opened);
  const auto made =
      make_planned(flags.plan, [&](const Graph& graph) { return access->profile(graph); });
  if (!made.ok()) return fail(exit_of_run(made.status()), made.status());
  const Planned& planned = *made;
  const auto figures = measure(*access, planned, flags.seconds, flags.strict);
  if (!figures.ok()) return fail(exit_of(figures.status()), figures.status());
  access->connection().compare(planned.single.graph(), planned.single.timeline.seconds,
                               figures->single.seconds);
  if (!flags.html.empty()) {
    const Status written = write_file(flags.html, to_html(as_measured(planned, *figures)));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  if (flags.json) {
    std::printf("%s\n", to_json(planned, *figures).dump().c_str());
  } else {
    print(planned, *figures);
  }
  return {};
}

}  // namespace shoal::cli
