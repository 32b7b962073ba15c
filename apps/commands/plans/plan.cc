#include "apps/commands/plans/plan.h"

#include <algorithm>
#include <utility>

#include "shoal/plan/comparison/comparison_summary.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/shrink/compress/quantization/calibration.h"

namespace shoal::config {

Result<Planned> make_planned(const PlanSettings& settings, plan::PlanOptions options,
                             const NamedGraph& model, const ProfileOf& profile_of,
                             const std::function<Result<std::unique_ptr<Device>>()>& make_device) {
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(model.graph));
  if (options.wire.smallest == plan::WireFormat::kI8) {
    SHOAL_ASSIGN(const auto device, make_device());
    SHOAL_ASSIGN(options.wire.largest, compress::random_magnitudes(model.graph, *device));
  }
  SHOAL_ASSIGN(auto made, compare_plans(settings, model.graph, std::move(cluster), options));
  return Planned{std::move(made), model.name, std::move(options)};
}

Result<PlannedStream> make_planned_stream(const PlanSettings& settings, NamedGraph model,
                                          const ProfileOf& profile_of) {
  SHOAL_ASSIGN(plan::ClusterProfile cluster, profile_of(model.graph));
  SHOAL_ASSIGN(auto made, plan::compare_streams(std::move(model.graph), std::move(cluster),
                                                settings.stream_options(), settings.is_forced()));
  return PlannedStream{std::move(made), std::move(model.name)};
}

Json to_json(const Planned& planned) { return plan::to_json(planned, planned.model); }

Json to_json(const PlannedStream& planned) { return plan::to_json(planned, planned.model); }

}  // namespace shoal::config

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
  // If workers repeat each other, nearly all is read more than once: there is no halo to speak of.
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

Result<Tenancy> tenancy_of(std::vector<std::string> models, std::vector<double> rates) {
  if (rates.empty()) rates.assign(models.size(), 1);
  if (rates.size() == models.size()) return Tenancy{std::move(models), std::move(rates)};
  return invalid("rates: there are " + std::to_string(models.size()) + " models, and " +
                 std::to_string(rates.size()) + " rates");
}

Result<Tenancy> plan_together(Tenancy asked, std::span<const Graph> graphs,
                              const PlanOptions& options) {
  SHOAL_CHECK(graphs.size() == asked.models.size());
  std::vector<Tenant> tenants;
  for (size_t i = 0; i < graphs.size(); ++i) tenants.push_back({&graphs[i], asked.rates[i]});
  SHOAL_ASSIGN(asked.plans, plan_tenants(tenants, asked.cluster, options));
  return asked;
}

std::vector<Facts> model_rows(const Tenancy& made) {
  std::vector<Facts> rows;
  for (size_t i = 0; i < made.models.size(); ++i) {
    const TenantPlan& tenant = made.plans[i];
    const std::vector<int> workers = workers_of(tenant.plan.plan());
    rows.push_back({{"model", made.models[i], "model"},
                    {"requests_per_second", made.rates[i], "requests/s", 1},
                    {"kind", tenant.plan.name, "plan"},
                    {"workers", workers, "workers", std::to_string(workers.size())},
                    {"alone_ms", 1e3 * tenant.alone.timeline.seconds, "ms alone", 1},
                    {"predicted_ms", 1e3 * tenant.plan.timeline.seconds, "ms together", 1},
                    {"slowdown", tenant.slowdown(), "slower", 2},
                    {"plan", to_text(tenant.plan.graph(), tenant.plan.plan())}});
  }
  return rows;
}

std::vector<Facts> worker_rows(const Tenancy& made) {
  std::vector<Facts> rows;
  for (size_t w = 0; w < made.cluster.workers.size(); ++w) {
    Facts row = {shown("worker", std::to_string(w)),
                 {"name", made.cluster.workers[w].name, "name"}};
    Json busy = Json::array(), memory = Json::array();
    double bytes = 0;
    for (size_t i = 0; i < made.models.size(); ++i) {
      const Demand& demand = made.plans[i].demand;
      row.push_back(shown("busy with " + made.models[i] + " %", fixed(100 * demand.compute[w], 1)));
      busy.push_back(demand.compute[w]);
      memory.push_back(demand.memory[w]);
      bytes += demand.memory[w];
    }
    row.push_back({"busy", std::move(busy)});
    row.push_back(
        {"memory_bytes", std::move(memory), "memory", in_bytes(static_cast<long long>(bytes))});
    rows.push_back(std::move(row));
  }
  return rows;
}

Json to_json(const Tenancy& made) {
  double largest = 0;
  for (const TenantPlan& tenant : made.plans) largest = std::max(largest, tenant.slowdown());
  return {{"models", list_of(model_rows(made))},
          {"workers", list_of(worker_rows(made))},
          {"largest_slowdown", largest}};
}

Json to_json(const StragglerLatencies& latencies) {
  return {{"requests", latencies.first.count()},
          {"mean_ms", latencies.first.mean()},
          {"p50_ms", latencies.first.quantile(0.5)},
          {"p99_ms", latencies.first.quantile(0.99)},
          {"waiting_mean_ms", latencies.all.mean()},
          {"waiting_p50_ms", latencies.all.quantile(0.5)},
          {"waiting_p99_ms", latencies.all.quantile(0.99)}};
}

std::vector<Facts> rows_of(const StragglerLatencies& latencies, const std::string& model,
                           const std::string& plan) {
  const LatencyRecorder &first = latencies.first, &all = latencies.all;
  const auto row = [&](const std::string& of, const std::string& name, const char* how,
                       const auto& cell) -> Facts {
    return {shown("model", of),
            shown("plan", name),
            shown(" ", how),
            shown("mean ms", cell(first.mean(), all.mean())),
            shown("p50", cell(first.quantile(0.5), all.quantile(0.5))),
            shown("p99", cell(first.quantile(0.99), all.quantile(0.99)))};
  };
  return {row(model, plan, "waiting for all", [](double, double ms) { return fixed(ms, 1); }),
          row("", "", "first that are enough", [](double ms, double) { return fixed(ms, 1); }),
          row("", "", "less",
              [](double now, double before) { return fixed(100 * (1 - now / before), 0) + " %"; })};
}

}  // namespace shoal::plan
