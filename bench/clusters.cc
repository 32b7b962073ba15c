// What clusters save of the traffic of sparse fully-connected layers, one JSON line per pattern and
// number of workers: random patterns, which have no clusters, and planted blocks with outliers,
// with and without dead inputs. The hub does not compute, or it is as fast as a worker and values
// take no time, or they take the time of a phone on Wi-Fi (16.4 ns for a non-zero, 697 ns
// for a value), or the first worker is the hub, with the same times.
#include "shoal/plan/sparse/clusters.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "shoal/base/math/random.h"

namespace shoal::plan {
namespace {

struct Case {
  const char* name = "";
  size_t rows = 4096;
  size_t columns = 4096;
  double inside = 0;   // density of the planted blocks, as many as workers
  double outside = 0;  // of the rest
  double dead_inputs = 0;
  double dead_outputs = 0;
};

// Rows and columns of a block are those whose numbers have the same remainder.
std::vector<float> weight_of(const Case& pattern, size_t blocks) {
  const RandomStream random(7, blocks);
  const auto chance = [&](uint64_t stream, size_t i) {
    return static_cast<double>(random.child(stream)[i] >> 11) * 0x1p-53;
  };
  std::vector<float> weight(pattern.rows * pattern.columns, 0);
  std::vector<bool> dead(pattern.columns);
  for (size_t c = 0; c < pattern.columns; ++c) dead[c] = chance(0, c) < pattern.dead_inputs;
  for (size_t r = 0; r < pattern.rows; ++r) {
    if (chance(1, r) < pattern.dead_outputs) continue;
    for (size_t c = 0; c < pattern.columns; ++c) {
      const double density = r % blocks == c % blocks ? pattern.inside : pattern.outside;
      const size_t i = r * pattern.columns + c;
      if (!dead[c] && chance(2, i) < density) weight[i] = 1;
    }
  }
  return weight;
}

void measure(const Case& pattern, const SparsePattern& live, const char* hub,
             const ClusterWorkers& workers) {
  const size_t parts = workers.speeds.size();
  const auto begin = std::chrono::steady_clock::now();
  const auto clusters = make_clusters(live, workers, 1);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const ClusterTraffic traffic = traffic_of(live, *clusters, workers);
  std::printf(
      "{\"pattern\": \"%s\", \"workers\": %zu, \"hub\": \"%s\", \"values\": %zu, \"dense\": %zu, "
      "\"saved_percent\": %.1f, \"ceiling_percent\": %.1f, \"imbalance\": %.3f, "
      "\"hub_work_percent\": %.1f, \"seconds\": %.2f}\n",
      pattern.name, parts, hub, traffic.values, traffic.dense, 100 * traffic.saved(),
      100 * traffic.ceiling(), imbalance(traffic, workers.speeds),
      100 * static_cast<double>(traffic.hub_work) / static_cast<double>(live.targets.size()),
      spent.count());
  std::fflush(stdout);
}

}  // namespace
}  // namespace shoal::plan

int main(int count, char** arguments) {
  using shoal::plan::Case;
  const std::vector<Case> cases = {
      {.name = "random90", .inside = 0.1, .outside = 0.1},
      {.name = "random93", .inside = 0.07, .outside = 0.07},
      {.name = "random96", .inside = 0.04, .outside = 0.04},
      {.name = "random96-dead30", .inside = 0.04, .outside = 0.04, .dead_inputs = 0.3},
      {.name = "planted", .inside = 0.15, .outside = 0.002},
      {.name = "planted-dead30", .inside = 0.15, .outside = 0.002, .dead_inputs = 0.3},
      {.name = "planted-dead30+30",
       .inside = 0.15,
       .outside = 0.002,
       .dead_inputs = 0.3,
       .dead_outputs = 0.3},
      {.name = "fc8-planted-dead30",
       .rows = 1000,
       .inside = 0.12,
       .outside = 0.002,
       .dead_inputs = 0.3},
  };
  for (const Case& pattern : cases) {
    if (count > 1 && std::string(arguments[1]) != pattern.name) continue;
    for (size_t workers = 2; workers <= 4; ++workers) {
      const auto live =
          shoal::plan::pattern_of(shoal::plan::weight_of(pattern, workers), pattern.rows);
      const std::vector<double> speeds(workers, 1 / 16.4e-9);
      measure(pattern, live, "none", {.speeds = speeds});
      measure(pattern, live, "even", {.speeds = speeds, .hub_speed = speeds[0]});
      measure(pattern, live, "phone",
              {.speeds = speeds, .hub_speed = speeds[0], .seconds_per_value = 697e-9});
      measure(pattern, live, "worker",
              {.speeds = speeds, .seconds_per_value = 697e-9, .first_is_hub = true});
    }
  }
}
