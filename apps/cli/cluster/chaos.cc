// shoal chaos: what becomes of requests while workers are killed, stopped and cut off.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>

#include "../cli.h"
#include "../exit_codes.h"
#include "../facts.h"
#include "../model.h"
#include "../progress.h"
#include "apps/flags/json.h"
#include "chaos_train.h"
#include "chaos_view.h"
#include "shoal/base/atomic_file.h"
#include "shoal/base/malloc_arenas.h"
#include "shoal/base/process.h"
#include "shoal/chaos/processes/chaos_page.h"
#include "shoal/chaos/processes/chaos_run.h"
#include "shoal/chaos/processes/chaos_workers.h"
#include "shoal/chaos/simulated/history.h"
#include "shoal/config/cluster_file.h"
#include "shoal/cpu/cpu.h"
#include "shoal/passes/passes.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal chaos --workers 5 --survive 1 --kills 20 --requests 200 --model zoo:mobilenetv2
  shoal chaos --seconds 60                         faults of all kinds, as often as each other; watch
  shoal chaos --seconds 60 --emulate cluster.toml  the same on emulated devices
  shoal chaos --partitions 20 --at computing       while the worker that is cut off computes
  shoal chaos --workers 3 --survive 0 --stops 5    without protection: requests are replayed
  shoal chaos --lies 100 --verify 10 --requests 1500   one worker lies: it is found and left out
  shoal chaos --sim --histories 20000 --seed 1     simulated clusters, faults of all kinds
  shoal chaos --overload 10 --clients 200 --seconds 60 --kills 1   ten times as many requests as
                                                   workers can answer, and a kill every second
  shoal chaos --train --kills 20 --workers 3       workers learn, and are killed meanwhile
  shoal chaos --train --sim --histories 10000      the same simulated; the hub is killed, too
Workers are processes of this machine, and what happens between them does so in these: it takes no
privileges. Points of a request: submitted, input-arrives, piece-arrives, computing, computed,
answer-arrives; of a worker that is folded in again: deploying, ready. A simulated history that
breaks a promise is named by its seed, and happens again with '--histories 1 --seed' and that.)";

struct Flags {
  bool sim = false, train = false;
  std::string codec = "f32";
  uint64_t histories = 1000;
  size_t workers = 5;
  std::string cluster;  // emulated devices in their place: cluster.toml
  double dilation = 0;  // times as slow as the real ones; 0: as needed
  int survive = 1;
  uint64_t lies = 0, verify = 0;
  std::string model = "zoo:digits";
  chaos::ChaosRunOptions run;
  chaos::OverloadOptions overload{.times = 0};  // 0: none
  bool json = false;
  std::string html;
  const Command* command = nullptr;  // to ask which faults were given
};

chaos::Campaign simulate(const Flags& flags) {
  constexpr uint64_t kAtOnce = 100;
  chaos::Campaign all;
  ProgressBar progress("histories", flags.histories);
  while (all.histories < flags.histories) {
    const uint64_t count = std::min(kAtOnce, flags.histories - all.histories);
    all += chaos::live_through(flags.run.seed + all.histories, count);
    progress.at(all.histories);
  }
  return all;
}

Outcome report(const Flags& flags, const chaos::Campaign& campaign) {
  print_facts({counted("histories", campaign.histories, "histories"),
               counted("requests", campaign.requests, "requests"),
               counted("answered", campaign.answered, "answered"),
               counted("failed", campaign.failed, "failed"),
               counted("replayed", campaign.replayed, "replayed"),
               counted("violations", campaign.violations, "violations"),
               {"first_bad_seed", campaign.first_bad_seed}},
              flags.json);
  if (campaign.violations == 0) return {};
  return {Exit::kAccuracy,
          "seed " + std::to_string(campaign.first_bad_seed) + ": " + campaign.first_violation};
}

