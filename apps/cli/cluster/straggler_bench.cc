// The bench of stragglers: the same request to a plan that goes on with the first answers that
// suffice, and to one that waits for all, while another worker is slow each time.
#include "straggler_bench.h"

#include <cstdio>
#include <random>
#include <thread>

#include "../model.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cluster_access.h"
#include "exit_codes.h"
#include "shoal/base/latency_recorder.h"
#include "shoal/graph/random_inputs.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;
using cluster::RemotePlan;
using plan::Prediction;

// A plan, and what it took.
struct Contender {
  Prediction prediction;
  std::unique_ptr<RemotePlan> deployed = nullptr;
  LatencyRecorder took = {};
};

class Race {
 public:
  Race(ClusterAccess& access, double times) : access_(access), times_(times) {}

  Status run(Contender& coded, Contender& waiting, double seconds) {
    for (Contender* one : {&coded, &waiting}) {
      SHOAL_ASSIGN(one->deployed, access_.coordinator().deploy(one->prediction.scheduled));
    }
    const std::chrono::duration<double> pause(times_ * longest_task(coded.prediction) *
                                              access_.dilation());
    const ShapedLinks shaped(access_);
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      const auto& workers = access_.coordinator().workers();
      const std::string slow = workers[random_() % workers.size()].name;
      SHOAL_TRY(access_.slow_down(slow, times_));
      SHOAL_TRY(ask(coded));
      // The slow worker must have finished its task before the next contender begins.
      std::this_thread::sleep_for(pause);
      SHOAL_TRY(ask(waiting));
    }
    return {};
  }

 private:
  static double longest_task(const Prediction& prediction) {
    double longest = 0;
    for (const auto& tasks : prediction.timeline.tasks) {
      for (const plan::Span& task : tasks) longest = std::max(longest, task.end - task.begin);
    }
    return longest;
  }

  Status ask(Contender& one) {
    constexpr std::chrono::minutes kTimeout{2};
    const Graph& graph = one.prediction.graph();
    const std::vector<Tensor> inputs = random_inputs(graph, random_);
    std::vector<Tensor> outputs(graph.outputs().size());
    const auto begin = Clock::now();
    SHOAL_TRY(one.deployed->run(inputs, outputs, kTimeout));
    const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
    one.took.add(took.count() / access_.dilation());
    return {};
  }

  ClusterAccess& access_;
  const double times_;
  std::mt19937 random_{7};
};

// One worker fewer and nobody to spare, so that it computes as much on each of them.
PlanFlags without_spare(const PlanFlags& flags, size_t workers) {
  PlanFlags plain = flags;
  plain.survive = 0;
  for (int i = 0; i < flags.survive; ++i) {
    plain.excluded.push_back(static_cast<int>(workers) - 1 - i);
  }
  return plain;
}

void print(const Contender& coded, const Contender& waiting, bool as_json) {
  const auto less = [](double a, double b) { return 1 - a / b; };
  if (as_json) {
    const Json result = {
        {"requests", coded.took.count()},
        {"mean_ms", coded.took.mean()},
        {"p99_ms", coded.took.quantile(0.99)},
        {"waiting_mean_ms", waiting.took.mean()},
        {"waiting_p99_ms", waiting.took.quantile(0.99)},
        {"mean_saved", less(coded.took.mean(), waiting.took.mean())},
        {"p99_saved", less(coded.took.quantile(0.99), waiting.took.quantile(0.99))}};
    std::printf("%s\n", result.dump().c_str());
    return;
  }
  Table table({"", "plan", "requests", "mean ms", "p99 ms"});
  const auto add = [&](const char* what, const Contender& one) {
    table.add({what, one.prediction.name, std::to_string(one.took.count()),
               fixed(one.took.mean(), 1), fixed(one.took.quantile(0.99), 1)});
  };
  add("the first that are enough", coded);
  add("all, one worker fewer", waiting);
  table.print();
}

}  // namespace

Outcome bench_stragglers(const ClusterBenchFlags& flags) {
  auto opened = ClusterAccess::open(flags.plan);
  if (!opened.ok()) return fail(exit_of_cluster(opened.status()), opened.status());
  const auto access = *std::move(opened);
  if (!access->emulated() || flags.plan.survive == 0) {
    return {Exit::kUsage, "--stragglers is for emulated workers and --survive"};
  }
  const auto profile = [&](const Graph& graph) { return access->profile(graph); };
  SHOAL_OR_EXIT(Planned coded, Exit::kModel, make_planned(flags.plan, profile));
  const size_t workers = access->coordinator().worker_count();
  SHOAL_OR_EXIT(Planned plain, Exit::kModel,
                make_planned(without_spare(flags.plan, workers), profile));
  Contender first{coded.best()}, all{plain.best()};
  const Status status = Race(*access, flags.stragglers).run(first, all, flags.seconds);
  if (!status.ok()) return fail(exit_of(status), status);
  print(first, all, flags.json);
  return {};
}

}  // namespace shoal::cli
