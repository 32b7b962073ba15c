// shoal simulate: a plan carried out in virtual time.

#include "apps/commands/plans/plan.h"
#include "cli.h"
#include "cluster/day.h"
#include "facts.h"
#include "planning.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal simulate zoo:vgg16 --workers 4 --device nexus5 --link wifi-43.8 --json
  shoal simulate zoo:vgg16 --workers 4 --objective throughput --split stages
  shoal simulate zoo:resnet50 --workers 200 --device pi3 --link ethernet-100
  shoal simulate zoo:alexnet --workers 5 --survive 1 --stragglers 10   one in turn is 10 times slower
  shoal simulate zoo:resnet18 --workers 1000 --day --rate 20   a day of requests, losses and joins)";

struct Flags {
  PlanFlags plan;
  DayFlags day;
  double stragglers = 1;
  unsigned seed = 1;
  bool json = false;
};

template <class Planned>
Outcome report(const Flags& flags, const Planned& planned) {
  if (flags.json) {
    print_json(to_json(planned));
  } else {
    table_of({facts_of(beside_one(planned, planned.model))}).print();
  }
  return {};
}

// The plan as it is, and as it would be if readers waited for all that is not lost.
Outcome simulate_stragglers(const Flags& flags, const Planned& planned) {
  constexpr size_t kRequests = 1000;
  const plan::Prediction& best = planned.best();
  const plan::StragglerLatencies latencies =
      plan::simulate_stragglers(best, planned.cluster, kRequests, {flags.seed, flags.stragglers});
  if (!flags.json) {
    table_of(rows_of(latencies, planned.model, best.name)).print();
    return {};
  }
  Json result = to_json(latencies);
  result.update({{"model", planned.model}, {"plan", best.name}, {"stragglers", flags.stragglers}});
  print_json(result);
  return {};
}

Outcome simulate_model(const Flags& flags) {
  if (flags.day.day) return simulate_day(flags.plan, flags.day, flags.seed, flags.json);
  SHOAL_OR_EXIT(plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.plan));
  if (flags.plan.is_stream()) {
    SHOAL_OR_EXIT(const PlannedStream planned, Exit::kModel,
                  make_planned_stream(flags.plan, std::move(cluster)));
    return report(flags, planned);
  }
  if (const Status status = check_survival(flags.plan, cluster); !status.ok()) {
    return fail(Exit::kUsage, status);
  }
  SHOAL_OR_EXIT(const Planned planned, Exit::kModel, make_planned(flags.plan, std::move(cluster)));
  if (flags.stragglers > 1) return simulate_stragglers(flags, planned);
  return report(flags, planned);
}

}  // namespace

void DayFlags::add_to(Command& command) {
  Option* flag = command.add_flag(
      "--day", day, "A day of requests, in teams of workers that are lost and join again");
  const FlagGroup of_day(command, "", flag);
  of_day.add_setting("--hours", hours, "Hours of the day", in_range(0.001, 24.0 * 366));
  of_day.add_setting("--rate", rate, "Requests a second, on the average", in_range(1e-6, 1e6));
  of_day.add_setting("--losses", losses, "Losses of each worker in 24 hours, on the average",
                     in_range(0.0, 1e5));
  of_day.add_setting("--away", away_minutes, "Minutes until a lost worker joins again, likewise",
                     in_range(0.001, 1e6));
  of_day.add_setting("--team", team, "Workers that answer a request together", in_range(1, 64));
}

void add_simulate(Command& app, Action& action) {
  const auto [command, flags] = add_command(
      app, action, "simulate", "Run a model on devices that are not there, in virtual time",
      kExamples, simulate_model);
  flags.plan.add_to(command);
  command.add_option("--stragglers", flags.stragglers,
                     "One worker of each request, drawn, is so many times slower",
                     in_range(1.0, 1e6));
  flags.day.add_to(command);
  command.add_setting("--seed", flags.seed, "Of what is drawn");
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace shoal::cli
