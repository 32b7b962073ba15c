#include "shoal/placement/cluster_placer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "shoal/plan/whole_time.h"

namespace shoal::placement {
namespace {

constexpr size_t kMemory = 200;              // frames; older ones count less
constexpr size_t kMostEvaluations = 50'000;  // tens of milliseconds
constexpr double kActivityAtLeast = 0.01;    // a stream at rest may wake up

double bytes_of(const Graph& graph, std::span<const ValueId> values) {
  double bytes = 0;
  for (ValueId id : values) bytes += static_cast<double>(graph[id].type.bytes());
  return bytes;
}

}  // namespace

Problem problem_of(const StreamsHere& streams, const Graph& network,
                   const plan::ClusterProfile& cluster, const std::set<int>& workers,
                   const std::vector<double>& activity, const std::vector<double>& seconds) {
  Problem problem{.objective = streams.objective};
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
                               .seconds = {only_here(0), only_here(seconds[i]), look, only_here(0)},
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
  const auto frames = static_cast<double>(std::min(++known.frames, kMemory));
  known.activity += ((looked ? 1 : 0) - known.activity) / frames;
  known.seconds += (seconds_here - known.seconds) / frames;
}

std::vector<int> ClusterPlacer::place(const Graph& network, const plan::ClusterProfile& cluster,
                                      const std::set<int>& workers) {
  std::vector<double> activity, seconds;
  PlaceOptions how{.most_evaluations = kMostEvaluations};
  {
    const std::lock_guard lock(mutex_);
    for (const Known& one : known_) {
      activity.push_back(std::clamp(one.activity, kActivityAtLeast, 1.0));
      seconds.push_back(std::max(one.seconds, 0.0));
    }
    how.previous = places_;
  }
  const Problem problem = problem_of(streams_, network, cluster, workers, activity, seconds);
  auto placed = placement::place(problem, how);
  std::vector<int> of_streams(streams_.names.size(), kNowhere);
  if (!placed.ok()) return of_streams;  // of a profile that makes no sense; requests take turns
  Decision decision{*std::move(placed), {}};
  std::vector<Places> places;
  for (size_t i = 0; i < of_streams.size(); ++i) {
    places.push_back(decision.placement.cameras[i].places);
    const int machine = place_of(places.back(), Stage::kNetwork);
    if (machine != kNowhere) of_streams[i] = machine - 1;
    decision.workers.push_back(
        machine != kNowhere ? problem.machines[static_cast<size_t>(machine)].name : "");
  }
  const std::lock_guard lock(mutex_);
  changes_ += places != places_ ? 1 : 0;
  places_ = std::move(places);
  latest_ = std::move(decision);
  return of_streams;
}

ClusterPlacer::Decision ClusterPlacer::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

size_t ClusterPlacer::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

}  // namespace shoal::placement
