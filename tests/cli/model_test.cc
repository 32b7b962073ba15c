// The flags that say which model runs on what.
#include "apps/cli/model.h"

#include <gtest/gtest.h>

#include "shoal/engine/devices/devices.h"

namespace shoal::cli {
namespace {

class DeviceFlag : public testing::Test {
 protected:
  DeviceFlag() { option_ = add_device_to(app_, device_, "What computes"); }
  bool takes(const std::string& name) {
    testing::internal::CaptureStderr();
    const bool taken = !app_.parse({"--device", name});
    testing::internal::GetCapturedStderr();
    return taken;
  }

  Command app_{"", "test"};
  std::string device_ = "cpu";
  Option* option_ = nullptr;
};

TEST_F(DeviceFlag, ListsEveryKind) {
  const std::string help = option_->description();
  for (const DeviceKind& kind : device_kinds()) {
    EXPECT_NE(help.find(kind.name + " (" + kind.summary + ")"), help.npos) << help;
  }
}

TEST_F(DeviceFlag, TakesKindsWithArguments) {
  EXPECT_TRUE(takes("reference"));
  EXPECT_EQ(device_, "reference");
  EXPECT_TRUE(takes("hybrid:reference+cpu"));
  EXPECT_FALSE(takes("abacus"));
  EXPECT_FALSE(takes("abacus:cpu"));
  EXPECT_FALSE(takes(""));
}

TEST(ModelFlags, TakeASizeOfMemoryWhereTheyLearn) {
  for (bool learns : {false, true}) {
    ModelFlags flags;
    Command app("", "test");
    flags.add_to(app, /*model_required=*/false, learns);
    testing::internal::CaptureStderr();
    EXPECT_EQ(!app.parse({"--memory", "200MB"}), learns);
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(flags.memory_limit(), learns ? 200'000'000 : 0);
  }
}

TEST(RequireAccuracy, FailsBelowTheLeast) {
  EXPECT_EQ(require_accuracy(75, 75).exit, Exit::kOk);
  const Outcome below = require_accuracy(74.994, 75);
  EXPECT_EQ(below.exit, Exit::kAccuracy);
  EXPECT_EQ(below.message, "top-1 is 74.99 %, below the asked 75.00 %");
}

}  // namespace
}  // namespace shoal::cli
