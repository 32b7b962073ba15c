#include "cluster_bench.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "../model.h"
#include "../plan_picture.h"
#include "../progress.h"
#include "../table.h"
#include "balance_bench.h"
#include "cluster_access.h"
#include "exit_codes.h"
#include "shoal/base/atomic_file.h"
#include "shoal/emulate/dilation.h"
#include "shoal/graph/random_inputs.h"
#include "shoal/tensor/compare.h"
#include "straggler_bench.h"
#include "stream_bench.h"

namespace shoal::cli {
namespace {

using cluster::RemotePlan;
using plan::Prediction;
using plan::Timeline;

// A plan that has been carried out a few times.
struct Measured {
  std::vector<Timeline> runs;
  std::vector<Tensor> answer;

  // The run in the middle, in the time of the workers' world.
  const Timeline& median() const { return runs[runs.size() / 2]; }
};

Timeline undilated(Timeline timeline, double dilation) {
  timeline.seconds /= dilation;
  const auto shrink = [&](plan::Span& span) {
    span = {span.begin / dilation, span.end / dilation};
  };
  for (auto& segment : timeline.tasks) std::ranges::for_each(segment, shrink);
  std::ranges::for_each(timeline.transfers, shrink);
  for (double& seconds : timeline.compute_seconds) seconds /= dilation;
  for (double& seconds : timeline.transfer_seconds) seconds /= dilation;
  return timeline;
}

class Bench {
 public:
  Bench(ClusterAccess& access, const Planned& planned) : access_(access), planned_(planned) {
    std::mt19937 rng(1);
    inputs_ = random_inputs(planned.single.graph(), rng);
  }

  Status deploy() {
    SHOAL_ASSIGN(one_, deploy(planned_.single));
    SHOAL_ASSIGN(all_, deploy(planned_.best()));
    return {};
  }

  // One worker and all of them take turns, so that both find the same machine.
  Result<ClusterFigures> run(double seconds) {
    const ShapedLinks shaped(access_);
    SHOAL_TRY(measure(*all_, planned_.best(), many_));  // the first finds caches cold
    single_.runs.clear();
    many_.runs.clear();
    const auto begin = std::chrono::steady_clock::now();
    const auto limit = std::chrono::duration<double>(seconds);
    Progress progress("bench", static_cast<size_t>(seconds * 10));
    do {
      SHOAL_TRY(measure(*one_, planned_.single, single_));
      SHOAL_TRY(measure(*all_, planned_.best(), many_));
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      progress.at(static_cast<size_t>(passed.count() * 10));
    } while (many_.runs.size() < kFewest || std::chrono::steady_clock::now() - begin < limit);
    for (Measured* measured : {&single_, &many_}) {
      std::ranges::sort(measured->runs, {}, &Timeline::seconds);
    }
    SHOAL_TRY(compare_answers());
    return ClusterFigures{single_.median(), many_.median(), many_.runs.size(), access_.dilation(),
                          lateness()};
  }

  // What run() takes at least, in the time of the workers' world.
  double least_seconds() const {
    return (kFewest + 1) * (planned_.single.timeline.seconds + planned_.best().timeline.seconds);
  }

 private:
  static constexpr size_t kFewest = 3;

  // Of emulated devices (emulate/dilation.h).
  double lateness() const {
    if (!access_.emulated()) return 0;
    return std::max(lateness_of(planned_.single, single_.median()),
                    lateness_of(planned_.best(), many_.median()));
  }

  Result<std::unique_ptr<RemotePlan>> deploy(const Prediction& prediction) {
    return access_.coordinator().deploy(prediction.scheduled, true);
  }

  Status measure(RemotePlan& plan, const Prediction& prediction, Measured& measured) {
    const auto expected =
        std::chrono::duration<double>(prediction.timeline.seconds * access_.dilation());
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(5 * expected) + kSlack;
    std::this_thread::sleep_for(access_.lull());  // a request finds radios asleep
    std::vector<Tensor> outputs(prediction.graph().outputs().size());
    Timeline timeline;
    SHOAL_TRY(plan.run(inputs_, outputs, timeout, &timeline));
    measured.runs.push_back(undilated(std::move(timeline), access_.dilation()));
    measured.answer = std::move(outputs);
    return {};
  }

  // A wrong answer has no time.
  Status compare_answers() const {
    const double allowed = kSameAnswer + planned_.best().error;
    for (size_t i = 0; i < many_.answer.size(); ++i) {
      if (!Floats::contains(many_.answer[i].dtype())) continue;  // what rounding may decide
      if (relative_error(many_.answer[i], single_.answer[i]) <= allowed) continue;
      return Status(Code::kInternal, "the cluster's answer is not that of one worker");
    }
    return {};
  }

  static double lateness_of(const Prediction& prediction, const Timeline& measured) {
    return emulate::lateness_of(prediction.plan(), prediction.timeline, measured);
  }

  static constexpr std::chrono::seconds kSlack{60};

  ClusterAccess& access_;
  const Planned& planned_;
  std::vector<Tensor> inputs_;
  std::unique_ptr<RemotePlan> one_, all_;
  Measured single_, many_;
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

nlohmann::json to_json(const Planned& planned, const ClusterFigures& figures) {
  nlohmann::json result = to_json(planned);
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

// What was planned, with the times that it took.
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
  std::printf("%s\n", advice(planned).c_str());
}

}  // namespace

Result<ClusterFigures> measure(ClusterAccess& access, const Planned& planned, double seconds,
                               bool strict) {
  Bench bench(access, planned);
  SHOAL_TRY(bench.deploy());
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
