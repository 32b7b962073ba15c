#include "shoal/plan/comparison/conclusion.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/search/survive.h"

namespace shoal::plan {
namespace {

std::string than(double difference) {
  return in_seconds(std::abs(difference)) + (difference >= 0 ? " more" : " less");
}

std::string bytes(double count) { return in_bytes(static_cast<long long>(count)); }

std::string than_bytes(double difference) {
  return bytes(std::abs(difference)) + (difference >= 0 ? " more" : " less");
}

std::string traffic(const Prediction& plan, const char* verb) {
  return bytes(plan.timeline.wire_bytes) + verb + std::to_string(plan.schedule().transfers.size());
}

}  // namespace

std::string why_slower(const Comparison& comparison, const Prediction& other) {
  const Difference more = difference(other, comparison.best());
  return "its busiest worker computes " + than(more.compute_seconds) + " and waits " +
         than(more.wait_seconds) + "; " + traffic(other, " travel in ") + " messages, not " +
         traffic(comparison.best(), " in ");
}

std::string price_text(const Comparison& comparison) {
  const Prediction& best = comparison.best();
  if (best.plan().survives == 0) return "";
  const Price& price = best.price;
  std::string text = "survives the loss of " + std::to_string(best.plan().survives) + ": " +
                     in_seconds(best.timeline.seconds) + ", not " +
                     in_seconds(price.unprotected_seconds) + "; computes " +
                     fixed(price.compute, 2) + " times as much, sends " + bytes(price.wire_bytes) +
                     " more and keeps " + than_bytes(price.memory_bytes) +
                     ". Everything repeated: " + in_seconds(price.repeated_seconds) + ", " +
                     fixed(price.repeated_compute, 2) + " times as much";
  const double bound = price_bound(best.plan().survives);
  if (price.compute <= bound) return text;
  // The evidence that no cheaper plan is as good.
  return text + ". Within " + fixed(bound, 1) + " times: " +
         (price.bounded_seconds > 0 ? in_seconds(price.bounded_seconds) + ", " +
                                          fixed(price.bounded_compute, 2) + " times as much"
                                    : "no plan was found");
}

std::string advice_text(const Comparison& comparison) {
  return advice_text(advise(comparison), "takes " + in_seconds(comparison.single.timeline.seconds));
}

std::string advice_text(const Advice& advice, const std::string& one_worker) {
  const std::string all = std::to_string(advice.all);
  switch (advice.use) {
    case Use::kOnlyWorker:
      return "There is one worker.";
    case Use::kTogether:
      return "No worker has the memory alone: " + std::to_string(advice.used) + " of the " + all +
             " workers compute it together.";
    case Use::kNoGain:
      return "More devices do not help: one worker alone " + one_worker + ".";
    case Use::kOne:
      return "More devices do not help: one worker alone is fastest." +
             (advice.times_slower == 0 ? ""
                                       : " The best over several takes " +
                                             fixed(advice.times_slower, 2) + " times as long.");
    case Use::kSome:
      return "More devices do not help: the best plan uses " + std::to_string(advice.used) +
             " of the " + all + " workers.";
    case Use::kAll:
      break;
  }
  return "All " + all + " workers are of use.";
}

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
