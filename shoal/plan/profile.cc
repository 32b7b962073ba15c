// Predicted times. A node is bound by its products or by its memory traffic, never by their sum:
//
//   t = correction * (seconds + max(macs * seconds_per_mac, bytes * seconds_per_byte))
//
// with fewer products and bytes where weights are sparse.
#include "shoal/plan/profile.h"

#include <algorithm>

namespace shoal::plan {

const OperatorSpeed& WorkerProfile::speed_of(std::string_view op) const {
  const auto it = operators.find(op);
  if (it != operators.end()) return it->second;
  const auto any = operators.find("");
  // Every profile that fit_worker() or a preset makes has the entry; a file's is checked on
  // reading.
  SHOAL_CHECK(any != operators.end());
  return any->second;
}

double WorkerProfile::correction_of(std::string_view output) const {
  const auto it = corrections.find(output);
  return it == corrections.end() ? 1 : it->second;
}

size_t count_present(const ClusterProfile& cluster) {
  return static_cast<size_t>(std::ranges::count_if(cluster.workers, &WorkerProfile::present));
}

WorkerProfile absent_worker(std::string name) {
  WorkerProfile worker = uniform_worker(std::move(name), 1, 1);
  worker.memory_bytes = 0;
  worker.present = false;
  return worker;
}

double slowdown(const Occupancy& machine) {
  const double wanted = std::max(machine.others, 0.0) + machine.threads;
  return std::max(1.0, wanted / std::max(machine.cores, 1));
}

void scale(WorkerProfile& worker, double factor) {
  for (auto& [op, speed] : worker.operators) {
    speed.seconds *= factor;
    speed.seconds_per_mac *= factor;
    speed.seconds_per_byte *= factor;
  }
}

WorkerProfile uniform_worker(std::string name, double macs_per_second, double bytes_per_second) {
  return {std::move(name), {{"", {0, 1 / macs_per_second, 1 / bytes_per_second}}}};
}

double seconds_of(const Work& work, const OperatorSpeed& speed) {
  if (work.bytes == 0) return 0;  // a weight, which is computed beforehand
  const double bytes = work.bytes - (1 - work.sparse) * work.weight_bytes;
  return speed.seconds +
         std::max(work.sparse * work.macs * speed.seconds_per_mac, bytes * speed.seconds_per_byte);
}

double seconds_of(const Graph& whole, const PartNode& part, const Work& work,
                  const WorkerProfile& worker) {
  const Node& node = whole.nodes()[part.node];
  return seconds_of(work, worker.speed_of(node.op->name)) *
         worker.correction_of(whole[node.outputs[0]].name);
}

double seconds_of(const Graph& whole, const Part& part, const WorkerProfile& worker) {
  double seconds = 0;
  for (const PartNode& node : part.nodes) {
    seconds += seconds_of(whole, node, work_of(whole, node), worker);
  }
  return seconds;
}

double seconds_of(double bytes, const LinkProfile& from, const LinkProfile& to) {
  // Both ends are busy for the whole message, so the slower one decides.
  return std::max(from.latency_seconds, to.latency_seconds) +
         bytes / std::min(from.bytes_per_second, to.bytes_per_second);
}

}  // namespace shoal::plan
