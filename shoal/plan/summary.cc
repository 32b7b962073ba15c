#include "shoal/plan/summary.h"

#include <set>

#include "shoal/base/json_text.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/comparison.h"

namespace shoal::plan {
namespace {

// Sizes come from users: the search takes longer with every worker, and codes have two parities.
constexpr size_t kMaxWorkers = 1024;
constexpr int kMaxLosses = 2;

// Written by hand: this room depends on no JSON library.
std::string field(std::string_view name, const std::string& value) {
  return json_text(name) + ":" + value;
}

std::string to_json(const WorkerSummary& worker) {
  return "{" + field("name", json_text(worker.name)) + "," +
         field("compute_ms", json_number(1e3 * worker.compute_seconds)) + "," +
         field("transfer_ms", json_number(1e3 * worker.transfer_seconds)) + "," +
         field("memory_bytes", json_number(worker.memory_bytes)) + "}";
}

template <class Presets>
std::vector<std::string_view> names_of(const Presets& presets) {
  std::vector<std::string_view> names;
  for (const auto& preset : presets) names.push_back(preset.name);
  return names;
}

Status check_options(const SummaryOptions& options) {
  if (options.workers < 1 || options.workers > kMaxWorkers) {
    return invalid("there can be 1 to " + std::to_string(kMaxWorkers) + " workers");
  }
  if (options.survive < 0 || options.survive > kMaxLosses) {
    return invalid("0 to " + std::to_string(kMaxLosses) + " losses can be survived");
  }
  // A set, so that a worker listed twice counts once.
  const std::set<int> excluded(options.excluded.begin(), options.excluded.end());
  for (int worker : excluded) {
    if (worker < 0 || static_cast<size_t>(worker) >= options.workers) {
      return invalid("there is no worker " + std::to_string(worker) + " to exclude");
    }
  }
  return check_survival(options.workers, excluded.size(), options.survive);
}

SegmentSummary summary_of(const Graph& graph, const Segment& segment) {
  SegmentSummary summary{.split = segment.split, .nodes = {}, .workers = {}};
  for (size_t n = segment.nodes.begin; n < segment.nodes.end; ++n) {
    summary.nodes.push_back(place_of(graph, graph.nodes()[n]));
  }
  for (const Task& task : segment.tasks) summary.workers.push_back(task.worker);
  return summary;
}

}  // namespace

Result<Summary> summarize(const Graph& graph, const SummaryOptions& options) {
  SHOAL_TRY(check_options(options));
  SHOAL_ASSIGN(const DevicePreset device, find_device(options.device));
  SHOAL_ASSIGN(const LinkPreset link, find_link(options.link));
  // Workers run optimised graphs, so the plan is made for one.
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(graph));
  SHOAL_ASSIGN(const Comparison made,
               compare_plans(optimized, uniform_cluster(options.workers, device, link),
                             {.excluded = options.excluded, .survive = options.survive}));
  const Prediction& best = made.best();
  Summary summary{.kind = best.name,
                  .seconds = best.timeline.seconds,
                  .single_seconds = made.single.timeline.seconds,
                  .wire_bytes = best.timeline.wire_bytes,
                  .messages = best.schedule().transfers.size(),
                  .survives = best.plan().survives,
                  .workers = {},
                  .text = to_text(best.graph(), best.plan())};
  const auto memory = memory_bytes(best.graph(), best.plan(), best.schedule(), options.workers);
  for (size_t w = 0; w < options.workers; ++w) {
    summary.workers.push_back({made.cluster.workers[w].name, best.timeline.compute_seconds[w],
                               best.timeline.transfer_seconds[w], memory[w]});
  }
  for (const Segment& segment : best.plan().segments) {
    summary.segments.push_back(summary_of(best.graph(), segment));
  }
  for (const Prediction& plan : made.plans) {
    summary.kinds.push_back({plan.name, plan.timeline.seconds});
  }
  return summary;
}

std::string to_json(const Summary& summary) {
  std::string workers;
  for (const WorkerSummary& worker : summary.workers) {
    workers += (workers.empty() ? "" : ",") + to_json(worker);
  }
  return "{" + field("kind", json_text(summary.kind)) + "," +
         field("predicted_ms", json_number(1e3 * summary.seconds)) + "," +
         field("single_ms", json_number(1e3 * summary.single_seconds)) + "," +
         field("speedup", json_number(summary.speedup())) + "," +
         field("wire_bytes", json_number(summary.wire_bytes)) + "," +
         field("messages", std::to_string(summary.messages)) + "," +
         field("survive", std::to_string(summary.survives)) + "," +
         field("workers", "[" + workers + "]") + "," + field("plan", json_text(summary.text)) + "}";
}

std::vector<std::string_view> device_names() { return names_of(device_presets()); }
std::vector<std::string_view> link_names() { return names_of(link_presets()); }

}  // namespace shoal::plan
