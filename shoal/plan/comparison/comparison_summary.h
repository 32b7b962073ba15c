// The public summary of plans that were compared.
#pragma once

#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/summary.h"

namespace shoal::plan {

// Times are those of the timelines, predicted or measured. The model's name is left empty.
Summary summarize(const Comparison& comparison);

}  // namespace shoal::plan
