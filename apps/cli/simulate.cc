// shoal simulate: a plan carried out in virtual time.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "planning.h"
#include "streaming.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal simulate zoo:vgg16 --workers 4 --device nexus5 --link wifi-43.8 --json
  shoal simulate zoo:vgg16 --workers 4 --objective throughput --split stages
  shoal simulate zoo:resnet50 --workers 200 --device pi3 --link ethernet-100)";

struct Flags {
  PlanFlags plan;
  bool json = false;
};

// The row of a table, or one JSON object.
template <class Planned>
Outcome report(const Flags& flags, const Planned& planned, double single_ms, double cluster_ms,
               double wire_bytes) {
  if (flags.json) {
    std::printf("%s\n", to_json(planned).dump().c_str());
    return {};
  }
  Table table({"model", "workers", "plan", "one worker ms", "cluster ms", "speed-up", "wire"});
  table.add({planned.model, std::to_string(planned.cluster.workers.size()), planned.best().name,
             fixed(single_ms, 1), fixed(cluster_ms, 1), fixed(planned.speedup(), 2),
             in_bytes(static_cast<long long>(wire_bytes))});
  table.print();
  return {};
}

Outcome simulate_stream(const Flags& flags, plan::ClusterProfile cluster) {
  SHOAL_OR_EXIT(const PlannedStream planned, Exit::kModel,
                make_planned_stream(flags.plan, std::move(cluster)));
  const plan::Stream& stream = planned.best().stream;
  return report(flags, planned, 1e3 / planned.single_per_second,
                1e3 / planned.best().requests_per_second(),
                stream.wire_bytes / static_cast<double>(stream.answered.size()));
}

Outcome simulate_model(const Flags& flags) {
  SHOAL_OR_EXIT(plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.plan.cluster));
  if (flags.plan.is_stream()) return simulate_stream(flags, std::move(cluster));
  SHOAL_OR_EXIT(const Planned planned, Exit::kModel, make_planned(flags.plan, std::move(cluster)));
  return report(flags, planned, 1e3 * planned.single.timeline.seconds,
                1e3 * planned.best().timeline.seconds, planned.best().timeline.wire_bytes);
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
