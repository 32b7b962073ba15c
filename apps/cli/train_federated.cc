// shoal train --federated: clients learn one network, each from its own examples. They are
// simulated, or with --cluster workers that have data.
#include <chrono>
#include <cstdio>

#include "apps/commands/training/train.h"
#include "cluster/cluster_access.h"
#include "exit_codes.h"
#include "facts.h"
#include "shoal/base/timing/seconds_since.h"
#include "shoal/cluster/federated/run_rounds.h"
#include "shoal/cluster/federated/secure_mean.h"
#include "shoal/cluster/training/train_cluster.h"
#include "shoal/train/federated/simulation.h"
#include "train/cancel_on_signals.h"
#include "train/train_flags.h"

namespace shoal::cli {
namespace {

using federated::Figures;
using federated::RoundReport;

Facts facts_of(const Figures& figures, const federated::Weights& weights,
               const federated::ScenarioSettings& flags, uint64_t clients, double seconds) {
  return federated::facts_of(figures, {.strategy = flags.strategy,
                                       .clients = clients,
                                       .per_round = flags.options.per_round,
                                       .seconds = seconds,
                                       .weights_sha256 = train_cluster::sha256_of(weights),
                                       .secret = flags.secure_sum});
}

void show(const RoundReport& round) {
  std::fprintf(stderr, "%s\n", federated::text_of(round).c_str());
}

void say(const Status& why) { std::fprintf(stderr, "%s\n", std::string(why.message()).c_str()); }

Outcome ended(const TrainFlags& flags, const Figures& figures) {
  if (cancel_on_signals()->load()) {
    return {Exit::kInterrupted, "interrupted; nothing was written"};
  }
  return require_accuracy(figures.evaluation.top1(), flags.min_top1);
}

Outcome train_on_workers(const TrainFlags& flags, federated::Options rounds) {
  const Status usable = federated::check_for_workers(flags.given, flags.together.network);
  if (!usable.ok()) return fail(Exit::kUsage, usable);
  federated_cluster::RunOptions options{
      .hub = federated_cluster::hub_options(flags.federated, std::move(rounds)),
      .on_round = show,
      .on_loss = say,
      .cancelled = [cancel = cancel_on_signals()] { return cancel->load(); }};
  const Status checked = federated_cluster::check(options.hub);
  if (!checked.ok()) return fail(Exit::kUsage, checked);
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  PlanFlags cluster;
  cluster.network = flags.together.network;
  SHOAL_OR_EXIT(const auto access, Exit::kNetwork, open_access(cluster));
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome =
      federated_cluster::train(access->connection().coordinator(), *device, options);
  if (!outcome.ok()) return fail(Doing::kTrain, outcome.status());
  Facts facts = facts_of(outcome->figures, outcome->weights, flags.federated,
                         access->connection().workers().size(), seconds_since(begin));
  facts.push_back({"round_seconds", outcome->figures.seconds});
  facts.push_back({"workers_lost", outcome->lost.size()});
  print_facts(facts, flags.json);
  return ended(flags, outcome->figures);
}

}  // namespace

Outcome train_federated(const TrainFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions fit, Exit::kUsage, flags.resolve());
  if (!flags.report.empty()) return {Exit::kUsage, "--report is for training without --federated"};
  SHOAL_OR_EXIT(federated::Options options, Exit::kUsage,
                resolve(flags.federated, std::move(fit), flags.given, flags.together.codec));
  if (!flags.together.network.empty()) return train_on_workers(flags, std::move(options));
  if (flags.federated.secure_sum) {
    options.merge_secretly = federated_cluster::merge_by_secure_sum(flags.federated.secure_range);
  }
  ModelFlags one_thread = flags.model;
  one_thread.threads = 1;
  SHOAL_OR_EXIT(const auto clients, Exit::kDevice, make_device(one_thread));
  SHOAL_OR_EXIT(const auto server, Exit::kDevice, make_device(flags.model));
  options.threads = server->info().threads;
  const std::atomic<bool>* const cancel = cancel_on_signals();
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome =
      federated::train({*clients, *server}, options,
                       {.on_round = show, .cancelled = [cancel] { return cancel->load(); }});
  if (!outcome.ok()) return fail(Doing::kTrain, outcome.status());
  Facts facts = facts_of(outcome->figures, outcome->weights, flags.federated,
                         options.population.clients, seconds_since(begin));
  facts.push_back({"virtual_seconds", outcome->figures.seconds});
  print_facts(facts, flags.json);
  return ended(flags, outcome->figures);
}

}  // namespace shoal::cli
