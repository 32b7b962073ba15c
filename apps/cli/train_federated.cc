// shoal train --federated: simulated clients learn one network, each from its own examples.
#include <chrono>
#include <cstdio>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "shoal/base/machine.h"
#include "shoal/federated/simulation.h"
#include "shoal/train_cluster/train_cluster.h"
#include "table.h"
#include "train/cancel_on_signals.h"
#include "train/train_flags.h"

namespace shoal::cli {
namespace {

using federated::Figures;
using federated::RoundReport;

double peak_mb() { return static_cast<double>(peak_memory_bytes()) / (1 << 20); }

Json to_json(const federated::Outcome& outcome, const FederatedFlags& flags, double seconds) {
  const Figures& figures = outcome.figures;
  Json top1s = Json::array();
  for (const RoundReport& round : figures.history) {
    top1s.push_back(round.top1 < 0 ? Json(nullptr) : Json(round.top1));
  }
  return {{"rounds", figures.rounds},
          {"top1", figures.evaluation.top1()},
          {"best_top1", figures.best_top1},
          {"loss", figures.loss},
          {"strategy", flags.strategy},
          {"clients", flags.options.population.clients},
          {"per_round", flags.options.per_round},
          {"invited", figures.invited},
          {"reported", figures.reported},
          {"stragglers", figures.stragglers},
          {"left", figures.left},
          {"failed", figures.failed},
          {"bytes", figures.bytes},
          {"codec", std::string(learn::name_of(figures.codec))},
          {"report_bytes", figures.report_bytes},
          {"seconds", seconds},
          {"virtual_seconds", figures.virtual_seconds},
          {"training_share", figures.training_share},
          {"bookkeeping_share", figures.bookkeeping_share},
          {"peak_rss_mb", peak_mb()},
          {"weights_sha256", train_cluster::sha256_of(outcome.weights)},
          {"top1_by_round", top1s}};
}

void print(const Figures& figures, double seconds) {
  Table table({"rounds", "loss", "held-out top-1", "invited", "reported", "stragglers", "left",
               "bytes", "seconds", "peak RSS MB"});
  table.add({std::to_string(figures.rounds), fixed(figures.loss, 4),
             fixed(figures.evaluation.top1(), 2) + " %", std::to_string(figures.invited),
             std::to_string(figures.reported), std::to_string(figures.stragglers),
             std::to_string(figures.left), with_commas(static_cast<long long>(figures.bytes)),
             fixed(seconds, 1), fixed(peak_mb(), 1)});
  table.print();
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
  flags.json ? print_json(to_json(*outcome, flags.federated, taken.count()))
             : print(outcome->figures, taken.count());
  if (cancel->load()) return {Exit::kInterrupted, "interrupted; nothing was written"};
  return require_accuracy(outcome->figures.evaluation.top1(), flags.min_top1);
}

}  // namespace shoal::cli
