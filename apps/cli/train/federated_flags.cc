#include "federated_flags.h"

namespace shoal::cli {
namespace {

constexpr const char* kFederated = "Federated";

}  // namespace

void FederatedFlags::add_scenario_to(Command& command, const Option* federated) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)
        ->needs(federated)
        ->capture_default_str()
        ->group(kFederated);
  };
  add("--clients", options.population.clients, "Simulated clients")->check(positive());
  add("--per-round", options.per_round, "Clients that a round invites")->check(positive());
  add("--split", split, "Their data: iid, or a few classes each and of few clients most")
      ->check(one_of({"iid", "classes"}));
  add("--classes-per-client", options.shards.classes, "Of --split classes")->check(positive());
  add("--stragglers", options.population.stragglers, "Share that does part of its epochs in time")
      ->check(in_range(0.0, 1.0));
  add("--present", options.population.present, "Share that is there; clients join and leave")
      ->check(in_range(0.0, 1.0));
  add("--leaving", options.population.leaving, "Share that leaves within a round")
      ->check(in_range(0.0, 1.0));
  add("--step-seconds", options.population.step_seconds, "Virtual, of the fastest client")
      ->check(positive());
  add("--slowest", options.population.slowest, "How many times slower the slowest client is")
      ->check(in_range(1.0, 1e6));
  add("--deadline", deadline, "Of a round, in virtual seconds; 0: none")->check(not_negative());
}

void FederatedFlags::add_to(Command& command) {
  command_ = &command;
  Option* federated =
      command
          .add_flag("--federated", given,
                    "By simulated clients that keep their data; as in the scenario of FedProx, "
                    "unless flags say otherwise")
          ->group(kFederated);
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->needs(federated)->group(kFederated);
  };
  add("--strategy", strategy, "fedavg, fedprox, fedadam, fedavgm, median or trimmed")
      ->check(one_of(federated::strategy_names()))
      ->capture_default_str();
  add("--rounds", options.rounds, "Rounds")->check(positive())->capture_default_str();
  add("--local-epochs", epochs, "Of a client in a round")->check(positive())->capture_default_str();
  command
      .add_option(
          "--local-steps", options.local_steps,
          "Steps of a client in a round, in place of epochs; or with --cluster, of a worker "
          "before it sends what it learned")
      ->check(positive())
      ->group(kFederated);
  add("--mu", mu, "Pull of FedProx towards the server's weights; default: 1")
      ->check(not_negative());
  add("--evaluate-every", options.evaluate_every, "Rounds between two evaluations")
      ->check(positive());
  add("--target-top1", options.target_top1, "End with the round that reaches this many percent")
      ->check(in_range(0.0, 100.0));
  add_scenario_to(command, federated);
}

federated::Options FederatedFlags::resolve(fit::TrainingOptions fit) const {
  federated::Options all = options;
  if (!was_given("--batch")) fit.batch = 10;
  if (!was_given("--momentum")) fit.optimizer.momentum = 0;
  if (!was_given("--schedule")) fit.schedule = train::Schedule::Kind::kConstant;
  if (!was_given("--rate") && fit.optimizer.rule == train::OptimizerOptions::Rule::kSgd) {
    fit.optimizer.rate = 0.03f;
  }
  fit.epochs = epochs;
  all.population.seed = fit.seed;
  all.fit = std::move(fit);
  all.strategy = *federated::find_strategy(strategy);
  if (mu >= 0) all.strategy.mu = mu;
  if (deadline > 0) all.population.deadline = deadline;
  all.shards.split = split == "iid" ? federated::ShardOptions::Split::kIid
                                    : federated::ShardOptions::Split::kClasses;
  return all;
}

}  // namespace shoal::cli
