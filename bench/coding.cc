// What coding costs a request: one JSON line per network, with the time that a reader takes to
// decode a lost share of every coded layer, beside what the same machine takes for the tasks of one
// worker. Encoding is done once, when a plan is made, and its time is only for information.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/coding/erasure.h"
#include "shoal/plan/coding/protect.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {
namespace {

// The median of a few calls after one that does not count.
template <class F>
double seconds_of_call(F call) {
  constexpr size_t kCalls = 7;
  std::vector<double> seconds;
  call();
  for (size_t i = 0; i < kCalls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    seconds.push_back(spent.count());
  }
  std::ranges::sort(seconds);
  return seconds[kCalls / 2];
}

// Of as many lost data as there are parities, by one reader.
double decode_seconds(const Graph& graph, const ErasureCode& code) {
  std::vector<bool> here(code.data.size() + code.parity.size(), true);
  std::fill_n(here.begin(), code.parity.size(), false);
  std::vector<Tensor> members;
  for (const std::vector<ValueId>* ids : {&code.data, &code.parity}) {
    for (ValueId id : *ids) members.push_back(Tensor(graph[id].type));
  }
  return seconds_of_call([&] {
    const auto recoveries = find_recoveries(code.coefficients, here);
    for (const Recovery& recovery : *recoveries) {
      const int64_t length = members[recovery.data].shape()[code.axis];
      static_cast<void>(recover(recovery, members, code.axis, length));
    }
  });
}

double compute_seconds(const Protected& made, const Schedule& schedule, int worker,
                       Device& device) {
  double seconds = 0;
  for (size_t s = 0; s < made.plan.segments.size(); ++s) {
    for (size_t t = 0; t < made.plan.segments[s].tasks.size(); ++t) {
      if (made.plan.segments[s].tasks[t].worker != worker) continue;
      const auto executable = *device.compile(*to_graph(made.graph, schedule.parts[s][t]));
      std::vector<Tensor> inputs, outputs(executable->graph().outputs().size());
      for (ValueId id : executable->graph().inputs()) {
        inputs.push_back(Tensor(executable->graph()[id].type));
      }
      seconds += seconds_of_call([&] { static_cast<void>(executable->run(inputs, outputs, {})); });
    }
  }
  return seconds;
}

void measure(const char* model, int losses) {
  const Graph graph = *passes::optimize(*zoo::build(model));
  const size_t workers = 4 + static_cast<size_t>(losses);
  const ClusterProfile cluster =
      uniform_cluster(workers, *find_device("pi4"), *find_link("gigabit"));
  PlanOptions options;
  options.forced = true;
  options.cuts = {Cut::kChannels};
  std::vector<int> all;
  for (int w = 0; w < static_cast<int>(workers); ++w) {
    all.push_back(w);
    if (w >= 4) options.excluded.push_back(w);
  }
  const auto plans = make_plans(graph, cluster, options);
  const auto begin = std::chrono::steady_clock::now();
  const Protected made = *protect(graph, plans->front().plan(), losses, all);
  const std::chrono::duration<double> encode = std::chrono::steady_clock::now() - begin;
  double decode = 0;
  for (const ErasureCode& code : made.plan.codes) decode += decode_seconds(made.graph, code);
  const auto device = make_cpu_device({.threads = 1});
  const double compute = compute_seconds(made, *make_schedule(made.graph, made.plan), 0, *device);
  std::printf(
      "{\"model\": \"%s\", \"losses\": %d, \"codes\": %zu, \"decode_ms\": %.3f, "
      "\"compute_ms\": %.3f, \"decode_percent\": %.2f, \"encode_once_ms\": %.0f}\n",
      model, losses, made.plan.codes.size(), 1e3 * decode, 1e3 * compute, 100 * decode / compute,
      1e3 * encode.count());
}

}  // namespace
}  // namespace shoal::plan

int main() {
  using shoal::plan::measure;
  for (const char* model : {"alexnet", "vgg16"}) {
    for (int losses : {1, 2}) measure(model, losses);
  }
  return 0;
}
