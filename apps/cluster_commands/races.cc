#include "apps/cluster_commands/races.h"

#include "shoal/plan/comparison/conclusion.h"

namespace shoal::cluster {
namespace {

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

double link_use(const DeploymentFigures& figures, double bytes_per_second) {
  return static_cast<double>(figures.sent + figures.asked) / figures.seconds / bytes_per_second;
}

double cost_of(const VerifyRaceResult& result) {
  return result.verified.mean() / result.plain.mean() - 1;
}

std::string name_of(const BalanceStep& step) {
  return step.move.empty() ? "layers dealt out evenly" : step.move;
}

// The column of what was measured has no name.
Fact named(const std::string& what) { return shown(" ", what); }

Fact requests_of(const LatencyRecorder& took) {
  return shown("requests", std::to_string(took.count()));
}

}  // namespace

Json to_json(const StragglerResult& result, const RacedPlans&) {
  const auto saved = [](double a, double b) { return 1 - a / b; };
  const LatencyRecorder &first = result.first, &waiting = result.second;
  return {{"requests", first.count()},
          {"mean_ms", first.mean()},
          {"p99_ms", first.quantile(0.99)},
          {"waiting_mean_ms", waiting.mean()},
          {"waiting_p99_ms", waiting.quantile(0.99)},
          {"mean_saved", saved(first.mean(), waiting.mean())},
          {"p99_saved", saved(first.quantile(0.99), waiting.quantile(0.99))}};
}

std::vector<Facts> rows_of(const StragglerResult& result, const RacedPlans& plans) {
  const auto row = [](const char* what, const std::string& plan, const LatencyRecorder& took) {
    return Facts{named(what), shown("plan", plan), requests_of(took),
                 shown("mean ms", fixed(took.mean(), 1)),
                 shown("p99 ms", fixed(took.quantile(0.99), 1))};
  };
  return {row("the first that are enough", plans.first, result.first),
          row("all, one worker fewer", plans.waiting, result.second)};
}

std::vector<std::string> lines_of(const StragglerResult&, const RacedPlans&) { return {}; }

Json to_json(const VerifyRaceResult& result, uint64_t) {
  return {{"requests", result.plain.count() + result.verified.count()},
          {"mean_ms", result.plain.mean()},
          {"p99_ms", result.plain.quantile(0.99)},
          {"verified_mean_ms", result.verified.mean()},
          {"verified_p99_ms", result.verified.quantile(0.99)},
          {"verify_cost", cost_of(result)},
          {"checked", result.checks.checked},
          {"disputed", result.checks.disputed},
          {"accused", result.accused}};
}

std::vector<Facts> rows_of(const VerifyRaceResult& result, uint64_t every) {
  const auto row = [](const std::string& what, const LatencyRecorder& took) {
    return Facts{named(what), requests_of(took), shown("mean ms", fixed(took.mean(), 2)),
                 shown("p99 ms", fixed(took.quantile(0.99), 2))};
  };
  return {row("as it is", result.plain),
          row("one of " + std::to_string(every) + " checked", result.verified)};
}

std::vector<std::string> lines_of(const VerifyRaceResult& result, uint64_t) {
  std::vector<std::string> lines = {"to verify costs " + fixed(100 * cost_of(result), 1) + " %; " +
                                    std::to_string(result.checks.checked) +
                                    " requests were checked, " +
                                    std::to_string(result.checks.disputed) + " of them disputed"};
  for (const auto& [name, times] : result.accused) {
    lines.push_back("worker " + name + " was wrong in " + std::to_string(times) + " of them");
  }
  return lines;
}

Json to_json(const DeploymentFigures& figures, double bytes_per_second) {
  const auto quantiles = [](const LatencyRecorder& latencies) {
    return Json{{"requests", latencies.count()},
                {"p50_ms", latencies.quantile(0.5)},
                {"p99_ms", latencies.quantile(0.99)}};
  };
  return {{"calm", quantiles(figures.calm)},
          {"deploying", quantiles(figures.busy)},
          {"seconds", figures.seconds},
          {"weight_bytes", figures.needed},
          {"sent_bytes", figures.sent},
          {"request_bytes", figures.asked},
          {"sent_again", share(figures.sent, figures.needed) - 1},
          {"link_use", link_use(figures, bytes_per_second)}};
}

std::vector<Facts> rows_of(const DeploymentFigures& figures, double) {
  const auto row = [](const char* what, const LatencyRecorder& took) {
    return Facts{named(what), requests_of(took), shown("p50 ms", fixed(took.quantile(0.5), 1)),
                 shown("p99 ms", fixed(took.quantile(0.99), 1))};
  };
  return {row("calm", figures.calm), row("while weights travel", figures.busy)};
}

std::vector<std::string> lines_of(const DeploymentFigures& figures, double bytes_per_second) {
  return {fixed(static_cast<double>(figures.needed) / 1e6, 0) + " MB in " +
          fixed(figures.seconds, 1) + " s, " + fixed(100 * link_use(figures, bytes_per_second), 0) +
          " % of the link; " + fixed(100 * (share(figures.sent, figures.needed) - 1), 2) +
          " % sent twice"};
}

Json to_json(const std::vector<BalanceStep>& steps) {
  Json list = Json::array();
  for (const BalanceStep& step : steps) {
    list.push_back({{"move", name_of(step)}, {"ms", 1e3 * step.seconds}});
  }
  return {{"moves", steps.size() - 1},
          {"before_ms", 1e3 * steps.front().seconds},
          {"after_ms", 1e3 * steps.back().seconds},
          {"speedup", steps.front().seconds / steps.back().seconds},
          {"steps", std::move(list)}};
}

std::vector<Facts> rows_of(const std::vector<BalanceStep>& steps) {
  std::vector<Facts> rows;
  for (const BalanceStep& step : steps) {
    rows.push_back(
        {named(name_of(step)), shown("ms between answers", fixed(1e3 * step.seconds, 1))});
  }
  return rows;
}

}  // namespace shoal::cluster

namespace shoal::emulate {
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
