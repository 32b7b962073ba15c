#include "shoal/plan/comparison/comparison_facts.h"

#include <algorithm>
#include <utility>

#include "shoal/plan/comparison/comparison_summary.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {

std::vector<Facts> segment_rows(const Comparison& made) {
  const Prediction& best = made.best();
  const auto nodes = best.graph().nodes();
  std::vector<Facts> rows;
  for (size_t s = 0; s < best.plan().segments.size(); ++s) {
    const Segment& segment = best.plan().segments[s];
    int64_t received = 0;
    for (const Transfer& transfer : best.schedule().transfers) {
      if (transfer.segment == s) received += bytes_of(best.graph(), transfer.piece);
    }
    rows.push_back({{"nodes", segment.nodes.end - segment.nodes.begin, "nodes"},
                    {"from", place_of(best.graph(), nodes[segment.nodes.begin]), "from"},
                    {"to", place_of(best.graph(), nodes[segment.nodes.end - 1]), "to"},
                    {"split", segment.split, "split"},
                    {"compute_ms", 1e3 * best.timeline.longest_task(s), "compute ms", 1},
                    sized("received_bytes", received, "received")});
  }
  return rows;
}

std::vector<Facts> worker_rows(const Comparison& made) {
  const Prediction& best = made.best();
  const auto memory =
      memory_bytes(best.graph(), best.plan(), best.schedule(), made.cluster.workers.size());
  std::vector<Facts> rows;
  for (size_t w = 0; w < memory.size(); ++w) {
    rows.push_back({{"worker", w, "worker"},
                    {"name", made.cluster.workers[w].name, "name"},
                    {"compute_ms", 1e3 * best.timeline.compute_seconds[w], "compute ms", 1},
                    {"transfer_ms", 1e3 * best.timeline.transfer_seconds[w], "transfer ms", 1},
                    sized("memory_bytes", memory[w], "memory")});
  }
  return rows;
}

Facts facts_of(const BesideOne& made) {
  return {{"model", made.model, "model"},
          {"workers", made.workers, "workers"},
          {"plan", made.plan, "plan"},
          {"single_ms", made.single_ms, "one worker ms", 1},
          {"cluster_ms", made.cluster_ms, "cluster ms", 1},
          {"speedup", made.speedup, "speed-up", 2},
          sized("wire_bytes", made.wire_bytes, "wire")};
}

BesideOne beside_one(const Comparison& made, std::string model) {
  const Prediction& best = made.best();
  return {std::move(model),
          made.cluster.workers.size(),
          best.name,
          1e3 * made.single.timeline.seconds,
          1e3 * best.timeline.seconds,
          made.speedup(),
          best.timeline.wire_bytes};
}

std::string summary_text(const Comparison& made) {
  constexpr size_t kShown = 3;  // plans; more tell nothing new
  const Prediction& best = made.best();
  const auto ms = [](const Prediction& plan) { return fixed(1e3 * plan.timeline.seconds, 1); };
  std::string text = best.name + ": " + ms(best) + " ms, " + fixed(made.speedup(), 2) +
                     " times as fast as one worker (" + ms(made.single) + " ms); " +
                     in_bytes(static_cast<long long>(best.timeline.wire_bytes)) + " travel";
  // Where workers repeat each other, nearly all is read more than once: there is no halo to speak
  // of.
  if (best.plan().survives == 0) {
    text +=
        ", " + in_bytes(halo_bytes(best.graph(), best.plan(), best.schedule())) + " of them halos";
  }
  text += "\n";
  if (const std::string price = price_text(made); !price.empty()) text += price + "\n";
  for (size_t i = 1; i < std::min(made.plans.size(), kShown); ++i) {
    const Prediction& other = made.plans[i];
    text += other.name + ": " + ms(other) + " ms: " + why_slower(made, other) + "\n";
  }
  return text + advice_text(made) + "\n";
}

Json to_json(const Comparison& made, const std::string& model) {
  Summary summary = summarize(made);
  summary.model = model;
  auto json = Json::parse(to_json(summary));
  SHOAL_CHECK(json.ok());
  return *std::move(json);
}

}  // namespace shoal::plan
