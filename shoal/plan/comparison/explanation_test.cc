// The worth of plans in words.
#include <gtest/gtest.h>

#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/device_presets.h"

namespace shoal::plan {
namespace {

Comparison compared(std::string_view model, size_t workers, const PlanOptions& options = {}) {
  return *compare_plans(*passes::optimize(*zoo::build(model)),
                        uniform_cluster(workers, *find_device("pi4"), *find_link("gigabit")),
                        options);
}

TEST(AdviceText, SaysWhetherMoreDevicesHelp) {
  const auto text = [](Use use, double times_slower = 0) {
    return advice_text({.use = use, .used = 2, .all = 5, .times_slower = times_slower},
                       "takes 3 ms");
  };
  EXPECT_EQ(text(Use::kAll), "All 5 workers are of use.");
  EXPECT_EQ(text(Use::kSome), "More devices do not help: the best plan uses 2 of the 5 workers.");
  EXPECT_EQ(text(Use::kNoGain), "More devices do not help: one worker alone takes 3 ms.");
  EXPECT_EQ(text(Use::kOnlyWorker), "There is one worker.");
  EXPECT_EQ(text(Use::kOne), "More devices do not help: one worker alone is fastest.");
  EXPECT_EQ(text(Use::kOne, 1.5),
            "More devices do not help: one worker alone is fastest. The best over several takes "
            "1.50 times as long.");
}

TEST(AdviceText, OfAComparisonNamesTheTimeOfOneWorker) {
  Comparison made = compared("alexnet", 2);
  EXPECT_EQ(advice_text(made), "All 2 workers are of use.");
  made.single.timeline.seconds = made.plans[0].timeline.seconds = 1.25;
  EXPECT_EQ(advice_text(made), "More devices do not help: one worker alone takes 1.25 s.");
}

TEST(WhySlower, SplitsTheDifferenceIntoComputingAndWaiting) {
  Comparison made = compared("alexnet", 3);
  ASSERT_GT(made.plans.size(), 1u);
  Prediction& best = made.plans[0];
  Prediction& other = made.plans[1];
  best.timeline.seconds = 0.010;
  best.timeline.compute_seconds = {0.004, 0.006};
  best.timeline.wire_bytes = 1500;
  other.timeline.seconds = 0.011;
  other.timeline.compute_seconds = {0.008, 0.002};
  other.timeline.wire_bytes = 2'000'000;
  EXPECT_EQ(why_slower(made, other),
            "its busiest worker computes 2.0 ms more and waits 1.0 ms less; 2.0 MB travel in " +
                std::to_string(other.schedule().transfers.size()) + " messages, not 1.5 kB in " +
                std::to_string(best.schedule().transfers.size()));
}

TEST(PriceText, IsThereForPlansThatSurvive) {
  EXPECT_EQ(price_text(compared("lenet5", 3)), "");
  Comparison made = compared("lenet5", 3, {.survive = 1});
  made.plans[0].timeline.seconds = 2;
  made.plans[0].price = {1, 3, 1.25, 2, 4000, 5000};
  EXPECT_EQ(price_text(made),
            "survives the loss of 1: 2.00 s, not 1.00 s; computes 1.25 times as much, sends 4.0 kB "
            "more and keeps 5.0 kB more. Everything repeated: 3.00 s, 2.00 times as much");
  // Where the bound on the price is not met, what it would cost is the reason.
  made.plans[0].price = {1, 3, 2, 2, 4000, -5000, 4, 1.5};
  EXPECT_EQ(
      price_text(made),
      "survives the loss of 1: 2.00 s, not 1.00 s; computes 2.00 times as much, sends 4.0 kB "
      "more and keeps 5.0 kB less. Everything repeated: 3.00 s, 2.00 times as much. Within 1.6 "
      "times: 4.00 s, 1.50 times as much");
}

}  // namespace
}  // namespace shoal::plan
