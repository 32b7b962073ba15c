#include "shoal/cluster/chaos/processes/chaos_settings.h"

#include <utility>

#include "shoal/cluster/messages/fault_point.h"

namespace shoal::chaos {
namespace {

std::vector<std::string> places() {
  std::vector<std::string> names = {kAnywhere, kAnyMoment};
  names.insert(names.end(), cluster::kFaultPointNames.begin(), cluster::kFaultPointNames.end());
  return names;
}

Setting counted(const char* name, size_t& count, const char* help) {
  return Setting(name, count, help).in(0, 1'000'000);
}

}  // namespace

SettingList fault_settings(ChaosSettings& s) {
  FaultCounts& counts = s.run.faults;
  return under(
      "Faults",
      {counted("kills", counts.kills,
               "Times that a worker is killed and started again; 10 if nothing else is asked for"),
       counted("stops", counts.stops, "Times that one is stopped for a while"),
       counted("slows", counts.slows, "Times that one is slowed down for a while"),
       counted("partitions", counts.partitions,
               "Times that one is cut off: one way, both ways or on and off, from one machine or "
               "all"),
       counted("delays", counts.delays,
               "Times that all comes late to one and from it, for a while"),
       counted("breaks", counts.drops, "Times that a connection of one breaks"),
       counted("corruptions", counts.corruptions, "Times that bytes to one or from it are damaged"),
       Setting("lies", s.lies,
               "The last worker flips a bit of every so-many-th of its results; 0: of none")
           .in(0, 1'000'000'000)});
}

SettingList request_settings(ChaosSettings& s) {
  return {
      Setting("at", s.run.where, "Where in a request, or in the return of a worker")
          .one_of(places()),
      Setting("seconds", s.run.seconds,
              "Faults for so long, whatever their number and that of requests")
          .in(0, 1e7),
      Setting("overload", s.overload.times,
              "Requests in place of others: so many times as many as workers can answer")
          .in(1, 1000),
      Setting("clients", s.overload.clients, "That send these").in(1, 10'000).with("overload"),
      Setting("requests", s.run.requests, "Requests that meet these").in(1, 100'000'000),
      Setting("seed", s.run.seed, "From which everything is drawn"),
      Setting("model", s.model, "ONNX file or zoo:NAME"),
      Setting("sim", s.sim, "Simulated clusters, in virtual time"),
      Setting("histories", s.histories, "How many of them").in(1, 100'000'000),
      Setting("train", s.train, "Workers learn a network, in place of answering requests"),
      Setting("codec", s.codec, "How their gradients travel, as in shoal train")
          .one_of({"f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive"})
          .with("train"),
  };
}

ChaosClusterOptions cluster_options(const ChaosSettings& settings, std::filesystem::path program) {
  return {.program = std::move(program),
          .seed = settings.run.seed,
          .cluster_file = settings.cluster,
          .dilation = settings.dilation,
          .lies = settings.lies,
          .verify = settings.verify};
}

Result<ChaosSettings> completed(ChaosSettings settings, bool names_faults) {
  ChaosRunOptions& run = settings.run;
  if (run.seconds > 0) settings.overload.seconds = run.seconds;
  // Overload alone is a fault already.
  if (!settings.is_overload() && !names_faults) run.faults = FaultCounts::usual(run.seconds > 0);
  if (!settings.html.empty() && (settings.sim || settings.is_overload())) {
    return invalid("--html shows faults of processes, not --sim or --overload");
  }
  return settings;
}

}  // namespace shoal::chaos
