// Conclusion: what a measurement says about a plan, and why it differs from the prediction. The
// measurement decides.
#pragma once

#include <string>

#include "shoal/plan/comparison/comparison.h"

namespace shoal::plan {

// Explanations: the worth of plans in words, one sentence each.

// Why a plan is slower than the best one, in numbers.
std::string why_slower(const Comparison& comparison, const Prediction& other);

// The price of surviving losses; empty if the best plan survives none.
std::string price_text(const Comparison& comparison);

// Whether all workers are of use.
std::string advice_text(const Comparison& comparison);
// `one_worker` is what one worker alone does: "takes 1.2 s".
std::string advice_text(const Advice& advice, const std::string& one_worker);

struct Evidence {
  double predicted_speedup = 1, measured_speedup = 1;
  // The largest factor by which other programs slowed a worker's machine down: when the profile was
  // taken, and when the plan was measured. See slowdown().
  double slowdown_then = 1, slowdown_now = 1;
  bool shares_machine = false;  // several of the workers run on one machine
};

// Why a measured speed-up is not the predicted one.
enum class Cause {
  kNone,           // it is
  kSharedMachine,  // workers were profiled one at a time, and compute at the same time
  kBusierNow,      // other programs take more than when the profile was taken
  kBusierThen,     // or less: the profile is of a busy machine
  kUnknown,        // the profile is not true any more
};

struct Conclusion {
  bool is_of_use = true;  // more workers than one are
  Cause cause = Cause::kNone;

  bool as_predicted() const { return cause == Cause::kNone; }
  // Whether a new profile would predict better.
  bool needs_profile() const { return cause == Cause::kBusierThen || cause == Cause::kUnknown; }
};

Conclusion conclude(const Evidence& evidence);

// The advice that a predicted speed-up gave, corrected by a measured one.
Advice with_measured(Advice advice, double speedup);

// The factor of the workers that were measured for this profile.
double largest_slowdown(const ClusterProfile& cluster);

// The advice that follows from measured times (with_measured()), and why they are not the predicted
// ones.
std::string conclusion_text(const Comparison& measured, const Evidence& evidence);
std::string conclusion_text(const Advice& measured, const std::string& one_worker,
                            const Evidence& evidence);

}  // namespace shoal::plan
