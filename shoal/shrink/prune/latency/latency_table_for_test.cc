#include <gtest/gtest.h>

#include "shoal/model/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/shrink/prune/latency/tabulate.h"
#include "shoal/shrink/prune/shrink_testing.h"

namespace shoal::shrink {
namespace {

class TableFor : public Shrinking {
 protected:
  Result<LatencyTable> table(const ShrinkOptions& options, Device& runs) {
    return table_for(as_given(model_), groups_, options, runs, {.networks = 2});
  }
  const Graph one_ = as_given(model_)(1)->graph;
  const compress::Groups groups_ = *compress::find_groups(one_);
};

TEST_F(TableFor, IsThatOfTheNamedDevice) {
  ShrinkOptions shrink_options = options();
  shrink_options.device = "pi4";
  const auto pi4 = table(shrink_options, *device_);
  ASSERT_TRUE(pi4.ok()) << pi4.status().message();
  const Graph dense = *passes::optimize(one_);
  const auto time = timer_by(plan::find_device("pi4")->profile())(dense);
  EXPECT_NEAR(pi4->ms(all_kept(groups_)) / time->ms, 1, 0.02);
  shrink_options.device = "pi3";
  EXPECT_GT(table(shrink_options, *device_)->ms(all_kept(groups_)), 1.5 * time->ms);
  shrink_options.device = "abacus";
  EXPECT_EQ(table(shrink_options, *device_).status().code(), Code::kInvalidArgument);
}

// The whole network takes this time by itself; the cost of a trace is no part of it.
TEST_F(TableFor, IsScaledToTheMeasuredTime) {
  ShrinkOptions shrink_options = options();
  const auto plain = table(shrink_options, *device_);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain->scale, 1);
  EXPECT_GT(plain->ms(all_kept(groups_)), 0);
  shrink_options.measure_seconds = 0.01;
  const auto scaled = table(shrink_options, *device_);
  ASSERT_TRUE(scaled.ok()) << scaled.status().message();
  EXPECT_NE(scaled->scale, 1);
}

}  // namespace
}  // namespace shoal::shrink