Json to_json(const chaos::ChaosReport& report) {
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

unsigned long long as_long(uint64_t n) { return n; }

using Latencies = std::pair<const char*, const LatencyRecorder*>;

void print_latencies(std::initializer_list<Latencies> all) {
  Table table({"", "requests", "p50 ms", "p99 ms", "longest ms"});
  for (const auto& [what, ms] : all) {
    table.add({what, std::to_string(ms->count()), fixed(ms->quantile(0.5), 1),
               fixed(ms->quantile(0.99), 1), fixed(ms->max(), 1)});
  }
  table.print();
}

void print_report(const chaos::ChaosReport& report) {
  print_latencies({{"before", &report.calm}, {"during", &report.faulty}, {"after", &report.after}});
  std::printf("faults: %llu; answered meanwhile: %llu, failed %llu, wrong %llu, replayed %llu\n",
              as_long(report.returns.count()), as_long(report.answered), as_long(report.failed),
              as_long(report.wrong), as_long(report.replayed));
  if (report.checked > 0) {
    std::printf("checked: %llu requests, %llu of them disputed\n", as_long(report.checked),
                as_long(report.disputed));
  }
  for (const std::string& name : report.left_out) {
    std::printf("left out: %s, because it lied; found after %llu requests; wrong since: %llu\n",
                name.c_str(), as_long(report.asked_until_left_out), as_long(report.wrong_after));
  }
}

Json to_json(const chaos::OverloadReport& report, const std::map<std::string, uint64_t>& kinds) {
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

void print_report(const chaos::OverloadReport& report) {
  print_latencies(
      {{"calm", &report.calm}, {"accepted", &report.accepted}, {"refused", &report.refusals}});
  std::printf("%.0f requests/s offered, %.0f answered: %.0f %% of the %.0f without overload\n",
              report.offered_per_s, report.answered_per_s, 100 * report.goodput(),
              report.capacity_per_s);
  std::printf("late %llu, failed %llu, wrong %llu; as before after %.2f s\n", as_long(report.late),
              as_long(report.failed), as_long(report.wrong), report.recovery_s);
}

// Where the emulated devices are slower than they should be, for this machine has no time to be
// them.
void note_lateness(const chaos::ChaosReport& report, double predicted_ms) {
  const double late = report.calm.quantile(0.5) / predicted_ms - 1;
  if (late <= emulate::kGoodLateness) return;
  std::fprintf(
      stderr,
      "this machine is busy, or its network slower than the emulated one: without faults a "
      "request took %.0f %% longer than predicted\n",
      100 * late);
}

// The workers, and plans for any set of them.
Result<chaos::ChaosClusterOptions> cluster_options(const Flags& flags, const Graph& graph,
                                                   std::atomic<double>& predicted_ms) {
  const plan::PlanOptions plan{.survive = flags.survive};
  const chaos::ChaosClusterOptions options{.program = executable_path(),
                                           .seed = flags.run.seed,
                                           .cluster_file = flags.cluster,
                                           .dilation = flags.dilation,
                                           .lies = flags.lies,
                                           .verify = flags.verify};
  if (flags.cluster.empty()) return with_processes(options, flags.workers, graph, plan);
  SHOAL_ASSIGN(const plan::ClusterProfile cluster, config::read_cluster(flags.cluster));
  return with_devices(options, cluster, graph, plan, predicted_ms);
}

Outcome overload(const Flags& flags, chaos::ChaosCluster& cluster) {
  std::map<std::string, uint64_t> kinds;
  const chaos::OverloadReport report =
      chaos::overload_cluster(flags.overload, flags.run, cluster, kinds);
  flags.json ? print_json(to_json(report, kinds)) : print_report(report);
  if (report.wrong > 0) return {Exit::kAccuracy, "answers are wrong"};
  if (report.failed > 0) return {Exit::kNetwork, report.first_failure};
  return {};
}

// Shows how many plans are made while a cluster opens: one for all workers, and one for each set
// with one fewer. Plans are made later, too, after losses. Thread-safe.
class OpeningProgress {
 public:
  explicit OpeningProgress(size_t workers) { bar_.emplace("start, plan, deploy", workers + 2); }

  void planned() {
    const std::lock_guard lock(mutex_);
    if (bar_) bar_->at(++count_);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    bar_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<ProgressBar> bar_;
  size_t count_ = 0;
};

Outcome run_on_processes(const Flags& flags) {
  use_one_malloc_arena();
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(flags.model, {}));
  SHOAL_OR_EXIT(const Graph graph, Exit::kModel, passes::optimize(loaded.graph));
  std::atomic<double> predicted_ms = 0;  // of a request without faults, on emulated devices
  SHOAL_OR_EXIT(auto options, Exit::kUsage, cluster_options(flags, graph, predicted_ms));
  if (flags.verify > 0 && flags.survive == 0) {
    return {Exit::kUsage, "--verify compares what --survive makes redundant"};
  }
  if (flags.survive >= static_cast<int>(options.workers.size())) {
    return {Exit::kUsage, "to survive the loss of " + std::to_string(flags.survive) + " takes " +
                              std::to_string(flags.survive + 1) + " workers"};
  }
  const auto device = make_cpu_device({.threads = 1});
  OpeningProgress opening(options.workers.size());
  options.plan = [&opening, plan = options.plan](const auto& set) {
    opening.planned();
    return plan(set);
  };
  const auto cluster = chaos::ChaosCluster::open(graph, *device, options);
  opening.end();
  if (!cluster.ok()) return fail(Doing::kTalk, cluster.status());
  if (!flags.cluster.empty()) {
    std::fprintf(stderr, "%zu emulated devices, %g times as slow as the real ones\n",
                 options.workers.size(), options.dilation);
  }
  if (flags.overload.times > 0) return overload(flags, **cluster);
  ChaosView view(flags.run.seconds > 0);
  const chaos::ChaosReport report = chaos::run_chaos(
      flags.run, **cluster, [&](const chaos::ChaosProgress& progress) { view.show(progress); });
  flags.json ? print_json(to_json(report)) : print_report(report);
  if (!flags.html.empty()) {
    const Status written =
        write_file(flags.html, chaos::chaos_page(flags.model + " under faults", report));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  if (predicted_ms > 0) note_lateness(report, predicted_ms);
  // Before a liar is found, wrong answers are what it is there for.
  const uint64_t wrong = flags.lies > 0 && flags.verify > 0 ? report.wrong_after : report.wrong;
  if (wrong > 0) return {Exit::kAccuracy, "answers are wrong"};
  if (flags.lies > 0 && flags.verify > 0 && report.left_out.empty()) {
    return {Exit::kAccuracy, "the worker that lies was not found"};
  }
  if (report.failed > 0) return {Exit::kNetwork, report.first_failure};
  return {};
}

Outcome train_under_faults(const Flags& flags) {
  const ChaosTrainFlags train{.model = flags.model,
                              .codec = flags.codec,
                              .workers = flags.workers,
                              .kills = flags.run.faults.kills,
                              .seed = flags.run.seed,
                              .histories = flags.histories,
                              .json = flags.json};
  return flags.sim ? train_in_histories(train) : train_on_processes(train);
}

void add_counts(Command& command, chaos::FaultCounts& counts) {
  const auto add = [&](const char* name, size_t& count, const char* help) {
    command.add_option(name, count, help, in_range(0, 1'000'000))->group("Faults");
  };
  add("--kills", counts.kills,
      "Times that a worker is killed and started again; 10 if nothing else is asked for");
  add("--stops", counts.stops, "Times that one is stopped for a while");
  add("--slows", counts.slows, "Times that one is slowed down for a while");
  add("--partitions", counts.partitions,
      "Times that one is cut off: one way, both ways or on and off, from one machine or all");
  add("--delays", counts.delays, "Times that all comes late to one and from it, for a while");
  add("--breaks", counts.drops, "Times that a connection of one breaks");
  add("--corruptions", counts.corruptions, "Times that bytes to one or from it are damaged");
}

// Where none is asked for by name.
chaos::FaultCounts default_counts(const Flags& flags) {
  if (flags.run.seconds > 0) return {1, 1, 1, 1, 1, 1, 1};
  return {.kills = 10};
}

bool names_faults(const Command& command) {
  return std::ranges::any_of(command.options(), [](const Option* option) {
    return option->group() == "Faults" && option->count() > 0;
  });
}

std::vector<std::string> places() {
  std::vector<std::string> names = {chaos::kAnywhere, chaos::kAnyMoment};
  names.insert(names.end(), cluster::kFaultPointNames.begin(), cluster::kFaultPointNames.end());
  return names;
}

void add_flags(Command& command, Flags& flags) {
  Option* workers = command.add_setting("--workers", flags.workers, "Processes", in_range(1, 64));
  Option* emulated =
      command
          .add_option("--emulate", flags.cluster, "Emulated devices in their place: cluster.toml",
                      existing_file())
          ->excludes(workers);
  command
      .add_option("--dilate", flags.dilation, "Times as slow as the real ones; 0: as needed",
                  in_range(0.0, 1e6))
      ->needs(emulated);
  command.add_setting("--survive", flags.survive, "Losses at once that plans are made for",
                      in_range(0, 2));
  command.add_option("--verify", flags.verify,
                     "Check one request of so many for lies, and leave liars out; 0: none",
                     in_range(0, 1'000'000'000));
  add_counts(command, flags.run.faults);
  command
      .add_option("--lies", flags.lies,
                  "The last worker flips a bit of every so-many-th of its results; 0: of none",
                  in_range(0, 1'000'000'000))
      ->group("Faults");
  command.add_setting("--at", flags.run.where, "Where in a request, or in the return of a worker",
                      one_of(places()));
  command.add_option("--seconds", flags.run.seconds,
                     "Faults for so long, whatever their number and that of requests",
                     in_range(0.0, 1e7));
  Option* overload =
      command.add_option("--overload", flags.overload.times,
                         "Requests in place of others: so many times as many as workers can answer",
                         in_range(1.0, 1000.0));
  command.add_setting("--clients", flags.overload.clients, "That send these", in_range(1, 10'000))
      ->needs(overload);
  command.add_setting("--requests", flags.run.requests, "Requests that meet these",
                      in_range(1, 100'000'000));
  command.add_setting("--seed", flags.run.seed, "From which everything is drawn");
  command.add_setting("--model", flags.model, "ONNX file or zoo:NAME");
}

Outcome run(Flags& flags) {
  if (flags.run.seconds > 0) flags.overload.seconds = flags.run.seconds;
  // Overload alone is a fault already.
  const bool is_overload = flags.overload.times > 0;
  if (!is_overload && !names_faults(*flags.command)) flags.run.faults = default_counts(flags);
  if (!flags.html.empty() && (flags.sim || is_overload)) {
    return {Exit::kUsage, "--html shows faults of processes, not --sim or --overload"};
  }
  if (flags.train) return train_under_faults(flags);
  return flags.sim ? report(flags, simulate(flags)) : run_on_processes(flags);
}

}  // namespace

void add_chaos(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "chaos", "See what becomes of requests while workers fail", kExamples, run);
  flags.command = &command;
  add_flags(command, flags);
  command.add_flag("--sim", flags.sim, "Simulated clusters, in virtual time");
  command.add_setting("--histories", flags.histories, "How many of them", in_range(1, 100'000'000));
  Option* train = command.add_flag("--train", flags.train,
                                   "Workers learn a network, in place of answering requests");
  command
      .add_setting(
          "--codec", flags.codec, "How their gradients travel, as in shoal train",
          one_of({"f32", "f16", "int8", "1bit", "tern", "qsgd", "powersgd", "topk", "drive"}))
      ->needs(train);
  command.add_flag("--json", flags.json, "Print one JSON object");
  command.add_option("--html", flags.html,
                     "Write a page about the faults and what became of requests");
}

}  // namespace shoal::cli
