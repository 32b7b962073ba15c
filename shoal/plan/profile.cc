#include "shoal/plan/profile.h"

#include <algorithm>

namespace shoal::plan {

const OperatorSpeed& WorkerProfile::speed_of(std::string_view op) const {
  const auto it = operators.find(op);
  if (it != operators.end()) return it->second;
  const auto any = operators.find("");
  SHOAL_CHECK(any != operators.end());
  return any->second;
}

WorkerProfile uniform_worker(std::string name, double macs_per_second, double bytes_per_second) {
  return {std::move(name), {{"", {0, 1 / macs_per_second, 1 / bytes_per_second}}}};
}

double seconds_of(const Graph& whole, const Part& part, const WorkerProfile& worker) {
  double seconds = 0;
  for (const PartNode& node : part.nodes) {
    const Work work = work_of(whole, node);
    const OperatorSpeed& speed = worker.speed_of(whole.nodes()[node.node].op->name);
    seconds += speed.seconds +
               std::max(work.macs * speed.seconds_per_mac, work.bytes * speed.seconds_per_byte);
  }
  return seconds;
}

double seconds_of(double bytes, const LinkProfile& from, const LinkProfile& to) {
  return std::max(from.latency_seconds, to.latency_seconds) +
         bytes / std::min(from.bytes_per_second, to.bytes_per_second);
}

}  // namespace shoal::plan
