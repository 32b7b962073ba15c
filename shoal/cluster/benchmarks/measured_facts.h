// Measured plans beside what was predicted of them, for scripts and for people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/cluster/benchmarks/measured_races.h"

namespace shoal::emulate {

// The plan as an object, which gets members about what was measured.
Json with_figures(Json plan, const plan::Comparison& made, const PlanFigures& figures);
// Segments, workers, and the plan beside one worker.
std::vector<Facts> segment_rows(const plan::Comparison& made, const PlanFigures& figures);
std::vector<Facts> worker_rows(const plan::Comparison& made, const PlanFigures& figures);
std::vector<Facts> rows_of(const plan::Comparison& made, const PlanFigures& figures);
// What follows from the figures, in words.
std::string conclusion_of(const plan::Comparison& made, const PlanFigures& figures);

// The same of a stream.
Json with_figures(Json plan, const plan::StreamComparison& made, const StreamFigures& figures);
std::vector<Facts> rows_of(const plan::StreamComparison& made, const StreamFigures& figures);
std::string conclusion_of(const plan::StreamComparison& made, const StreamFigures& figures);

}  // namespace shoal::emulate
