// Explanations: the worth of plans in words, one sentence each.
#pragma once

#include <string>

#include "shoal/plan/comparison/comparison.h"

namespace shoal::plan {

// Why a plan is slower than the best one, in numbers.
std::string why_slower(const Comparison& made, const Prediction& other);

// The price of surviving losses; empty if the best plan survives none.
std::string price_text(const Comparison& made);

// Whether all workers are of use.
std::string advice_text(const Comparison& made);
// `one_worker` is what one worker alone does: "takes 1.2 s".
std::string advice_text(const Advice& advice, const std::string& one_worker);

}  // namespace shoal::plan
