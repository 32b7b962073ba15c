// Profiles found from measurements say what was measured, and what was not.
#include "shoal/plan/cost/fit.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::plan {
namespace {

Work random_work(std::mt19937& rng) {
  std::uniform_real_distribution<double> exponent(3, 9);
  const double macs = std::pow(10.0, exponent(rng));
  const double bytes = std::pow(10.0, exponent(rng));
  return {macs, bytes};
}

TEST(Fit, FindsTheLineThatSamplesCameFrom) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> speed(1e-10, 1e-8);
    const double per_mac = speed(rng);
    const OperatorSpeed truth{0, per_mac, speed(rng)};
    std::vector<Sample> samples;
    for (int i = 0; i < 30; ++i) {
      const Work work = random_work(rng);
      samples.push_back({"Conv", std::to_string(i), work, seconds_of(work, truth)});
    }
    const OperatorSpeed found = fit(samples);
    for (int i = 0; i < 30; ++i) {
      const Work work = random_work(rng);
      EXPECT_NEAR(seconds_of(work, found) / seconds_of(work, truth), 1, 0.1) << "seed " << seed;
    }
  }
}

TEST(Fit, SaysOfWhatWasMeasuredWhatWasMeasured) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> seconds(1e-5, 1e-2);
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) {
    const Work work = random_work(rng);
    samples.push_back({i % 2 == 0 ? "Conv" : "Relu", std::to_string(i), work, seconds(rng)});
  }
  const WorkerProfile worker = fit_worker("w", samples);
  const WorkerProfile faster = fit_worker("w", samples, 1e-3);
  double sum = 0;
  for (const Sample& sample : samples) {
    const auto predicted = [&](const WorkerProfile& by) {
      return seconds_of(sample.work, by.speed_of(sample.op)) * by.correction_of(sample.output);
    };
    EXPECT_NEAR(predicted(worker), sample.seconds, 1e-9);
    sum += predicted(faster);
  }
  EXPECT_NEAR(sum, 1e-3, 1e-9) << "in one graph they take no more";
  EXPECT_EQ(worker.correction_of("never seen"), 1);
}

TEST(Fit, WorksFromOneSampleOrNone) {
  const Sample one{"Relu", "y", {0, 1000}, 1e-6};
  EXPECT_NEAR(seconds_of({0, 2000}, fit({&one, 1})), 2e-6, 1e-12);
  EXPECT_EQ(seconds_of({1000, 1000}, fit({})), 0);
  EXPECT_EQ(fit_worker("w", {}).speed_of("Conv").seconds, 0);
}

}  // namespace
}  // namespace shoal::plan
