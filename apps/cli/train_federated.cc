// shoal train --federated: simulated clients learn one network, each from its own examples.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "exit_codes.h"
#include "facts.h"
#include "shoal/base/machine.h"
#include "shoal/federated/simulation.h"
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

std::vector<Fact> facts_of(const federated::Outcome& outcome, const FederatedFlags& flags,
                           double seconds) {
  const Figures& figures = outcome.figures;
  Json top1s = Json::array();
  for (const RoundReport& round : figures.history) {
    top1s.push_back(round.top1 < 0 ? Json(nullptr) : Json(round.top1));
  }
  std::vector<Fact> facts = {
      {"rounds", figures.rounds, "rounds"},
      {"loss", figures.loss, "loss", 4},
      {"top1", figures.evaluation.top1(), "held-out top-1", 2, " %"},
      {"invited", figures.invited, "invited"},
      {"reported", figures.reported, "reported"},
      {"stragglers", figures.stragglers, "stragglers"},
      {"left", figures.left, "left"},
      counted("bytes", figures.bytes, "bytes"),
      {"seconds", seconds, "seconds", 1},
      {"peak_rss_mb", static_cast<double>(peak_memory_bytes()) / (1 << 20), "peak RSS MB", 1},
      {"best_top1", figures.best_top1},
      {"strategy", flags.strategy},
      {"clients", flags.options.population.clients},
      {"per_round", flags.options.per_round},
      {"failed", figures.failed},
      {"codec", std::string(learn::name_of(figures.codec))},
      {"report_bytes", figures.report_bytes},
      {"virtual_seconds", figures.seconds},
      {"training_share", figures.training_share},
      {"bookkeeping_share", figures.bookkeeping_share},
      {"weights_sha256", train_cluster::sha256_of(outcome.weights)},
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

}  // namespace

Outcome train_federated(const TrainFlags& flags) {
  SHOAL_OR_EXIT(fit::TrainingOptions fit, Exit::kUsage, flags.resolve());
  fit.checkpoint.clear();
  federated::Options options = flags.federated.resolve(std::move(fit));
  const auto codec = learn::find_codec(flags.together.codec);
  if (!codec) return {Exit::kUsage, "--codec auto needs --cluster"};
  options.codec = *codec;
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
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  print_facts(facts_of(*outcome, flags.federated, taken.count()), flags.json);
  if (cancel->load()) return {Exit::kInterrupted, "interrupted; nothing was written"};
  return require_accuracy(outcome->figures.evaluation.top1(), flags.min_top1);
}

}  // namespace shoal::cli
