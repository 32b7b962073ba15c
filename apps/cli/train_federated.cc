// shoal train --federated: clients learn one network, each from its own examples. They are
// simulated, or with --cluster workers that have data.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cluster/cluster_access.h"
#include "exit_codes.h"
#include "facts.h"
#include "shoal/base/machine.h"
#include "shoal/federated/simulation.h"
#include "shoal/federated_cluster/run.h"
#include "shoal/federated_cluster/secure_mean.h"
#include "shoal/train_cluster/train_cluster.h"
#include "train/cancel_on_signals.h"
#include "train/train_flags.h"

namespace shoal::cli {
namespace {

using federated::Figures;
using federated::RoundReport;

// What it costs that nobody sees what a client sends, beside sending it openly.
void add_secret(const Figures& figures, std::vector<Fact>& facts) {
  const federated::SecretCost& cost = figures.secret;
  const auto rounds = static_cast<double>(std::max<int64_t>(figures.rounds, 1));
  const double times = cost.plain_bytes > 0 ? cost.bytes / cost.plain_bytes : 0;
  facts.push_back({"secure_traffic", times, "secure traffic", 3, " x"});
  facts.push_back({"secure_client_ms", 1e3 * cost.client_seconds / rounds, "client ms/round", 1});
  facts.push_back({"secure_server_ms", 1e3 * cost.server_seconds / rounds, "server ms/round", 1});
  facts.push_back({"secure_bytes", cost.bytes / rounds});
  facts.push_back({"secure_clamped", figures.clamped});
}

Fact top1_of(const Figures& figures) {
  const bool is_known = std::ranges::any_of(
      figures.history, [](const RoundReport& round) { return round.top1 >= 0; });
  if (!is_known) return {"top1", Json(nullptr), "held-out top-1", "unknown"};
  return {"top1", figures.evaluation.top1(), "held-out top-1", 2, " %"};
}

std::vector<Fact> facts_of(const Figures& figures, const federated::Weights& weights,
                           const FederatedFlags& flags, uint64_t clients, double seconds) {
  Json top1s = Json::array();
  for (const RoundReport& round : figures.history) {
    top1s.push_back(round.top1 < 0 ? Json(nullptr) : Json(round.top1));
  }
  std::vector<Fact> facts = {
      {"rounds", figures.rounds, "rounds"},
      {"loss", figures.loss, "loss", 4},
      top1_of(figures),
      {"invited", figures.invited, "invited"},
      {"reported", figures.reported, "reported"},
      {"stragglers", figures.stragglers, "stragglers"},
      {"left", figures.left, "left"},
      counted("bytes", figures.bytes, "bytes"),
      {"seconds", seconds, "seconds", 1},
      {"peak_rss_mb", static_cast<double>(peak_memory_bytes()) / (1 << 20), "peak RSS MB", 1},
      {"best_top1", figures.best_top1},
      {"strategy", flags.strategy},
      {"clients", clients},
      {"per_round", flags.options.per_round},
      {"failed", figures.failed},
      {"codec", std::string(learn::name_of(figures.codec))},
      {"report_bytes", figures.report_bytes},
      {"training_share", figures.training_share},
      {"bookkeeping_share", figures.bookkeeping_share},
      {"weights_sha256", train_cluster::sha256_of(weights)},
      {"top1_by_round", top1s}};
  if (flags.secure_sum) add_secret(figures, facts);
  return facts;
}

void show(const RoundReport& round) {
  const std::string top1 = round.top1 < 0 ? "" : "; held out: top-1 " + fixed(round.top1, 2) + " %";
  std::fprintf(stderr, "round %lld: loss %.4f; %zu of %zu reported, %zu late, %zu left%s\n",
               static_cast<long long>(round.round), round.loss, round.reported, round.invited,
               round.stragglers, round.left, top1.c_str());
}

void say(const Status& why) { std::fprintf(stderr, "%s\n", std::string(why.message()).c_str()); }

// A timer from its making on.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Outcome ended(const TrainFlags& flags, const Figures& figures) {
  if (cancel_on_signals()->load()) {
    return {Exit::kInterrupted, "interrupted; nothing was written"};
  }
  return require_accuracy(figures.evaluation.top1(), flags.min_top1);
}

Outcome train_on_workers(const TrainFlags& flags, federated::Options rounds) {
  constexpr double kDeadline = 600;  // seconds
  if (flags.together.network == "mpi") return {Exit::kUsage, "ranks of MPI have no data"};
  const Status usable = flags.federated.check_for_workers();
  if (!usable.ok()) return fail(Exit::kUsage, usable);
  if (flags.federated.deadline == 0) rounds.population.deadline = kDeadline;
  federated_cluster::RunOptions options{
      .hub = {.rounds = std::move(rounds),
              .least = flags.federated.least,
              .secret = flags.federated.secure_sum,
              .range = flags.federated.secure_range},
      .on_round = show,
      .on_loss = say,
      .cancelled = [cancel = cancel_on_signals()] { return cancel->load(); }};
  const Status checked = federated_cluster::check(options.hub);
  if (!checked.ok()) return fail(Exit::kUsage, checked);
  SHOAL_OR_EXIT(const auto device, Exit::kDevice, make_device(flags.model));
  PlanFlags cluster;
  cluster.network = flags.together.network;
  SHOAL_OR_EXIT(const auto access, Exit::kNetwork, open_access(cluster));
  const Stopwatch watch;
  const auto outcome =
      federated_cluster::train(access->connection().coordinator(), *device, options);
  if (!outcome.ok()) return fail(Doing::kTrain, outcome.status());
  std::vector<Fact> facts = facts_of(outcome->figures, outcome->weights, flags.federated,
                                     access->connection().workers().size(), watch.seconds());
  facts.push_back({"round_seconds", outcome->figures.seconds});
  facts.push_back({"workers_lost", outcome->lost.size()});
  print_facts(facts, flags.json);
  return ended(flags, outcome->figures);
}

}  // namespace

Outcome train_federated(const TrainFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions fit, Exit::kUsage, flags.resolve());
  if (!flags.report.empty()) return {Exit::kUsage, "--report is for training without --federated"};
  fit.checkpoint.clear();
  federated::Options options = flags.federated.resolve(std::move(fit));
  const auto codec = learn::find_codec(flags.together.codec);
  if (!codec) return {Exit::kUsage, "--codec auto is for training without --federated"};
  options.codec = *codec;
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
  const Stopwatch watch;
  const auto outcome =
      federated::train({*clients, *server}, options,
                       {.on_round = show, .cancelled = [cancel] { return cancel->load(); }});
  if (!outcome.ok()) return fail(Doing::kTrain, outcome.status());
  std::vector<Fact> facts = facts_of(outcome->figures, outcome->weights, flags.federated,
                                     options.population.clients, watch.seconds());
  facts.push_back({"virtual_seconds", outcome->figures.seconds});
  print_facts(facts, flags.json);
  return ended(flags, outcome->figures);
}

}  // namespace shoal::cli
