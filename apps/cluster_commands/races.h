// shoal bench on a cluster: the rows, JSON fields and sentences of measurements, also beside
// predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/cluster/benchmarks/balanced_stream.h"
#include "shoal/cluster/benchmarks/deployment_load.h"
#include "shoal/cluster/benchmarks/measured_races.h"
#include "shoal/cluster/benchmarks/straggler_race.h"
#include "shoal/cluster/benchmarks/verify_race.h"

namespace shoal::cluster {

// The names of both plans: the one that continues with the first sufficient results, and the one
// that waits for all.
struct RacedPlans {
  std::string first, waiting;
};
Json to_json(const StragglerResult& result, const RacedPlans& plans);
std::vector<Facts> rows_of(const StragglerResult& result, const RacedPlans& plans);
std::vector<std::string> lines_of(const StragglerResult& result, const RacedPlans& plans);

// One request of `every` was checked.
Json to_json(const VerifyRaceResult& result, uint64_t every);
std::vector<Facts> rows_of(const VerifyRaceResult& result, uint64_t every);
std::vector<std::string> lines_of(const VerifyRaceResult& result, uint64_t every);

// Over links with this bandwidth.
Json to_json(const DeploymentFigures& figures, double bytes_per_second);
std::vector<Facts> rows_of(const DeploymentFigures& figures, double bytes_per_second);
std::vector<std::string> lines_of(const DeploymentFigures& figures, double bytes_per_second);

// REQUIRES: the stages to begin with are among the steps.
Json to_json(const std::vector<BalanceStep>& steps);
std::vector<Facts> rows_of(const std::vector<BalanceStep>& steps);

}  // namespace shoal::cluster

namespace shoal::emulate {

// The plan as an object, which gets members about what was measured.
Json with_figures(Json plan, const plan::Comparison& made, const PlanFigures& figures);
// Segments, workers, and the plan beside one worker.
std::vector<Facts> segment_rows(const plan::Comparison& made, const PlanFigures& figures);
std::vector<Facts> worker_rows(const plan::Comparison& made, const PlanFigures& figures);
std::vector<Facts> rows_of(const plan::Comparison& made, const PlanFigures& figures);
// The conclusion from the figures, in words.
std::string conclusion_of(const plan::Comparison& made, const PlanFigures& figures);

// Likewise for a stream.
Json with_figures(Json plan, const plan::StreamComparison& made, const StreamFigures& figures);
std::vector<Facts> rows_of(const plan::StreamComparison& made, const StreamFigures& figures);
std::string conclusion_of(const plan::StreamComparison& made, const StreamFigures& figures);

}  // namespace shoal::emulate
