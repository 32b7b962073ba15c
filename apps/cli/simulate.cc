// shoal simulate: a plan carried out in virtual time.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "planning.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal simulate zoo:vgg16 --workers 4 --device nexus5 --link wifi-43.8 --json
  shoal simulate zoo:resnet50 --workers 200 --device pi3 --link ethernet-100)";

struct Flags {
  PlanFlags plan;
  bool json = false;
};

Outcome simulate_model(const Flags& flags) {
  SHOAL_OR_EXIT(plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.plan.cluster));
  SHOAL_OR_EXIT(const Planned planned, Exit::kModel, make_planned(flags.plan, std::move(cluster)));
  if (flags.json) {
    std::printf("%s\n", to_json(planned).dump().c_str());
    return {};
  }
  Table table({"model", "workers", "plan", "one worker ms", "cluster ms", "speed-up", "wire"});
  table.add({planned.model, std::to_string(planned.cluster.workers.size()), planned.best().name,
             fixed(1e3 * planned.single.timeline.seconds, 1),
             fixed(1e3 * planned.best().timeline.seconds, 1), fixed(planned.speedup(), 2),
             in_bytes(static_cast<long long>(planned.best().timeline.wire_bytes))});
  table.print();
  return {};
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("simulate", "Run a model on devices that are not there, in virtual time");
  command->footer(kExamples);
  flags->plan.add_to(*command);
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback([flags, &action] { action = [flags] { return simulate_model(*flags); }; });
}

}  // namespace shoal::cli
