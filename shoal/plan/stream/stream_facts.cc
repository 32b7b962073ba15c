#include "shoal/plan/stream/stream_facts.h"

#include <algorithm>

namespace shoal::plan {
namespace {

constexpr size_t kShown = 3;  // plans; more tell nothing new

double period_ms(const StreamPrediction& plan) { return 1e3 * period_of(plan).seconds; }

// The workers that share one request: "0", "0+1".
std::string together(const Segment& segment) {
  std::string workers;
  for (const Task& task : segment.tasks) {
    workers += (workers.empty() ? "" : "+") + std::to_string(task.worker);
  }
  return workers;
}

}  // namespace

std::vector<Facts> stage_rows(const StreamComparison& made) {
  const StreamPrediction& best = made.best();
  const auto nodes = best.graph().nodes();
  std::vector<Facts> rows;
  for (size_t s = 0; s < best.turns[0].plan().segments.size(); ++s) {
    std::string workers;
    for (const ScheduledPlan& turn : best.turns) {
      workers += (workers.empty() ? "" : " ") + together(turn.plan().segments[s]);
    }
    const NodeRange range = best.turns[0].plan().segments[s].nodes;
    rows.push_back({{"nodes", range.end - range.begin, "nodes"},
                    {"from", place_of(best.graph(), nodes[range.begin]), "from"},
                    {"to", place_of(best.graph(), nodes[range.end - 1]), "to"},
                    {"workers", workers, "workers in turn"}});
  }
  return rows;
}

std::vector<Facts> worker_rows(const StreamComparison& made) {
  const StreamPrediction& best = made.best();
  const auto share_ms = [&](double seconds) { return 1e3 * seconds_per_request(best, seconds); };
  std::vector<Facts> rows;
  for (size_t w = 0; w < made.cluster.workers.size(); ++w) {
    rows.push_back({shown("worker", std::to_string(w)),
                    {"name", made.cluster.workers[w].name, "name"},
                    {"compute_ms", share_ms(best.stream.compute_seconds[w]), "compute ms", 1},
                    {"transfer_ms", share_ms(best.stream.transfer_seconds[w]), "transfer ms", 1}});
  }
  return rows;
}

std::string summary_text(const StreamComparison& made) {
  const StreamPrediction& best = made.best();
  std::string text = best.name + ": an answer every " + fixed(period_ms(best), 1) + " ms, " +
                     fixed(made.speedup(), 2) + " times as often as from one worker\n";
  const int survives = best.turns[0].plan().survives;
  if (survives > 0) {
    text += "every request survives the loss of " + std::to_string(survives) + "\n";
  }
  for (size_t i = 1; i < std::min(made.plans.size(), kShown); ++i) {
    const StreamPrediction& other = made.plans[i];
    text +=
        other.name + ": every " + fixed(period_ms(other), 1) + " ms: " + why_slower(other) + "\n";
  }
  return text + advice_text(made) + "\n";
}

BesideOne beside_one(const StreamComparison& made, std::string model) {
  const StreamPrediction& best = made.best();
  return {std::move(model),
          made.cluster.workers.size(),
          best.name,
          1e3 / made.single_per_second,
          1e3 / best.requests_per_second(),
          made.speedup(),
          wire_bytes_per_request(best)};
}

double wire_bytes_per_request(const StreamPrediction& plan) {
  return plan.stream.wire_bytes / static_cast<double>(plan.stream.answered.size());
}

Json to_json(const StreamComparison& made, const std::string& model) {
  const StreamPrediction& best = made.best();
  Json others = Json::array();
  for (size_t i = 1; i < std::min(made.plans.size(), kShown); ++i) {
    others.push_back({{"name", made.plans[i].name},
                      {"predicted_ms", period_ms(made.plans[i])},
                      {"why_slower", why_slower(made.plans[i])}});
  }
  return {{"model", model},
          {"objective", "throughput"},
          {"single_ms", 1e3 / made.single_per_second},
          {"cluster_ms", period_ms(best)},
          {"predicted_ms", period_ms(best)},
          {"speedup", made.speedup()},
          {"in_flight", best.in_flight},
          {"halo_bytes", 0},
          {"wire_bytes", wire_bytes_per_request(best)},
          {"survive", best.turns[0].plan().survives},
          {"kind", best.name},
          {"plan", to_text(best)},
          {"workers", list_of(worker_rows(made))},
          {"alternatives", std::move(others)},
          {"advice", advice_text(made)}};
}

}  // namespace shoal::plan
