// Sharing a machine in time. A worker that others keep busy for a part u of the time gives the rest
// of it to a task, if it turns from one to the other often enough (processor sharing):
//
//   seconds among others = seconds alone / (1 - u)
//
// The same holds for the bandwidth of a link and of a medium. A machine sends, receives and shares
// its medium at the same time, so the busiest of the three decides.
#include "shoal/plan/tenants/demand.h"

#include <algorithm>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {
namespace {

constexpr double kLeast = 0.01;  // of a worker's time: with less left, it is of no use

void add(std::vector<double>& sum, const std::vector<double>& more) {
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

// The part of its time that a machine's link has left.
double left_of_link(const Demand& others, const ClusterProfile& cluster, int machine) {
  double busy = 0;
  // From the machine to itself: its way out, its way in, its medium.
  for (Resource resource : resources_of(cluster, machine, machine)) {
    busy = std::max(busy, others.network[resource]);
  }
  return std::max(1 - busy, kLeast);
}

double left_of_worker(const Demand& others, size_t worker) {
  return std::max(1 - others.compute[worker], kLeast);
}

}  // namespace

Demand demand_of(const Prediction& made, const Steps& steps, const ClusterProfile& cluster,
                 double requests) {
  Demand demand{std::vector<double>(cluster.workers.size()),
                std::vector<double>(resource_count(cluster)),
                memory_bytes(made.graph(), made.plan(), made.schedule(), cluster.workers.size())};
  for (size_t w = 0; w < steps.tasks.size(); ++w) {
    for (const TaskStep& task : steps.tasks[w]) demand.compute[w] += requests * task.seconds;
  }
  for (const Message& message : steps.messages) {
    for (Resource resource : message.uses) demand.network[resource] += requests * message.seconds;
  }
  return demand;
}

Demand sum_of(std::span<const Demand> demands, const ClusterProfile& cluster) {
  const size_t workers = cluster.workers.size();
  Demand sum{std::vector<double>(workers), std::vector<double>(resource_count(cluster)),
             std::vector<double>(workers)};
  for (const Demand& demand : demands) {
    add(sum.compute, demand.compute);
    add(sum.network, demand.network);
    add(sum.memory, demand.memory);
  }
  return sum;
}

bool is_met(const Demand& total, const ClusterProfile& cluster) {
  const auto in_time = [](double part) { return part <= 1; };
  if (!std::ranges::all_of(total.compute, in_time)) return false;
  if (!std::ranges::all_of(total.network, in_time)) return false;
  for (size_t w = 0; w < total.memory.size(); ++w) {
    if (total.memory[w] > cluster.workers[w].memory_bytes) return false;
  }
  return true;
}

ClusterProfile left_by(const Demand& others, const ClusterProfile& cluster) {
  ClusterProfile left = cluster;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    WorkerProfile& worker = left.workers[w];
    const double time = left_of_worker(others, w);
    const double link = left_of_link(others, cluster, static_cast<int>(w));
    worker.memory_bytes -= others.memory[w];
    if (time <= kLeast || link <= kLeast || worker.memory_bytes <= 0) worker.present = false;
    scale(worker, 1 / time);
    left.links[w].bytes_per_second *= link;
  }
  left.coordinator.bytes_per_second *= left_of_link(others, cluster, kCoordinator);
  return left;
}

double seconds_among(const Demand& others, Steps steps, const ClusterProfile& cluster) {
  for (size_t w = 0; w < steps.tasks.size(); ++w) {
    for (TaskStep& task : steps.tasks[w]) task.seconds /= left_of_worker(others, w);
  }
  std::vector<double> bandwidth;  // by machine, the coordinator first
  for (int m = kCoordinator; m < std::ssize(cluster.workers); ++m) {
    bandwidth.push_back(cluster.link_of(m).bytes_per_second * left_of_link(others, cluster, m));
  }
  for (Message& message : steps.messages) {
    const double out = bandwidth[static_cast<size_t>(message.from + 1)];
    const double in = bandwidth[static_cast<size_t>(message.to + 1)];
    message.seconds = message.bytes / std::min(out, in);
  }
  return answer_seconds(steps, cluster);
}

}  // namespace shoal::plan
