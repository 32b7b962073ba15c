// shoal chaos: what becomes of requests while workers are killed, stopped and cut off.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "../cli.h"
#include "../cluster_file.h"
#include "../model.h"
#include "../progress.h"
#include "../table.h"
#include "cluster_commands.h"
#include "one_heap.h"
#include "places.h"
#include "shoal/chaos/history.h"
#include "shoal/passes/passes.h"
#include "trial.h"
#include "trial_view.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal chaos --workers 5 --survive 1 --kills 20 --requests 200 --model zoo:mobilenetv2
  shoal chaos --seconds 60                         faults of all kinds, as often as each other; watch
  shoal chaos --seconds 60 --emulate cluster.toml  the same on emulated devices
  shoal chaos --partitions 20 --at computing       while the worker that is cut off computes
  shoal chaos --workers 3 --survive 0 --stops 5    without protection: requests are replayed
  shoal chaos --sim --histories 20000 --seed 1     simulated clusters, faults of all kinds
Workers are processes of this machine, and what happens between them does so in these: it takes no
privileges. Points of a request: submitted, input-arrives, piece-arrives, computing, computed,
answer-arrives; of a worker that is folded in again: deploying, ready. A simulated history that
breaks a promise is named by its seed, and happens again with '--histories 1 --seed' and that.)";

struct Flags {
  bool sim = false;
  uint64_t histories = 1000;
  TrialFlags trial;
  bool json = false;
};

chaos::Campaign simulate(const Flags& flags) {
  constexpr uint64_t kAtOnce = 100;
  chaos::Campaign all;
  Progress progress("histories", flags.histories);
  while (all.histories < flags.histories) {
    const uint64_t count = std::min(kAtOnce, flags.histories - all.histories);
    all += chaos::live_through(flags.trial.seed + all.histories, count);
    progress.at(all.histories);
  }
  return all;
}

Outcome report(const Flags& flags, const chaos::Campaign& campaign) {
  if (flags.json) {
    const nlohmann::json result = {{"histories", campaign.histories},
                                   {"violations", campaign.violations},
                                   {"first_bad_seed", campaign.first_bad_seed},
                                   {"requests", campaign.requests},
                                   {"answered", campaign.answered},
                                   {"failed", campaign.failed},
                                   {"replayed", campaign.replayed}};
    std::printf("%s\n", result.dump().c_str());
  } else {
    Table table({"histories", "requests", "answered", "failed", "replayed", "violations"});
    const auto shown = [](uint64_t n) { return with_commas(static_cast<long long>(n)); };
    table.add({shown(campaign.histories), shown(campaign.requests), shown(campaign.answered),
               shown(campaign.failed), shown(campaign.replayed), shown(campaign.violations)});
    table.print();
  }
  if (campaign.violations == 0) return {};
  return {Exit::kAccuracy,
          "seed " + std::to_string(campaign.first_bad_seed) + ": " + campaign.first_violation};
}

nlohmann::json to_json(const TrialFigures& figures) {
  return {{"requests", figures.requests},
          {"answered", figures.answered},
          {"failed", figures.failed},
          {"wrong", figures.wrong},
          {"replayed", figures.replayed},
          {"resent_to_dead", figures.resent_to_dead},
          {"faults", figures.returns.count()},
          {"kinds", figures.kinds},
          {"at_points", figures.at_points},
          {"calm_p50_ms", figures.calm.at(0.5)},
          {"calm_p99_ms", figures.calm.at(0.99)},
          {"p50_ms", figures.faulty.at(0.5)},
          {"p99_ms", figures.faulty.at(0.99)},
          {"after_p50_ms", figures.after.at(0.5)},
          {"longest_ms", figures.faulty.longest()},
          {"recovery_ms_max", figures.recovery_ms_max},
          {"return_ms_p50", figures.returns.at(0.5)},
          {"return_ms_max", figures.returns.longest()}};
}

unsigned long long as_long(uint64_t n) { return n; }

void print(const TrialFigures& figures) {
  Table table({"", "requests", "p50 ms", "p99 ms", "longest ms"});
  const auto add = [&](const char* what, const Latencies& ms) {
    table.add({what, std::to_string(ms.count()), fixed(ms.at(0.5), 1), fixed(ms.at(0.99), 1),
               fixed(ms.longest(), 1)});
  };
  add("before", figures.calm);
  add("during", figures.faulty);
  add("after", figures.after);
  table.print();
  std::printf("faults: %llu; answered meanwhile: %llu, failed %llu, wrong %llu, replayed %llu\n",
              as_long(figures.returns.count()), as_long(figures.answered), as_long(figures.failed),
              as_long(figures.wrong), as_long(figures.replayed));
}

