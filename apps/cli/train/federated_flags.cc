#include "federated_flags.h"

#include <utility>

namespace shoal::cli {
namespace {

void add_scenario(FederatedFlags& f, const FlagGroup& group) {
  federated::Population& clients = f.options.population;
  group.add_setting("--clients", clients.clients, "Simulated clients", positive());
  group.add_setting("--per-round", f.options.per_round, "Clients that a round invites", positive());
  group.add_setting("--split", f.split,
                    "Their data: iid, or a few classes each and of few clients most",
                    one_of({"iid", "classes"}));
  group.add_setting("--classes-per-client", f.options.shards.classes, "Of --split classes",
                    positive());
  group.add_setting("--stragglers", clients.stragglers,
                    "Share that does part of its epochs in time", in_range(0.0, 1.0));
  group.add_setting("--present", clients.present, "Share that is there; clients join and leave",
                    in_range(0.0, 1.0));
  group.add_setting("--leaving", clients.leaving, "Share that leaves within a round",
                    in_range(0.0, 1.0));
  group.add_setting("--step-seconds", clients.step_seconds, "Virtual, of the fastest client",
                    positive());
  group.add_setting("--slowest", clients.slowest, "How many times slower the slowest client is",
                    in_range(1.0, 1e6));
  group.add_setting("--deadline", f.deadline,
                    "Of a round, in seconds, virtual ones of simulated clients; 0: none, or 600 on "
                    "workers",
                    not_negative());
}

}  // namespace

void FederatedFlags::add_to(Command& command) {
  command_ = &command;
  const FlagGroup all(command, "Federated");
  const Option* federated =
      all.add_flag("--federated", given,
                   "By clients that keep their data: simulated ones, or with --cluster workers "
                   "that have some; as in the scenario of FedProx, unless flags say otherwise");
  const FlagGroup group(command, "Federated", federated);
  group.add_setting("--strategy", strategy, "fedavg, fedprox, fedadam, fedavgm, median or trimmed",
                    one_of(federated::strategy_names()));
  group.add_setting("--rounds", options.rounds, "Rounds", positive());
  group.add_setting("--local-epochs", epochs, "Of a client in a round", positive());
  all.add_option("--local-steps", options.local_steps,
                 "Steps of a client in a round, in place of epochs; or with --cluster, of a worker "
                 "before it sends what it learned",
                 positive());
  group.add_option("--mu", mu, "Pull of FedProx towards the server's weights; default: 1",
                   not_negative());
  group.add_option("--evaluate-every", options.evaluate_every, "Rounds between two evaluations",
                   positive());
  group.add_option("--target-top1", options.target_top1,
                   "End with the round that reaches this many percent", in_range(0.0, 100.0));
  group.add_setting("--least", least,
                    "On workers: clients without whose reports a round changes nothing",
                    positive());
  group.add_flag("--secure-sum", secure_sum,
                 "The server sees the sum of what clients send, and no client's part");
  group.add_setting("--secure-range", secure_range,
                    "Of --secure-sum: changes of a weight in a round beyond it are clamped",
                    positive());
  add_scenario(*this, group);
}

federated::Options FederatedFlags::resolve(fit::TrainingOptions fit) const {
  return federated::resolve(*this, std::move(fit),
                            [this](const std::string& flag) { return command_->count(flag) > 0; });
}

Status FederatedFlags::check_for_workers() const {
  for (const char* flag : {"--clients", "--split", "--classes-per-client", "--stragglers",
                           "--present", "--leaving", "--step-seconds", "--slowest"}) {
    if (command_->count(flag) > 0) {
      return invalid(std::string(flag) + " is for simulated clients, not for workers");
    }
  }
  return {};
}

}  // namespace shoal::cli
