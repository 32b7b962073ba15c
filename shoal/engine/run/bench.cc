#include "shoal/engine/run/bench.h"

#include <algorithm>
#include <cstdlib>

#include "shoal/base/machine/machine.h"
#include "shoal/base/text/number_text.h"
#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/session/layer_profile.h"

namespace shoal::fit {
namespace {

double peak_rss_mb() { return static_cast<double>(peak_memory_bytes()) / (1 << 20); }

}  // namespace

Result<BenchWork> work_of(Session& session, const Session::Tensors& inputs, Device& device) {
  SHOAL_ASSIGN(const LayerProfile profile, profile_layers(session, inputs, 1));
  SHOAL_ASSIGN(const Session::Tensors outputs, session.run(inputs));
  SHOAL_ASSIGN(const double transfer, transfer_ms(first_device(device), inputs, outputs));
  return BenchWork{static_cast<double>(profile.macs()),
                   {{"threads_used", profile.most_threads()},
                    {"device_name", first_device(device).info().name},
                    {"transfer_ms", transfer}}};
}

double noise_of(const LatencyRecorder& times) {
  return times.quantile(0.5) / times.quantile(0.1) - 1;
}

std::string warning_of(const LatencyRecorder& times) {
  constexpr double kMostNoise = 0.1;
  const double noise = noise_of(times);
  if (!(noise > kMostNoise)) return "";
  return "this machine is busy: half of the runs took " + fixed(100 * noise, 0) +
         " % longer than the fastest tenth";
}

Status take_turns(std::istream& lines, const std::function<Status()>& run,
                  const std::function<Status(double seconds)>& measure) {
  constexpr double kLongest = 3600;
  std::string line;
  while (std::getline(lines, line)) {
    const double seconds = std::strtod(line.c_str(), nullptr);
    SHOAL_TRY(run());
    SHOAL_TRY(measure(seconds > 0 ? std::min(seconds, kLongest) : 0));
  }
  return {};
}

Facts facts_of(const BenchFacts& known, const LatencyRecorder& times) {
  Facts facts = {{"model", known.model, "model"},
                 {"device", known.device.name},
                 {"threads", known.device.threads, "threads"},
                 {"median_ms", times.quantile(0.5), "median ms", 3},
                 {"p10_ms", times.quantile(0.1), "p10", 3},
                 {"p90_ms", times.quantile(0.9), "p90", 3},
                 {"runs", times.count(), "runs"},
                 {"open_ms", known.open_ms, "open ms", 1},
                 {"first_ms", known.first_ms, "first answer ms", 1},
                 {"peak_rss_mb", peak_rss_mb(), "peak RSS MB", 1},
                 {"noise", noise_of(times)}};
  // A multiplication and an addition each.
  if (known.work.macs > 0) {
    facts.push_back({"tflops", 2e-9 * known.work.macs / times.quantile(0.5)});
  }
  for (const auto& [name, value] : known.work.json.members()) facts.push_back({name, value});
  return facts;
}

Facts facts_of(const std::string& model, const DeviceInfo& device, size_t clients,
               const LoadReport& load) {
  return {{"model", model, "model"},
          {"device", device.name},
          {"threads", device.threads, "threads"},
          {"clients", clients, "clients"},
          {"requests_per_s", load.requests_per_s(), "requests/s", 1},
          {"p50_ms", load.latencies.quantile(0.5), "p50 ms", 3},
          {"p99_ms", load.latencies.quantile(0.99), "p99 ms", 3},
          {"requests", load.latencies.count(), "requests"},
          {"seconds", load.seconds},
          {"peak_rss_mb", peak_rss_mb()}};
}

}  // namespace shoal::fit
