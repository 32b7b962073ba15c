// Plans for streams in words and as JSON.
#include "streaming.h"

#include <algorithm>
#include <cstdio>

#include "apps/flags/json.h"
#include "model.h"
#include "shoal/passes/passes.h"
#include "table.h"

namespace shoal::cli {
namespace {

using plan::StreamPrediction;

double share_ms(const StreamPrediction& plan, double seconds) {
  return 1e3 * seconds_per_request(plan, seconds);
}

double period_ms(const StreamPrediction& plan) { return 1e3 * period_of(plan).seconds; }

// The workers that share one request: "0", "0+1".
std::string together(const plan::Segment& segment) {
  std::string workers;
  for (const plan::Task& task : segment.tasks) {
    workers += (workers.empty() ? "" : "+") + std::to_string(task.worker);
  }
  return workers;
}

}  // namespace

plan::StreamOptions stream_options(const PlanFlags& flags) {
  plan::StreamOptions options;
  options.excluded = flags.excluded;
  options.survive = flags.survive;
  options.wait_seconds = flags.wait_ms / 1e3;
  options.stages = flags.split == "any" || flags.split == "stages";
  options.replicas = flags.split == "any" || flags.split == "replicas";
  return options;
}

bool is_forced(const PlanFlags& flags) {
  return flags.split == "stages" || flags.split == "replicas";
}

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, plan::ClusterProfile cluster) {
  return make_planned_stream(flags, [&](const Graph&) { return std::move(cluster); });
}

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, const ProfileOf& profile_of) {
  SHOAL_ASSIGN(LoadedGraph loaded, load_graph(flags.model, flags.shapes));
  SHOAL_ASSIGN(Graph graph, passes::optimize(loaded.graph));
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(graph));
  SHOAL_ASSIGN(auto made, plan::compare_streams(std::move(graph), std::move(cluster),
                                                stream_options(flags), is_forced(flags)));
  return PlannedStream{std::move(made), flags.model};
}

void print(const PlannedStream& planned) {
  const StreamPrediction& best = planned.best();
  Table stages({"nodes", "from", "to", "workers in turn"});
  for (size_t s = 0; s < best.turns[0].plan().segments.size(); ++s) {
    std::string workers;
    for (const plan::ScheduledPlan& turn : best.turns) {
      workers += (workers.empty() ? "" : " ") + together(turn.plan().segments[s]);
    }
    const plan::NodeRange range = best.turns[0].plan().segments[s].nodes;
    const auto nodes = best.graph().nodes();
    stages.add({std::to_string(range.end - range.begin), place_of(best.graph(), nodes[range.begin]),
                place_of(best.graph(), nodes[range.end - 1]), workers});
  }
  stages.print();
  std::printf("\n");
  Table workers({"worker", "name", "compute ms", "transfer ms"});
  for (size_t w = 0; w < planned.cluster.workers.size(); ++w) {
    workers.add({std::to_string(w), planned.cluster.workers[w].name,
                 fixed(share_ms(best, best.stream.compute_seconds[w]), 1),
                 fixed(share_ms(best, best.stream.transfer_seconds[w]), 1)});
  }
  workers.print();
  std::printf("\n%s: an answer every %s ms, %s times as often as from one worker\n",
              best.name.c_str(), fixed(period_ms(best), 1).c_str(),
              fixed(planned.speedup(), 2).c_str());
  const int survives = best.turns[0].plan().survives;
  if (survives > 0) std::printf("every request survives the loss of %d\n", survives);
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    const StreamPrediction& other = planned.plans[i];
    std::printf("%s: every %s ms: %s\n", other.name.c_str(), fixed(period_ms(other), 1).c_str(),
                why_slower(other).c_str());
  }
  std::printf("%s\n", advice_text(planned).c_str());
}

Json to_json(const PlannedStream& planned) {
  const StreamPrediction& best = planned.best();
  Json workers = Json::array(), others = Json::array();
  for (size_t w = 0; w < planned.cluster.workers.size(); ++w) {
    workers.push_back({{"name", planned.cluster.workers[w].name},
                       {"compute_ms", share_ms(best, best.stream.compute_seconds[w])},
                       {"transfer_ms", share_ms(best, best.stream.transfer_seconds[w])}});
  }
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    others.push_back({{"name", planned.plans[i].name},
                      {"predicted_ms", period_ms(planned.plans[i])},
                      {"why_slower", why_slower(planned.plans[i])}});
  }
  return {{"model", planned.model},
          {"objective", "throughput"},
          {"single_ms", 1e3 / planned.single_per_second},
          {"cluster_ms", period_ms(best)},
          {"predicted_ms", period_ms(best)},
          {"speedup", planned.speedup()},
          {"in_flight", best.in_flight},
          {"halo_bytes", 0},
          {"wire_bytes", best.stream.wire_bytes / static_cast<double>(best.stream.answered.size())},
          {"survive", best.turns[0].plan().survives},
          {"kind", best.name},
          {"plan", to_text(best)},
          {"workers", std::move(workers)},
          {"alternatives", std::move(others)},
          {"advice", advice_text(planned)}};
}

}  // namespace shoal::cli
