// Fit of a roofline, t = max(a * macs, b * bytes), by alternation as in k-means: with a and b
// given, each sample belongs to the larger of the two bounds; with the samples assigned, a and b
// are medians of t / macs and t / bytes. Medians, because a sample that was preempted may be off by
// any factor.
#include "shoal/plan/cost/fit.h"

#include <algorithm>

namespace shoal::plan {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Median cost of a unit over the samples that `bound` selects; `otherwise`, if there are none.
template <class Units, class Bound>
double cost(std::span<const Sample> samples, double otherwise, const Units& units,
            const Bound& bound) {
  std::vector<double> costs;
  for (const Sample& sample : samples) {
    if (units(sample) > 0 && bound(sample)) costs.push_back(sample.seconds / units(sample));
  }
  return costs.empty() ? otherwise : median(std::move(costs));
}

double macs(const Sample& sample) { return sample.work.macs; }
double bytes(const Sample& sample) { return sample.work.bytes; }

}  // namespace

OperatorSpeed fit(std::span<const Sample> samples) {
  // The assignment settles within a few turns; the limit stops samples that swing between two.
  constexpr int kTurns = 20;
  // Both bounds start below all samples, so that no sample is assigned to a bound that it beats.
  OperatorSpeed speed;
  for (const Sample& sample : samples) {
    const auto least = [&](double& least_so_far, double units) {
      if (units <= 0) return;
      const double its = sample.seconds / units;
      least_so_far = least_so_far == 0 ? its : std::min(least_so_far, its);
    };
    least(speed.seconds_per_mac, macs(sample));
    least(speed.seconds_per_byte, bytes(sample));
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    const OperatorSpeed last = speed;
    const auto multiplies = [&](const Sample& sample) {
      return macs(sample) * last.seconds_per_mac >= bytes(sample) * last.seconds_per_byte;
    };
    speed.seconds_per_mac = cost(samples, last.seconds_per_mac, macs, multiplies);
    speed.seconds_per_byte = cost(samples, last.seconds_per_byte, bytes,
                                  [&](const Sample& sample) { return !multiplies(sample); });
  }
  return speed;
}

WorkerProfile fit_worker(std::string name, std::span<const Sample> samples, double whole_seconds) {
  WorkerProfile worker;
  worker.name = std::move(name);
  worker.operators[""] = fit(samples);
  std::map<std::string, std::vector<Sample>> by_operator;
  for (const Sample& sample : samples) by_operator[sample.op].push_back(sample);
  for (const auto& [op, its] : by_operator) worker.operators[op] = fit(its);
  double sum = 0;
  for (const Sample& sample : samples) sum += sample.seconds;
  const double scale = whole_seconds > 0 && sum > 0 ? whole_seconds / sum : 1;
  for (const Sample& sample : samples) {
    const double line = seconds_of(sample.work, worker.operators[sample.op]);
    if (line > 0) worker.corrections[sample.output] = scale * sample.seconds / line;
  }
  return worker;
}

}  // namespace shoal::plan
