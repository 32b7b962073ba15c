// How long planning takes, one JSON line per network and cluster: of several, the best and the
// median, with what the plan should bring.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {
namespace {

void measure(const char* model, size_t workers, const char* device, const char* link) {
  constexpr int kRuns = 3;
  const Graph graph = *passes::optimize(*zoo::build(model));
  const ClusterProfile cluster = uniform_cluster(workers, *find_device(device), *find_link(link));
  std::vector<double> seconds;
  double speedup = 0;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto plans = make_plans(graph, cluster);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    seconds.push_back(spent.count());
    const auto one = plan_for_one(graph, cluster, 0);
    speedup = one->timeline.seconds / plans->front().timeline.seconds;
  }
  std::ranges::sort(seconds);
  std::printf(
      "{\"model\": \"%s\", \"workers\": %zu, \"device\": \"%s\", \"link\": \"%s\", "
      "\"best_s\": %.3f, \"median_s\": %.3f, \"speedup\": %.2f}\n",
      model, workers, device, link, seconds.front(), seconds[kRuns / 2], speedup);
}

}  // namespace
}  // namespace shoal::plan

int main() {
  using shoal::plan::measure;
  measure("vgg16", 4, "nexus5", "wifi-43.8");
  measure("vgg16", 16, "pi4", "gigabit");
  measure("resnet50", 16, "pi4", "gigabit");
  measure("resnet50", 64, "pi4", "gigabit");
  return 0;
}
