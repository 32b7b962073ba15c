#include "shoal/plan/cost/plan_stats.h"

#include <algorithm>
#include <map>

#include "shoal/plan/part.h"

namespace shoal::plan {

double activation_bytes(const Graph& graph, const Part& part) {
  double most = 0;
  for (const PartNode& node : part.nodes) {
    const Work work = work_of(graph, node);
    // An estimate: only the values of one node at a time, not those kept for later nodes.
    most = std::max(most, work.bytes - work.weight_bytes);
  }
  return most;
}

int64_t halo_bytes(const Graph& graph, const Plan& plan, const Schedule& schedule) {
  int64_t bytes = 0;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    // Tasks of one segment only: a value that two segments read is not a halo.
    std::map<ValueId, std::vector<Region>> read;  // disjoint boxes
    for (const Part& part : schedule.parts[s]) {
      for (const Piece& piece : part.inputs) {
        std::vector<Region>& before = read[piece.value];
        std::vector<Region> fresh = {piece.region};
        for (const Region& box : before) fresh = subtract(std::move(fresh), box);
        bytes += bytes_of(graph, piece);
        for (const Region& box : fresh) bytes -= bytes_of(graph, {piece.value, box});
        before.insert(before.end(), fresh.begin(), fresh.end());
      }
    }
  }
  return bytes;
}

std::vector<double> memory_bytes(const Graph& graph, const Plan& plan, const Schedule& schedule,
                                 size_t workers) {
  std::vector<double> weights(workers), activations(workers);
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
      const Part& part = schedule.parts[s][t];
      const auto worker = static_cast<size_t>(plan.segments[s].tasks[t].worker);
      // Weights stay loaded between requests; activations are those of the task at hand.
      weights[worker] += weight_bytes(graph, part);
      activations[worker] = std::max(activations[worker], activation_bytes(graph, part));
    }
  }
  for (size_t w = 0; w < workers; ++w) weights[w] += activations[w];
  return weights;
}

std::vector<int> workers_of(const Plan& plan) {
  std::vector<int> workers;
  for (const Segment& segment : plan.segments) {
    for (const Task& task : segment.tasks) workers.push_back(task.worker);
  }
  std::ranges::sort(workers);
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

}  // namespace shoal::plan
