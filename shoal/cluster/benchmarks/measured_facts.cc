#include "shoal/cluster/benchmarks/measured_facts.h"

#include <chrono>
#include <optional>
#include <random>

#include "shoal/model/graph/random_inputs.h"
#include "shoal/plan/comparison/conclusion.h"

namespace shoal::emulate {

Result<StreamFigures> measure_stream_beside_one(ClusterAccess& access,
                                                const plan::StreamComparison& made,
                                                const plan::StreamOptions& how, bool forced) {
  StreamFigures figures{.single = 1 / made.single_per_second,
                        .slowdown = access.connection().slowdown(),
                        .shares_machine = access.connection().shares_machine()};
  if (made.single_fits) {
    plan::StreamOptions alone = how;
    alone.stages = alone.replicas = false;
    alone.survive = 0;
    SHOAL_ASSIGN(const plan::StreamComparison single,
                 plan::compare_streams(made.graph, made.cluster, alone));
    SHOAL_ASSIGN(figures.single, measure_stream(access, single, alone, /*forced=*/false));
  }
  SHOAL_ASSIGN(figures.stream, measure_stream(access, made, how, forced));
  figures.dilation = access.dilation();
  return figures;
}

Result<std::vector<cluster::BalanceStep>> measure_balance(ClusterAccess& access,
                                                          const plan::StreamComparison& made,
                                                          int survive) {
  constexpr std::chrono::minutes kTimeout{10};
  std::vector<int> workers;
  for (int w = 0; w < std::ssize(made.cluster.workers); ++w) {
    if (made.cluster.workers[static_cast<size_t>(w)].present) workers.push_back(w);
  }
  SHOAL_ASSIGN(const auto stream,
               cluster::BalancedStream::start(access.coordinator(), made.graph, made.cluster,
                                              plan::simple_pipeline(made.graph, workers),
                                              {.dilation = access.dilation(), .survive = survive}));
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = random_inputs(made.graph, rng);
  LoadGenerator load(2 * workers.size(), [&](size_t) {
    std::vector<Tensor> outputs(made.graph.outputs().size());
    return stream->run(inputs, outputs, kTimeout);
  });
  const ShapedLinks shaped(access);
  return settle(*stream, load, access.dilation());
}

Status check_stragglers(const ClusterAccess& access, int survive) {
  if (access.emulated() && survive > 0) return {};
  return invalid("--stragglers is for emulated workers and --survive");
}

Result<cluster::StragglerResult> race_stragglers(ClusterAccess& access,
                                                 const plan::Prediction& first,
                                                 const plan::Prediction& waiting, double seconds,
                                                 double times) {
  SHOAL_ASSIGN(const auto race,
               cluster::StragglerRace::deploy(access.coordinator(), first, waiting));
  const ShapedLinks shaped(access);
  return race->run(
      {.seconds = seconds,
       .dilation = access.dilation(),
       .times = times,
       .slow_down = [&](const std::string& worker) { return access.slow_down(worker, times); }});
}

Result<cluster::VerifyRaceResult> race_checks(ClusterAccess& access, const plan::Prediction& plan,
                                              Device& judge, uint64_t every, double seconds) {
  std::optional<ShapedLinks> shaped;
  return cluster::race_verification(
      access.coordinator(), plan, judge,
      {.every = every, .seconds = seconds, .dilation = access.dilation(), .deployed = [&] {
         shaped.emplace(access);
       }});
}

namespace {

std::string ms(double seconds) { return fixed(1e3 * seconds, 1); }

// The first column has no name.
Facts row_of(const std::string& what, const std::string& predicted, const std::string& measured) {
  return {shown(" ", what), shown("predicted ms", predicted), shown("measured ms", measured)};
}

}  // namespace

Json with_figures(Json plan, const plan::Comparison& made, const PlanFigures& figures) {
  const plan::Timeline& all = figures.many;
  plan.update({{"single_ms", 1e3 * figures.single.seconds},
               {"cluster_ms", 1e3 * all.seconds},
               {"speedup", figures.speedup()},
               {"predicted_speedup", made.speedup()},
               {"advice", conclusion_of(made, figures)},
               {"single_predicted_ms", 1e3 * made.single.timeline.seconds},
               {"rounds", figures.rounds},
               {"dilation", figures.dilation},
               {"lateness", figures.lateness}});
  for (size_t w = 0; w < all.compute_seconds.size(); ++w) {
    plan["workers"][w].update({{"compute_ms", 1e3 * all.compute_seconds[w]},
                               {"transfer_ms", 1e3 * all.transfer_seconds[w]}});
  }
  return plan;
}

std::vector<Facts> segment_rows(const plan::Comparison& made, const PlanFigures& figures) {
  std::vector<Facts> rows;
  const plan::Prediction& best = made.best();
  for (size_t s = 0; s < best.plan().segments.size(); ++s) {
    const plan::Segment& segment = best.plan().segments[s];
    rows.push_back({shown("nodes", std::to_string(segment.nodes.begin) + " to " +
                                       std::to_string(segment.nodes.end - 1)),
                    shown("split", segment.split),
                    shown("predicted ms", ms(best.timeline.segment_seconds(s))),
                    shown("measured ms", ms(figures.many.segment_seconds(s)))});
  }
  return rows;
}

std::vector<Facts> worker_rows(const plan::Comparison& made, const PlanFigures& figures) {
  std::vector<Facts> rows;
  for (size_t w = 0; w < made.cluster.workers.size(); ++w) {
    rows.push_back({shown("worker", made.cluster.workers[w].name),
                    shown("compute ms", ms(figures.many.compute_seconds[w])),
                    shown("transfer ms", ms(figures.many.transfer_seconds[w]))});
  }
  return rows;
}

std::vector<Facts> rows_of(const plan::Comparison& made, const PlanFigures& figures) {
  const plan::Prediction& best = made.best();
  return {row_of("one worker", ms(made.single.timeline.seconds),
                 made.single_fits ? ms(figures.single.seconds) : "no memory"),
          row_of(best.name, ms(best.timeline.seconds), ms(figures.many.seconds)),
          row_of("speed-up", fixed(made.speedup(), 2), fixed(figures.speedup(), 2))};
}

std::string conclusion_of(const plan::Comparison& made, const PlanFigures& figures) {
  return plan::conclusion_text(with_measured(made, figures.single, figures.many),
                               evidence_of(made, figures));
}

Json with_figures(Json plan, const plan::StreamComparison& made, const StreamFigures& figures) {
  plan.update({{"single_ms", 1e3 * figures.single},
               {"cluster_ms", 1e3 * figures.stream},
               {"speedup", figures.speedup()},
               {"predicted_speedup", made.speedup()},
               {"advice", conclusion_of(made, figures)},
               {"dilation", figures.dilation}});
  return plan;
}

std::vector<Facts> rows_of(const plan::StreamComparison& made, const StreamFigures& figures) {
  return {row_of("one worker", ms(1 / made.single_per_second),
                 made.single_fits ? ms(figures.single) : "no memory"),
          row_of(made.best().name, ms(1 / made.best().requests_per_second()), ms(figures.stream)),
          row_of("speed-up", fixed(made.speedup(), 2), fixed(figures.speedup(), 2))};
}

std::string conclusion_of(const plan::StreamComparison& made, const StreamFigures& figures) {
  return plan::conclusion_text(with_measured(advise(made), figures.speedup()),
                               "answers every " + ms(figures.single) + " ms",
                               {.predicted_speedup = made.speedup(),
                                .measured_speedup = figures.speedup(),
                                .slowdown_then = plan::largest_slowdown(made.cluster),
                                .slowdown_now = figures.slowdown,
                                .shares_machine = figures.shares_machine});
}

}  // namespace shoal::emulate
