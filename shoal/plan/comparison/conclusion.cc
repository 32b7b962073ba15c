#include "shoal/plan/comparison/conclusion.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/comparison/explanation.h"

namespace shoal::plan {
namespace {

// A smaller difference is within the error of predictions.
constexpr double kDifferent = 1.25;

std::string because(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      return "";
    case Cause::kSharedMachine:
      return "workers share a machine";
    case Cause::kBusierNow:
      return "other programs keep workers busier than when they were measured";
    case Cause::kBusierThen:
      return "other programs kept workers busier when they were measured, so they are measured "
             "again next time";
    case Cause::kUnknown:
      break;
  }
  return "workers or links have changed, so they are measured again next time";
}

}  // namespace

Conclusion conclude(const Evidence& evidence) {
  Conclusion conclusion{.is_of_use = evidence.measured_speedup >= kWorthwhileSpeedup};
  const double ratio = evidence.measured_speedup / evidence.predicted_speedup;
  if (ratio < kDifferent && ratio > 1 / kDifferent) return conclusion;
  const double busier = evidence.slowdown_now / evidence.slowdown_then;
  if (ratio < 1 && evidence.shares_machine) {
    conclusion.cause = Cause::kSharedMachine;
  } else if (busier >= kDifferent) {
    conclusion.cause = Cause::kBusierNow;
  } else if (busier <= 1 / kDifferent) {
    conclusion.cause = Cause::kBusierThen;
  } else {
    conclusion.cause = Cause::kUnknown;
  }
  return conclusion;
}

Advice with_measured(Advice advice, double speedup) {
  const bool promised = advice.use == Use::kAll || advice.use == Use::kSome;
  if (promised && speedup < kWorthwhileSpeedup) advice.use = Use::kNoGain;
  return advice;
}

double largest_slowdown(const ClusterProfile& cluster) {
  double largest = 1;
  for (const WorkerProfile& worker : cluster.workers) {
    if (worker.present) largest = std::max(largest, worker.slowdown);
  }
  return largest;
}

std::string conclusion_text(const Advice& measured, const std::string& one_worker,
                            const Evidence& evidence) {
  const Conclusion conclusion = conclude(evidence);
  const std::string advice = advice_text(measured, one_worker);
  if (conclusion.as_predicted()) return advice;
  return advice + " The speed-up is " + fixed(evidence.measured_speedup, 2) + ", not " +
         fixed(evidence.predicted_speedup, 2) + " as predicted: " + because(conclusion.cause) + ".";
}

std::string conclusion_text(const Comparison& measured, const Evidence& evidence) {
  return conclusion_text(advise(measured), "takes " + in_seconds(measured.single.timeline.seconds),
                         evidence);
}

}  // namespace shoal::plan