Outcome try_for_real(const Flags& flags) {
  share_one_heap();
  size_t workers = flags.trial.workers;
  if (!flags.trial.cluster.empty()) {
    SHOAL_OR_EXIT(const auto cluster, Exit::kUsage, read_cluster(flags.trial.cluster));
    workers = cluster.workers.size();
  }
  if (flags.trial.survive >= static_cast<int>(workers)) {
    return {Exit::kUsage, "to survive the loss of " + std::to_string(flags.trial.survive) +
                              " takes " + std::to_string(flags.trial.survive + 1) + " workers"};
  }
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(flags.trial.model, {}));
  SHOAL_OR_EXIT(const Graph graph, Exit::kModel, passes::optimize(loaded.graph));
  TrialView view(flags.trial);
  const auto figures =
      put_on_trial(flags.trial, graph, [&](const TrialState& state) { view.show(state); });
  if (!figures.ok()) return fail(exit_of(figures.status()), figures.status());
  if (flags.json) {
    std::printf("%s\n", to_json(*figures).dump().c_str());
  } else {
    print(*figures);
  }
  if (figures->wrong > 0) return {Exit::kAccuracy, "answers are wrong"};
  if (figures->failed > 0) return {Exit::kNetwork, figures->first_failure};
  return {};
}

void add_counts(CLI::App& command, MishapCounts& counts) {
  const auto add = [&](const char* name, size_t& count, const char* help) {
    command.add_option(name, count, help)->check(CLI::Range(0, 1'000'000))->group("Faults");
  };
  add("--kills", counts.kills,
      "Times that a worker is killed and started again; 10 if nothing else is asked for");
  add("--stops", counts.stops, "Times that one is stopped for a while");
  add("--slows", counts.slows, "Times that one is slowed down for a while");
  add("--partitions", counts.partitions,
      "Times that one is cut off: one way, both ways or on and off, from one machine or all");
  add("--delays", counts.delays, "Times that all comes late to one and from it, for a while");
  add("--breaks", counts.breaks, "Times that a connection of one breaks");
  add("--corruptions", counts.corruptions, "Times that bytes to one or from it are damaged");
}

// Where none is asked for by name.
MishapCounts default_counts(const TrialFlags& flags) {
  if (flags.seconds > 0) return {1, 1, 1, 1, 1, 1, 1};
  return {.kills = 10};
}

bool names_faults(const CLI::App& command) {
  const auto options = command.get_options(
      [](const CLI::Option* option) { return option->get_group() == "Faults"; });
  return std::ranges::any_of(options, [](const CLI::Option* one) { return one->count() > 0; });
}

std::vector<std::string> places() {
  std::vector<std::string> names = {kAnywhere, kAnyMoment};
  names.insert(names.end(), cluster::kFaultPointNames.begin(), cluster::kFaultPointNames.end());
  return names;
}

void add_trial(CLI::App& command, TrialFlags& flags) {
  CLI::Option* workers = command.add_option("--workers", flags.workers, "Processes")
                             ->check(CLI::Range(1, 64))
                             ->capture_default_str();
  CLI::Option* emulated =
      command
          .add_option("--emulate", flags.cluster, "Emulated devices in their place: cluster.toml")
          ->check(CLI::ExistingFile)
          ->excludes(workers);
  command.add_option("--dilate", flags.dilation, "Times as slow as the real ones; 0: as needed")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(emulated);
  command.add_option("--survive", flags.survive, "Losses at once that plans are made for")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  add_counts(command, flags.mishaps);
  command.add_option("--at", flags.at, "Where in a request, or in the return of a worker")
      ->check(CLI::IsMember(places()))
      ->capture_default_str();
  command
      .add_option("--seconds", flags.seconds,
                  "Faults for so long, whatever their number and that of requests")
      ->check(CLI::Range(0.0, 1e7));
  command.add_option("--requests", flags.requests, "Requests that meet these")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command.add_option("--seed", flags.seed, "From which everything is drawn")->capture_default_str();
  command.add_option("--model", flags.model, "ONNX file or zoo:NAME")->capture_default_str();
}

}  // namespace

void add_chaos(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("chaos", "See what becomes of requests while workers fail");
  command->footer(kExamples);
  add_trial(*command, flags->trial);
  command->add_flag("--sim", flags->sim, "Simulated clusters, in virtual time");
  command->add_option("--histories", flags->histories, "How many of them")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback([flags, command, &action] {
    if (!names_faults(*command)) flags->trial.mishaps = default_counts(flags->trial);
    action = [flags] {
      return flags->sim ? report(*flags, simulate(*flags)) : try_for_real(*flags);
    };
  });
}

}  // namespace shoal::cli
