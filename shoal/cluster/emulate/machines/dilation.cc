#include "shoal/cluster/emulate/machines/dilation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shoal/base/processes/shared_memory.h"

namespace shoal::emulate {

double choose_dilation(const plan::ClusterProfile& cluster, unsigned cores) {
  constexpr double kMacsPerSecond = 12e9;  // of one core of this machine, in small pieces
  constexpr double kOwnLatency = 0.2e-3;   // of a message on this machine
  constexpr double kLatencyShare = 0.1;
  double macs = 0, latency = 1;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    macs += 1 / std::max(cluster.workers[w].speed_of("Conv").seconds_per_mac, 1e-15);
    latency = std::min(latency, cluster.links[w].latency_seconds);
  }
  const double to_compute = macs / (std::max(1u, cores) * kMacsPerSecond);
  const double to_talk = kOwnLatency / (kLatencyShare * std::max(latency, 0.1e-3));
  return std::ceil(std::max({1.0, to_compute, to_talk}));
}

double lateness_of(const plan::Plan& plan, const plan::Timeline& predicted,
                   const plan::Timeline& measured) {
  std::vector<double> late(1);  // by worker
  for (size_t s = 0; s < measured.tasks.size(); ++s) {
    for (size_t t = 0; t < measured.tasks[s].size(); ++t) {
      const plan::Span &planned = predicted.tasks[s][t], &real = measured.tasks[s][t];
      if (planned.end == 0) continue;  // of a task whose result is not awaited
      const auto worker = static_cast<size_t>(plan.segments[s].tasks[t].worker);
      late.resize(std::max(late.size(), worker + 1));
      late[worker] += std::max(0.0, (real.end - real.begin) - (planned.end - planned.begin));
    }
  }
  return std::ranges::max(late) / measured.seconds;
}

std::optional<double> DilationSearch::next(double lateness) {
  constexpr int kMeasurements = 4;
  constexpr double kMargin = 1.5;             // beyond what the lateness asks for
  constexpr double kLeast = 2, kMost = 8;     // times the dilation, from one to the next
  constexpr double kWorthIt = 1.5;            // where less is left to raise, it is not tried
  constexpr double kLongestMeasurement = 15;  // seconds of this machine
  if (++measurements_ == kMeasurements || lateness <= kGoodLateness) return std::nullopt;
  const double raise = std::clamp(kMargin * lateness / kGoodLateness, kLeast, kMost);
  const double wanted =
      std::min({raise * current_, kMaxRaise * initial_, kLongestMeasurement / seconds_});
  if (wanted < kWorthIt * current_) return std::nullopt;
  return current_ = wanted;
}

Result<std::shared_ptr<SharedDilation>> SharedDilation::open(const std::filesystem::path& media,
                                                             double initial) {
  SHOAL_ASSIGN(auto word, open_shared<Word>(media / "dilation"));
  return std::shared_ptr<SharedDilation>(new SharedDilation(std::move(word), initial));
}

double SharedDilation::get() const {
  const double changed = *changed_;
  return changed > 0 ? changed : initial_;
}

}  // namespace shoal::emulate
