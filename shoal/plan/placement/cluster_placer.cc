#include "shoal/plan/placement/cluster_placer.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/whole_time.h"

namespace shoal::placement {
namespace {

constexpr size_t kMemory = 200;              // frames; older ones count less
constexpr size_t kMostEvaluations = 50'000;  // tens of milliseconds
// Measured figures are rounded up, so that nearly equal streams are equal, and placements are
// stable under noise.
constexpr double kActivityStep = 0.1, kSecondsStep = 0.5e-3;

double rounded_up(double value, double step) { return step * std::ceil(value / step); }

// Adds one to the mean of the last of them.
void add_to_mean(double& mean, double value, size_t count) {
  mean += (value - mean) / static_cast<double>(std::min(count, kMemory));
}

double bytes_of(const Graph& graph, std::span<const ValueId> values) {
  double bytes = 0;
  for (ValueId id : values) bytes += static_cast<double>(graph[id].type.bytes());
  return bytes;
}

// Machine 0 is this one.
std::vector<int> workers_of(const std::vector<Places>& places) {
  std::vector<int> workers;
  for (const Places& one : places) {
    const int machine = place_of(one, Stage::kNetwork);
    workers.push_back(machine != kNowhere ? machine - 1 : kNowhere);
  }
  return workers;
}

}  // namespace

Problem problem_of(const StreamsHere& streams, const Graph& network,
                   const plan::ClusterProfile& cluster, const std::set<int>& workers,
                   const std::vector<double>& activity, double seconds) {
  Problem problem;
  problem.machines.push_back({.name = "here", .link = cluster.coordinator, .cores = streams.cores});
  std::vector<double> look = {kCannot};
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    const plan::WorkerProfile& worker = cluster.workers[w];
    const bool is_there = worker.present && workers.contains(static_cast<int>(w));
    problem.machines.push_back({.name = worker.name,
                                .link = cluster.links[w],
                                .watts = streams.watts,
                                .present = is_there});
    look.push_back(is_there ? plan::seconds_of_whole(network, worker) : kCannot);
  }
  const auto only_here = [&](double here) {
    std::vector<double> all(problem.machines.size(), kCannot);
    all[0] = here;
    return all;
  };
  for (size_t i = 0; i < streams.names.size(); ++i) {
    problem.cameras.push_back({.name = streams.names[i],
                               .rate = streams.rate,
                               .activity = activity[i],
                               .seconds = {only_here(0), only_here(seconds), look, only_here(0)},
                               .bytes = {0, 0, bytes_of(network, network.inputs()),
                                         bytes_of(network, network.outputs()), 0}});
  }
  return problem;
}

ClusterPlacer::ClusterPlacer(StreamsHere streams)
    : streams_(std::move(streams)), known_(streams_.names.size()) {}

void ClusterPlacer::note(size_t stream, bool looked, double seconds_here) {
  const std::lock_guard lock(mutex_);
  Known& known = known_[stream];
  add_to_mean(known.activity, looked ? 1 : 0, ++known.frames);
  add_to_mean(seconds_, seconds_here, ++frames_);
}

std::vector<int> ClusterPlacer::place(const Graph& network, const plan::ClusterProfile& cluster,
                                      const std::set<int>& workers) {
  PlaceOptions options{.most_evaluations = kMostEvaluations};
  Problem problem;
  {
    const std::lock_guard lock(mutex_);
    std::vector<double> activity;
    for (const Known& camera : known_) {
      // A stream at rest may wake up.
      activity.push_back(
          std::clamp(rounded_up(camera.activity, kActivityStep), kActivityStep, 1.0));
    }
    problem = problem_of(streams_, network, cluster, workers, activity,
                         rounded_up(std::max(seconds_, 0.0), kSecondsStep));
    if (problem == problem_) return workers_of(places_);
    options.previous = places_;
  }
  auto placed = placement::place(problem, options);
  // For an invalid profile: requests take turns.
  if (!placed.ok()) return std::vector<int>(streams_.names.size(), kNowhere);
  Decision decision{*std::move(placed), {}};
  std::vector<Places> places;
  for (const Expected& expected : decision.placement.cameras) {
    places.push_back(expected.places);
    const int machine = place_of(expected.places, Stage::kNetwork);
    decision.workers.push_back(
        machine != kNowhere ? problem.machines[static_cast<size_t>(machine)].name : "");
  }
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
  changes_ += places != places_ ? 1 : 0;
  places_ = std::move(places);
  latest_ = std::move(decision);
  return workers_of(places_);
}

ClusterPlacer::Decision ClusterPlacer::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

size_t ClusterPlacer::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

std::string ClusterPlacer::news() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(told_, changes_) == changes_) return "";
  return text_of(latest_, streams_.names);
}

std::string text_of(const ClusterPlacer::Decision& decision,
                    const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const Expected& expected = decision.placement.cameras[i];
    text += names[i] + ": ";
    if (!decision.workers[i].empty()) {
      text += "on " + decision.workers[i] + ", " + fixed(expected.rate, 1) + " frames/s and " +
              fixed(1e3 * expected.latency_seconds, 0) + " ms expected; ";
    }
    text += expected.why + "\n";
  }
  return text;
}

Json to_json(const ClusterPlacer::Decision& decision, size_t stream) {
  if (stream >= decision.workers.size()) return {};
  const Expected& expected = decision.placement.cameras[stream];
  return {{"network", decision.workers[stream]},
          {"expected_fps", expected.rate},
          {"expected_latency_ms", 1e3 * expected.latency_seconds},
          {"expected_joules", expected.joules},
          {"optimal", decision.placement.optimal},
          {"why", expected.why}};
}

}  // namespace shoal::placement
