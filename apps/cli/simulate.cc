// shoal simulate: a plan carried out in virtual time.

#include "apps/flags/json.h"
#include "cli.h"
#include "cluster/day.h"
#include "planning.h"
#include "shoal/plan/stream/straggler_latencies.h"
#include "streaming.h"
#include "table.h"

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

// The row of a table, or one JSON object.
template <class Planned>
Outcome report(const Flags& flags, const Planned& planned, double single_ms, double cluster_ms,
               double wire_bytes) {
  if (flags.json) {
    print_json(to_json(planned));
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

// The plan as it is, and as it would be if readers waited for all that is not lost.
Outcome simulate_stragglers(const Flags& flags, const Planned& planned) {
  constexpr size_t kRequests = 1000;
  const plan::Prediction& best = planned.best();
  const auto [first, all] =
      plan::simulate_stragglers(best, planned.cluster, kRequests, {flags.seed, flags.stragglers});
  if (flags.json) {
    const Json result = {{"model", planned.model},
                         {"plan", best.name},
                         {"stragglers", flags.stragglers},
                         {"requests", kRequests},
                         {"mean_ms", first.mean()},
                         {"p50_ms", first.quantile(0.5)},
                         {"p99_ms", first.quantile(0.99)},
                         {"waiting_mean_ms", all.mean()},
                         {"waiting_p50_ms", all.quantile(0.5)},
                         {"waiting_p99_ms", all.quantile(0.99)}};
    print_json(result);
    return {};
  }
  Table table({"model", "plan", "", "mean ms", "p50", "p99"});
  const auto add = [&, &first = first, &all = all](const std::string& model,
                                                   const std::string& name, const char* how,
                                                   const auto& cell) {
    table.add({model, name, how, cell(first.mean(), all.mean()),
               cell(first.quantile(0.5), all.quantile(0.5)),
               cell(first.quantile(0.99), all.quantile(0.99))});
  };
  add(planned.model, best.name, "waiting for all", [](double, double ms) { return fixed(ms, 1); });
  add("", "", "first that are enough", [](double ms, double) { return fixed(ms, 1); });
  add("", "", "less",
      [](double now, double before) { return fixed(100 * (1 - now / before), 0) + " %"; });
  table.print();
  return {};
}

Outcome simulate_model(const Flags& flags) {
  if (flags.day.day) return simulate_day(flags.plan, flags.day, flags.seed, flags.json);
  SHOAL_OR_EXIT(plan::ClusterProfile cluster, Exit::kUsage, make_cluster(flags.plan));
  if (flags.plan.is_stream()) return simulate_stream(flags, std::move(cluster));
  if (const Status status = check_survival(flags.plan, cluster); !status.ok()) {
    return fail(Exit::kUsage, status);
  }
  SHOAL_OR_EXIT(const Planned planned, Exit::kModel, make_planned(flags.plan, std::move(cluster)));
  if (flags.stragglers > 1) return simulate_stragglers(flags, planned);
  return report(flags, planned, 1e3 * planned.single.timeline.seconds,
                1e3 * planned.best().timeline.seconds, planned.best().timeline.wire_bytes);
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
