// shoal chaos: what becomes of requests while workers are killed, stopped and cut off.
#include "apps/cluster_commands/chaos.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>

#include "../facts.h"
#include "../model.h"
#include "apps/commands/plans/cluster_file.h"
#include "chaos_page.h"
#include "chaos_train.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/machine/machine.h"
#include "shoal/base/machine/malloc_arenas.h"
#include "shoal/base/processes/process.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/cluster/chaos/processes/chaos_workers.h"
#include "shoal/cluster/chaos/processes/histories.h"
#include "shoal/engine/cpu/cpu.h"

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
  chaos::ChaosSettings settings;
  bool json = false;
  const Command* command = nullptr;  // to ask which faults were given
};

// What happens, on stderr: stdout is for the report. On a terminal all workers; elsewhere, where
// faults go on for a time, a line for each.
class ChaosView {
 public:
  explicit ChaosView(bool says_lines) : says_lines_(says_lines) {}
  ~ChaosView() { live_.keep(); }

  void show(const chaos::ChaosProgress& progress) {
    if (live_.is_due()) live_.draw(lines_of(progress));
    if (live_.is_shown() || !says_lines_) return;
    const std::string line = faults_.next(progress);
    if (!line.empty()) std::fprintf(stderr, "%s\n", line.c_str());
  }

 private:
  const bool says_lines_;
  chaos::FaultLines faults_;
  LiveLines live_;
};

Outcome simulate(const chaos::ChaosSettings& settings, bool json) {
  ProgressBar bar("histories", settings.histories);
  SHOAL_OR_EXIT(const chaos::Campaign campaign, Exit::kResources,
                chaos::live_through({.seed = settings.run.seed,
                                     .histories = settings.histories,
                                     .jobs = usable_cores().size(),
                                     .at = [&](uint64_t done) { bar.at(done); }}));
  bar.end();
  print_facts(facts_of(campaign), json);
  return outcome_of(campaign.verdict());
}

Outcome overload(const chaos::ChaosSettings& settings, bool json, chaos::ChaosCluster& cluster) {
  chaos::FaultKinds kinds;
  const chaos::OverloadReport report =
      chaos::overload_cluster(settings.overload, settings.run, cluster, kinds);
  print_found(json, report, kinds);
  return outcome_of(report.verdict());
}

Outcome run_on_processes(const chaos::ChaosSettings& settings, bool json) {
  use_one_malloc_arena();
  SHOAL_OR_EXIT(const Graph graph, Exit::kModel, load_optimized(settings.model, {}));
  chaos::ChaosWorkers workers{.processes = settings.workers, .survive = settings.survive};
  if (settings.is_emulated()) {
    SHOAL_OR_EXIT(workers.devices, Exit::kUsage, config::read_cluster(settings.cluster));
  }
  // Plans are made later, too, after losses.
  ProgressBar opening("start, plan, deploy", workers.steps_to_open());
  std::atomic<size_t> planned = 0;
  workers.on_plan = [&] { opening.at(++planned); };
  std::atomic<double> predicted_ms = 0;  // of a request without faults, on emulated devices
  SHOAL_OR_EXIT(
      const auto options, Exit::kUsage,
      with_workers(cluster_options(settings, executable_path()), workers, graph, predicted_ms));
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_OR_EXIT(const auto cluster, Doing::kTalk,
                chaos::ChaosCluster::open(graph, *device, options));
  opening.end();
  if (settings.is_emulated()) {
    std::fprintf(stderr, "%zu emulated devices, %g times as slow as the real ones\n",
                 workers.count(), options.dilation);
  }
  if (settings.is_overload()) return overload(settings, json, *cluster);
  std::optional<ChaosView> view(settings.run.seconds > 0);
  const chaos::ChaosReport report =
      chaos::run_chaos(settings.run, *cluster, [&](const auto& progress) { view->show(progress); });
  view.reset();
  print_found(json, report);
  if (!settings.html.empty()) {
    const Status written =
        write_file(settings.html, chaos_page(settings.model + " under faults", report));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  const std::string late = predicted_ms > 0 ? note_lateness(report, predicted_ms) : "";
  if (!late.empty()) std::fprintf(stderr, "%s\n", late.c_str());
  return outcome_of(report.verdict(settings.finds_liars()));
}

bool names_faults(const Command& command) {
  return std::ranges::any_of(command.options(), [](const Option* option) {
    return option->group() == "Faults" && option->count() > 0;
  });
}

Outcome run(const Flags& flags) {
  SHOAL_OR_EXIT(const chaos::ChaosSettings settings, Exit::kUsage,
                chaos::completed(flags.settings, names_faults(*flags.command)));
  if (settings.train) {
    return settings.sim ? train_in_histories(settings, flags.json)
                        : train_on_processes(settings, flags.json);
  }
  return settings.sim ? simulate(settings, flags.json) : run_on_processes(settings, flags.json);
}

}  // namespace

void add_chaos(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "chaos", "See what becomes of requests while workers fail", kExamples, run);
  flags.command = &command;
  chaos::ChaosSettings& settings = flags.settings;
  Option* workers =
      command.add_setting("--workers", settings.workers, "Processes", in_range(1, 64));
  Option* emulated =
      command
          .add_option("--emulate", settings.cluster,
                      "Emulated devices in their place: cluster.toml", existing_file())
          ->excludes(workers);
  command
      .add_option("--dilate", settings.dilation, "Times as slow as the real ones; 0: as needed",
                  in_range(0.0, 1e6))
      ->needs(emulated);
  command.add_setting("--survive", settings.survive, "Losses at once that plans are made for",
                      in_range(0, 2));
  command.add_option("--verify", settings.verify,
                     "Check one request of so many for lies, and leave liars out; 0: none",
                     in_range(0, 1'000'000'000));
  command.add(fault_settings(settings));
  command.add(request_settings(settings));
  command.add_flag("--json", flags.json, "Print one JSON object");
  command.add_option("--html,--report", settings.html,
                     "Write a page about the faults and what became of requests");
}

}  // namespace shoal::cli
