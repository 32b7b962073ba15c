#include "shoal/engine/run/device_checks.h"

#include <gtest/gtest.h>

namespace shoal::fit {
namespace {

TEST(DeviceChecks, TellWellDevicesFromOthers) {
  std::vector<DeviceCheck> devices{{"reference", {{"summary", "slow"}}}, {"lost"}};
  check_devices(devices, [](const std::string& name) -> Result<std::unique_ptr<Device>> {
    if (name == "lost") return Status(Code::kUnavailable, "it is gone");
    return make_reference_device();
  });
  EXPECT_TRUE(devices[0].is_well());
  EXPECT_EQ(*devices[0].right, 10U);
  EXPECT_FALSE(devices[1].is_well());
  EXPECT_TRUE(are_well(std::span(devices).first(1)));
  EXPECT_FALSE(are_well(devices)) << "one is not";
  EXPECT_EQ(object_of(facts_of(devices[0])).dump(),
            R"({"name":"reference","right":10,"summary":"slow"})");
  EXPECT_EQ(facts_of(devices[0]).back().cell, "10 of 10");
  EXPECT_EQ(object_of(facts_of(devices[1])).dump(), R"({"error":"it is gone","name":"lost"})");
  EXPECT_EQ(facts_of(devices[1]).back().cell, "it is gone");
}

TEST(DeviceChecks, CountWrongAnswers) {
  DeviceCheck check{"odd"};
  check.right = size_t{9};
  EXPECT_FALSE(check.is_well());
}

}  // namespace
}  // namespace shoal::fit
