// What follows from a measurement.
#include "shoal/plan/comparison/conclusion.h"

#include <gtest/gtest.h>

namespace shoal::plan {
namespace {

// On two busy cores, a speed-up of 0.77 was measured and all workers were said to be of use.
TEST(Conclusion, FollowsTheMeasurement) {
  const Evidence evidence{.predicted_speedup = 1.5, .measured_speedup = 0.77, .slowdown_now = 2};
  const Conclusion conclusion = conclude(evidence);
  EXPECT_FALSE(conclusion.is_of_use);
  EXPECT_EQ(conclusion.cause, Cause::kBusierNow);
  EXPECT_FALSE(conclusion.needs_profile()) << "the profile is of a quiet machine, and right";
  EXPECT_EQ(conclusion_text({.use = Use::kNoGain, .used = 2, .all = 2}, "takes 3 ms", evidence),
            "More devices do not help: one worker alone takes 3 ms. The speed-up is 0.77, not 1.50 "
            "as predicted: other programs keep workers busier than when they were measured.");
}

TEST(Conclusion, SaysNothingOfAPredictionThatIsTrue) {
  for (const double measured : {1.25, 1.5, 1.8}) {
    const Evidence evidence{.predicted_speedup = 1.5, .measured_speedup = measured};
    EXPECT_TRUE(conclude(evidence).as_predicted()) << measured;
    EXPECT_TRUE(conclude(evidence).is_of_use);
    EXPECT_EQ(conclusion_text({.use = Use::kAll, .used = 2, .all = 2}, "", evidence),
              "All 2 workers are of use.");
  }
}

TEST(Conclusion, TellsCausesApart) {
  const auto cause = [](double measured, double then, double now, bool shares = false) {
    return conclude({.predicted_speedup = 2,
                     .measured_speedup = measured,
                     .slowdown_then = then,
                     .slowdown_now = now,
                     .shares_machine = shares})
        .cause;
  };
  EXPECT_EQ(cause(1, 1, 1), Cause::kUnknown);
  EXPECT_EQ(cause(1, 1, 1.5), Cause::kBusierNow);
  EXPECT_EQ(cause(1, 1.5, 1), Cause::kBusierThen);
  EXPECT_EQ(cause(4, 1.5, 1), Cause::kBusierThen) << "faster than predicted";
  EXPECT_EQ(cause(1, 1, 1, true), Cause::kSharedMachine);
  EXPECT_EQ(cause(4, 1, 1, true), Cause::kUnknown) << "sharing makes nothing faster";
  EXPECT_EQ(cause(2, 1, 4, true), Cause::kNone);
  EXPECT_TRUE(conclude({.predicted_speedup = 2, .measured_speedup = 1}).needs_profile());
}

TEST(Conclusion, TakesBackAnAdviceThatDidNotHold) {
  const auto use = [](Use advised, double speedup) {
    return with_measured({.use = advised}, speedup).use;
  };
  EXPECT_EQ(use(Use::kAll, 2), Use::kAll);
  EXPECT_EQ(use(Use::kAll, 0.8), Use::kNoGain);
  EXPECT_EQ(use(Use::kSome, 0.8), Use::kNoGain);
  EXPECT_EQ(use(Use::kTogether, 0.8), Use::kTogether) << "one worker cannot do it";
}

TEST(Conclusion, TakesTheBusiestWorkerThatWasMeasured) {
  ClusterProfile cluster;
  cluster.workers = {uniform_worker("a", 1, 1), uniform_worker("b", 1, 1), absent_worker("c")};
  EXPECT_EQ(largest_slowdown(cluster), 1);
  cluster.workers[1].slowdown = 1.5;
  cluster.workers[2].slowdown = 3;
  EXPECT_EQ(largest_slowdown(cluster), 1.5);
}

}  // namespace
}  // namespace shoal::plan
