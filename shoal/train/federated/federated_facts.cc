#include "shoal/train/federated/federated_facts.h"

#include <algorithm>

#include "shoal/base/machine/machine.h"

namespace shoal::federated {
namespace {

// The cost of hiding what a client sends, beside sending it openly.
void add_secret(const Figures& figures, Facts& facts) {
  const SecretCost& cost = figures.secret;
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

}  // namespace

Facts facts_of(const Figures& figures, const RunFacts& run) {
  Json top1s = Json::array();
  for (const RoundReport& round : figures.history) {
    top1s.push_back(round.top1 < 0 ? Json(nullptr) : Json(round.top1));
  }
  Facts facts = {
      {"rounds", figures.rounds, "rounds"},
      {"loss", figures.loss, "loss", 4},
      top1_of(figures),
      {"invited", figures.invited, "invited"},
      {"reported", figures.reported, "reported"},
      {"stragglers", figures.stragglers, "stragglers"},
      {"left", figures.left, "left"},
      counted("bytes", figures.bytes, "bytes"),
      {"seconds", run.seconds, "seconds", 1},
      {"peak_rss_mb", static_cast<double>(peak_memory_bytes()) / (1 << 20), "peak RSS MB", 1},
      {"best_top1", figures.best_top1},
      {"strategy", run.strategy},
      {"clients", run.clients},
      {"per_round", run.per_round},
      {"failed", figures.failed},
      {"codec", std::string(learn::name_of(figures.codec))},
      {"report_bytes", figures.report_bytes},
      {"training_share", figures.training_share},
      {"bookkeeping_share", figures.bookkeeping_share},
      {"weights_sha256", run.weights_sha256},
      {"top1_by_round", top1s}};
  if (run.secret) add_secret(figures, facts);
  return facts;
}

std::string text_of(const RoundReport& round) {
  const std::string top1 = round.top1 < 0 ? "" : "; held out: top-1 " + fixed(round.top1, 2) + " %";
  return "round " + std::to_string(round.round) + ": loss " + fixed(round.loss, 4) + "; " +
         std::to_string(round.reported) + " of " + std::to_string(round.invited) + " reported, " +
         std::to_string(round.stragglers) + " late, " + std::to_string(round.left) + " left" + top1;
}

}  // namespace shoal::federated
