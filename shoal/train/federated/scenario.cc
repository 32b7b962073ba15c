#include "shoal/train/federated/scenario.h"

#include <utility>

namespace shoal::federated {
namespace {

SettingList settings_of_rounds(ScenarioSettings& s) {
  return {
      Setting("mu", s.mu, "Pull of FedProx towards the server's weights; default: 1")
          .not_negative()
          .hiding_default(),
      Setting("evaluate-every", s.options.evaluate_every, "Rounds between two evaluations")
          .positive()
          .hiding_default(),
      Setting("target-top1", s.options.target_top1,
              "End with the round that reaches this many percent")
          .in(0, 100),
      Setting("least", s.least, "On workers: clients without whose reports a round changes nothing")
          .positive(),
      {"secure-sum", s.secure_sum,
       "An honest server sees the sum of what clients send, and no client's part"},
      Setting("secure-range", s.secure_range,
              "Of --secure-sum: changes of a weight in a round beyond it are clamped")
          .positive()};
}

SettingList settings_of_clients(ScenarioSettings& s) {
  Population& clients = s.options.population;
  return {
      Setting("clients", clients.clients, "Simulated clients").positive(),
      Setting("per-round", s.options.per_round, "Clients that a round invites").positive(),
      Setting("split", s.split, "Their data: iid, or a few classes each and of few clients most")
          .one_of({"iid", "classes"}),
      Setting("classes-per-client", s.options.shards.classes, "Of --split classes").positive(),
      Setting("stragglers", clients.stragglers, "Share that does part of its epochs in time")
          .in(0, 1),
      Setting("present", clients.present, "Share that is there; clients join and leave").in(0, 1),
      Setting("leaving", clients.leaving, "Share that leaves within a round")
          .in(0, 1)
          .showing_default(),
      Setting("step-seconds", clients.step_seconds, "Virtual, of the fastest client").positive(),
      Setting("slowest", clients.slowest, "How many times slower the slowest client is").in(1, 1e6),
      Setting("deadline", s.deadline,
              "Of a round, in seconds, virtual ones of simulated clients; 0: none, or 600 on "
              "workers")
          .not_negative()
          .showing_default()};
}

}  // namespace

SettingList settings_of(ScenarioSettings& s) {
  const SettingList first = {
      Setting("strategy", s.strategy, "fedavg, fedprox, fedadam, fedavgm, median or trimmed")
          .one_of(strategy_names()),
      Setting("rounds", s.options.rounds, "Rounds").positive(),
      Setting("local-epochs", s.epochs, "Of a client in a round").positive()};
  // Workers that train together may take several steps, too.
  const Setting local_steps =
      Setting("local-steps", s.options.local_steps,
              "Steps of a client in a round, in place of epochs; or with --cluster, of a worker "
              "before it sends what it learned")
          .positive();
  const Setting on(
      "federated", s.on,
      "By clients that keep their data: simulated ones, or with --cluster workers that "
      "have some; as in the scenario of FedProx, unless flags say otherwise");
  return joined({{on},
                 needing("federated", first),
                 {local_steps},
                 needing("federated", joined({settings_of_rounds(s), settings_of_clients(s)}))});
}

Status check_for_workers(const GivenFlags& given, std::string_view network) {
  if (network == "mpi") return invalid("ranks of MPI have no data");
  for (const char* name : {"clients", "split", "classes-per-client", "stragglers", "present",
                           "leaving", "step-seconds", "slowest"}) {
    if (given(std::string("--") + name)) {
      return invalid(std::string(name) + " is for simulated clients, not for workers");
    }
  }
  return {};
}

Options resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                const GivenFlags& given) {
  Options all = settings.options;
  if (!given("--batch")) fit.batch = 10;
  if (!given("--momentum")) fit.optimizer.momentum = 0;
  if (!given("--schedule")) fit.schedule = train::Schedule::Kind::kConstant;
  if (!given("--rate") && fit.optimizer.rule == train::OptimizerOptions::Rule::kSgd) {
    fit.optimizer.rate = 0.03f;
  }
  fit.epochs = settings.epochs;
  all.population.seed = fit.seed;
  all.fit = std::move(fit);
  all.strategy = *find_strategy(settings.strategy);
  if (settings.mu >= 0) all.strategy.mu = settings.mu;
  if (settings.deadline > 0) all.population.deadline = settings.deadline;
  all.shards.split =
      settings.split == "iid" ? ShardOptions::Split::kIid : ShardOptions::Split::kClasses;
  return all;
}

Result<Options> resolve(const ScenarioSettings& settings, fit::TrainingOptions fit,
                        const GivenFlags& given, std::string_view codec) {
  fit.checkpoint.clear();
  Options all = resolve(settings, std::move(fit), given);
  const auto kind = learn::find_codec(codec);
  if (!kind) return invalid("codec " + std::string(codec) + " is for training without federated");
  all.codec = *kind;
  return all;
}

}  // namespace shoal::federated
