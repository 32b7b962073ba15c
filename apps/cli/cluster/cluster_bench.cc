#include "cluster_bench.h"

#include <algorithm>
#include <cmath>
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
#include "places.h"
#include "shoal/base/atomic_file.h"
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
    for (ValueId id : planned.single.graph.inputs()) {
      inputs_.push_back(random_tensor(planned.single.graph[id].type, rng));
    }
  }

  // One worker and all of them take turns, so that both find the same machine.
  Status run(double seconds) {
    SHOAL_ASSIGN(const auto one, deploy(planned_.single));
    SHOAL_ASSIGN(const auto all, deploy(planned_.best()));
    const ShapedLinks shaped(access_);
    SHOAL_TRY(measure(*all, planned_.best(), many_));  // the first finds caches cold
    many_.runs.clear();
    const auto begin = std::chrono::steady_clock::now();
    const auto limit = std::chrono::duration<double>(seconds);
    Progress progress("bench", static_cast<size_t>(seconds * 10));
    do {
      SHOAL_TRY(measure(*one, planned_.single, single_));
      SHOAL_TRY(measure(*all, planned_.best(), many_));
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      progress.at(static_cast<size_t>(passed.count() * 10));
    } while (many_.runs.size() < kFewest || std::chrono::steady_clock::now() - begin < limit);
    for (Measured* measured : {&single_, &many_}) {
      std::ranges::sort(measured->runs, {}, &Timeline::seconds);
    }
    return compare_answers();
  }

  ClusterFigures figures() const { return {single(), many(), many_.runs.size()}; }

  // Emulated devices whose process got the processor too late give no figures. How much longer than
  // it should the latest of them computed, as a part of the request.
  double lateness() const {
    if (!access_.emulated()) return 0;
    return std::max(lateness_of(planned_.single, single()), lateness_of(planned_.best(), many()));
  }

 private:
  static constexpr size_t kFewest = 3;

  const Timeline& single() const { return single_.median(); }
  const Timeline& many() const { return many_.median(); }

  Result<std::unique_ptr<RemotePlan>> deploy(const Prediction& prediction) {
    return access_.coordinator().deploy(prediction.graph, prediction.plan, true);
  }

  Status measure(RemotePlan& plan, const Prediction& prediction, Measured& measured) {
    const auto expected =
        std::chrono::duration<double>(prediction.timeline.seconds * access_.dilation());
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(5 * expected) + kSlack;
    std::this_thread::sleep_for(access_.lull());  // a request finds radios asleep
    std::vector<Tensor> outputs(prediction.graph.outputs().size());
    Timeline timeline;
    SHOAL_TRY(plan.run(inputs_, outputs, timeout, &timeline));
    measured.runs.push_back(undilated(std::move(timeline), access_.dilation()));
    measured.answer = std::move(outputs);
    return {};
  }

  // A wrong answer has no time.
  Status compare_answers() const {
    const auto allowed = static_cast<float>(1e-4 + planned_.best().error);
    for (size_t i = 0; i < many_.answer.size(); ++i) {
      if (many_.answer[i].dtype() != DType::kF32) continue;
      const auto one = single_.answer[i].data<float>(), all = many_.answer[i].data<float>();
      float largest = 0, error = 0;
      for (size_t k = 0; k < one.size(); ++k) {
        largest = std::max(largest, std::abs(one[k]));
        error = std::max(error, std::abs(one[k] - all[k]));
      }
      if (!(error <= allowed * largest)) {
        return Status(Code::kInternal, "the cluster's answer is not that of one worker");
      }
    }
    return {};
  }

  double lateness_of(const Prediction& prediction, const Timeline& measured) const {
    std::vector<double> late(planned_.cluster.workers.size());
    for (size_t s = 0; s < measured.tasks.size(); ++s) {
      for (size_t t = 0; t < measured.tasks[s].size(); ++t) {
        const plan::Span &planned = prediction.timeline.tasks[s][t], &real = measured.tasks[s][t];
        if (planned.end == 0) continue;  // nobody waited for it
        const auto worker = static_cast<size_t>(prediction.plan.segments[s].tasks[t].worker);
        late[worker] += std::max(0.0, (real.end - real.begin) - (planned.end - planned.begin));
      }
    }
    return std::ranges::max(late) / measured.seconds;
  }

  static constexpr std::chrono::seconds kSlack{60};

  ClusterAccess& access_;
  const Planned& planned_;
  std::vector<Tensor> inputs_;
  Measured single_, many_;
};

nlohmann::json to_json(const Planned& planned, const ClusterFigures& figures, double dilation) {
  nlohmann::json result = to_json(planned);
  const Timeline &one = figures.single, &all = figures.many;
  result["single_ms"] = 1e3 * one.seconds;
  result["cluster_ms"] = 1e3 * all.seconds;
  result["speedup"] = one.seconds / all.seconds;
  result["single_predicted_ms"] = 1e3 * planned.single.timeline.seconds;
  result["rounds"] = figures.rounds;
  result["dilation"] = dilation;
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
  for (size_t s = 0; s < best.plan.segments.size(); ++s) {
    const plan::Segment& segment = best.plan.segments[s];
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

Result<ClusterFigures> measure(ClusterAccess& access, const Planned& planned, double seconds) {
  constexpr double kLate = 0.05;
  Bench bench(access, planned);
  SHOAL_TRY(bench.run(seconds));
  if (const double late = bench.lateness(); late > kLate) {
    return Status(Code::kExhausted,
                  "this machine is too busy to be so many devices: a request took " +
                      fixed(100 * late, 0) + " % longer for it; try a larger --dilate");
  }
  return bench.figures();
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
  const auto figures = measure(*access, planned, flags.seconds);
  if (!figures.ok()) return fail(exit_of(figures.status()), figures.status());
  access->compare(planned.single.graph, planned.single.timeline.seconds, figures->single.seconds);
  if (!flags.html.empty()) {
    const Status written = write_file(flags.html, to_html(as_measured(planned, *figures)));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  if (flags.json) {
    std::printf("%s\n", to_json(planned, *figures, access->dilation()).dump().c_str());
  } else {
    print(planned, *figures);
  }
  return {};
}

}  // namespace shoal::cli
