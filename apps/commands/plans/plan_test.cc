#include "apps/commands/plans/plan.h"

#include <gtest/gtest.h>

#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

NamedGraph lenet() { return {"zoo:lenet5", *passes::optimize(*zoo::build("lenet5"))}; }

ProfileOf devices(size_t workers) {
  return [=](const Graph&) -> Result<plan::ClusterProfile> {
    return plan::uniform_cluster(workers, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  };
}

Result<std::unique_ptr<Device>> no_device() { return Status(Code::kInternal, "nobody needs it"); }

TEST(PlannedModel, HasTheFieldsOfTheLibraryAndTheNameOfTheModel) {
  PlanSettings settings;
  settings.excluded = {2};
  const auto planned = make_planned(settings, settings.options(), lenet(), devices(3), no_device);
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  const std::string text = to_json(*planned).dump();
  EXPECT_NE(text.find(R"("model":"zoo:lenet5")"), text.npos) << text;
  EXPECT_NE(text.find(R"("advice":")" + advice_text(*planned) + "\""), text.npos) << text;
  EXPECT_NE(text.find(R"("name":"pi4-2")"), text.npos) << text;
  EXPECT_EQ(planned->best().timeline.compute_seconds[2], 0) << "it is excluded";
}

TEST(PlannedModel, TakesOtherOptionsThanTheSettings) {
  const auto planned = make_planned({}, {.excluded = {0}}, lenet(), devices(2), no_device);
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  EXPECT_EQ(planned->options.excluded, std::vector<int>{0});
  EXPECT_EQ(planned->best().timeline.compute_seconds[0], 0);
  EXPECT_GT(planned->best().timeline.compute_seconds[1], 0);
}

TEST(PlannedModel, SeesRangesWhereValuesTravelInEightBits) {
  PlanSettings settings;
  settings.wire = "int8";
  settings.error = 0.05;
  int devices_made = 0;
  const auto reference = [&]() -> Result<std::unique_ptr<Device>> {
    ++devices_made;
    return make_reference_device();
  };
  const auto planned = make_planned(settings, settings.options(), lenet(), devices(2), reference);
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  EXPECT_EQ(devices_made, 1);
  EXPECT_FALSE(planned->options.wire.largest.empty());
  EXPECT_EQ(
      make_planned(settings, settings.options(), lenet(), devices(2), no_device).status().message(),
      "nobody needs it");
}

TEST(PlannedModel, FailsAsTheProfileDoes) {
  const ProfileOf lost = [](const Graph&) -> Result<plan::ClusterProfile> {
    return Status(Code::kUnavailable, "nobody is there");
  };
  PlanSettings settings;
  settings.wire = "int8";
  settings.error = 0.05;
  EXPECT_EQ(make_planned(settings, settings.options(), lenet(), lost, no_device).status().code(),
            Code::kUnavailable)
      << "no device is asked for in vain";
  EXPECT_EQ(make_planned_stream({}, lenet(), lost).status().code(), Code::kUnavailable);
}

TEST(PlannedModel, OfAStreamIsSplitAsTheSettingsSay) {
  PlanSettings settings;
  settings.objective = "throughput";
  settings.split = "replicas";
  const auto planned = make_planned_stream(settings, lenet(), devices(2));
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  for (const plan::StreamPrediction& one : planned->plans) {
    EXPECT_GT(one.turns.size(), 1U) << one.name << ": it was forced on several workers";
  }
  const std::string text = to_json(*planned).dump();
  EXPECT_NE(text.find(R"("model":"zoo:lenet5")"), text.npos) << text;
}

}  // namespace
}  // namespace shoal::config
