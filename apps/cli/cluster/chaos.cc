// shoal chaos: what becomes of requests while workers are killed, stopped and cut off.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "../cli.h"
#include "../progress.h"
#include "../table.h"
#include "cluster_commands.h"
#include "shoal/chaos/history.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal chaos --sim --histories 20000 --seed 1     simulated clusters, faults of all kinds
A history that breaks a promise is named by its seed, and happens again with
'--histories 1 --seed' and that.)";

struct Flags {
  bool sim = false;
  uint64_t histories = 1000;
  uint64_t seed = 1;
  bool json = false;
};

chaos::Campaign simulate(const Flags& flags) {
  constexpr uint64_t kAtOnce = 100;
  chaos::Campaign all;
  Progress progress("histories", flags.histories);
  while (all.histories < flags.histories) {
    const uint64_t count = std::min(kAtOnce, flags.histories - all.histories);
    all += chaos::live_through(flags.seed + all.histories, count);
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

}  // namespace

void add_chaos(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("chaos", "See what becomes of requests while workers fail");
  command->footer(kExamples);
  command->add_flag("--sim", flags->sim, "Simulated clusters, in virtual time")->required();
  command->add_option("--histories", flags->histories, "How many of them")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "From which everything follows")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback(
      [flags, &action] { action = [flags] { return report(*flags, simulate(*flags)); }; });
}

}  // namespace shoal::cli
