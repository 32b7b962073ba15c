#include "apps/cluster_commands/chaos.h"

#include <algorithm>
#include <utility>

#include "shoal/cluster/emulate/machines/dilation.h"
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

// The first column has no name.
Facts row_of(const char* what, const LatencyRecorder& ms) {
  return {shown(" ", what), shown("requests", std::to_string(ms.count())),
          shown("p50 ms", fixed(ms.quantile(0.5), 1)), shown("p99 ms", fixed(ms.quantile(0.99), 1)),
          shown("longest ms", fixed(ms.max(), 1))};
}

std::string counts_of(const ChaosReport& report) {
  return std::to_string(report.answered) + " answered, " + std::to_string(report.failed) +
         " failed, " + std::to_string(report.wrong) + " wrong";
}

std::string times_of(const char* what, const LatencyRecorder& took) {
  return std::string(what) + "p50 " + fixed(took.quantile(0.5), 1) + " ms, p99 " +
         fixed(took.quantile(0.99), 1) + " ms, longest " + fixed(took.max(), 1) + " ms";
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

Json to_json(const ChaosReport& report) {
  return {{"requests", report.requests},
          {"answered", report.answered},
          {"failed", report.failed},
          {"wrong", report.wrong},
          {"replayed", report.replayed},
          {"resent_to_dead", report.resent_to_dead},
          {"faults", report.returns.count()},
          {"kinds", report.kinds},
          {"at_points", report.at_points},
          {"calm_p50_ms", report.calm.quantile(0.5)},
          {"calm_p99_ms", report.calm.quantile(0.99)},
          {"p50_ms", report.faulty.quantile(0.5)},
          {"p99_ms", report.faulty.quantile(0.99)},
          {"after_p50_ms", report.after.quantile(0.5)},
          {"longest_ms", report.faulty.max()},
          {"recovery_ms_max", report.recovery_ms_max},
          {"return_ms_p50", report.returns.quantile(0.5)},
          {"return_ms_max", report.returns.max()},
          {"checked", report.checked},
          {"disputed", report.disputed},
          {"left_out", report.left_out},
          {"requests_until_left_out", report.asked_until_left_out},
          {"wrong_after", report.wrong_after}};
}

std::vector<Facts> rows_of(const ChaosReport& report) {
  return {row_of("before", report.calm), row_of("during", report.faulty),
          row_of("after", report.after)};
}

std::vector<std::string> lines_of(const ChaosReport& report) {
  std::vector<std::string> lines = {"faults: " + std::to_string(report.returns.count()) +
                                    "; answered meanwhile: " + std::to_string(report.answered) +
                                    ", failed " + std::to_string(report.failed) + ", wrong " +
                                    std::to_string(report.wrong) + ", replayed " +
                                    std::to_string(report.replayed)};
  if (report.checked > 0) {
    lines.push_back("checked: " + std::to_string(report.checked) + " requests, " +
                    std::to_string(report.disputed) + " of them disputed");
  }
  for (const std::string& name : report.left_out) {
    lines.push_back("left out: " + name + ", because it lied; found after " +
                    std::to_string(report.asked_until_left_out) +
                    " requests; wrong since: " + std::to_string(report.wrong_after));
  }
  return lines;
}

Json to_json(const OverloadReport& report, const FaultKinds& kinds) {
  uint64_t faults = 0;
  for (const auto& [kind, count] : kinds) faults += count;
  return {{"goodput", report.goodput()},
          {"capacity_per_s", report.capacity_per_s},
          {"faulty_capacity_per_s", report.faulty_capacity_per_s},
          {"offered_per_s", report.offered_per_s},
          {"answered_per_s", report.answered_per_s},
          {"answered", report.answered},
          {"refused", report.refused},
          {"late", report.late},
          {"failed", report.failed},
          {"wrong", report.wrong},
          {"timeout_ms", report.timeout_ms},
          {"calm_p50_ms", report.calm.quantile(0.5)},
          {"calm_p99_ms", report.calm.quantile(0.99)},
          {"p50_ms", report.accepted.quantile(0.5)},
          {"p99_ms", report.accepted.quantile(0.99)},
          {"refusal_ms_p50", report.refusals.quantile(0.5)},
          {"refusal_ms_p99", report.refusals.quantile(0.99)},
          {"recovery_s", report.recovery_s},
          {"faults", faults},
          {"kinds", kinds}};
}

std::vector<Facts> rows_of(const OverloadReport& report, const FaultKinds&) {
  return {row_of("calm", report.calm), row_of("accepted", report.accepted),
          row_of("refused", report.refusals)};
}

std::vector<std::string> lines_of(const OverloadReport& report, const FaultKinds&) {
  return {fixed(report.offered_per_s, 0) + " requests/s offered, " +
              fixed(report.answered_per_s, 0) + " answered: " + fixed(100 * report.goodput(), 0) +
              " % of the " + fixed(report.capacity_per_s, 0) + " without overload",
          "late " + std::to_string(report.late) + ", failed " + std::to_string(report.failed) +
              ", wrong " + std::to_string(report.wrong) + "; as before after " +
              fixed(report.recovery_s, 2) + " s"};
}

std::vector<std::string> lines_of(const ChaosProgress& progress) {
  std::vector<std::string> lines = {
      fixed(progress.seconds, 1) + " s  " +
      (progress.latest.empty() ? "calm so far" : "latest: " + progress.latest)};
  size_t longest = 0;
  for (const std::string& name : progress.names) longest = std::max(longest, name.size());
  for (size_t w = 0; w < progress.present.size(); ++w) {
    const std::string& name = progress.names[w];
    const bool is_victim = progress.victim == static_cast<int>(w);
    lines.push_back("  " + name + std::string(longest - name.size(), ' ') +
                    (progress.present[w] ? "  there" : "  lost ") +
                    (is_victim ? " " + progress.latest.substr(name.size()) : ""));
  }
  lines.push_back(counts_of(progress.report));
  lines.push_back(times_of("  calm         ", progress.report.calm));
  lines.push_back(times_of("  with faults  ", progress.report.faulty));
  return lines;
}

std::string line_of(const ChaosProgress& progress) {
  return fixed(progress.seconds, 1) + " s: " + progress.latest + "; " + counts_of(progress.report);
}

std::string FaultLines::next(const ChaosProgress& progress) {
  if (std::exchange(told_, progress.faults) == progress.faults) return "";
  return line_of(progress);
}

std::string note_lateness(const ChaosReport& report, double predicted_ms) {
  const double late = report.calm.quantile(0.5) / predicted_ms - 1;
  if (!(late > emulate::kGoodLateness)) return "";
  return "this machine is busy, or its network slower than the emulated one: without faults a "
         "request took " +
         fixed(100 * late, 0) + " % longer than predicted";
}

}  // namespace shoal::chaos
