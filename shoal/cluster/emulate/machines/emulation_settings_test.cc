#include "shoal/cluster/emulate/machines/emulation_settings.h"

#include <gtest/gtest.h>

namespace shoal::emulate {
namespace {

TEST(EmulationSettings, AreWordsForWorkers) {
  EXPECT_EQ((EmulationSettings{.media = "m"}.words()), (std::vector<std::string>{"--media", "m"}))
      << "nothing is emulated";
  EXPECT_EQ(
      (EmulationSettings{.file = "c.toml", .media = "m", .dilation = 2.5}.words()),
      (std::vector<std::string>{"--media", "m", "--emulate", "c.toml", "--dilate", "2.500000"}));
}

TEST(EmulationSettings, AreVariablesForPrograms) {
  EmulationSettings settings{.file = "c.toml", .media = "m", .dilation = 4};
  auto variables = settings.environment();
  EXPECT_EQ(variables[EmulationSettings::kFile], "c.toml");
  EXPECT_EQ(variables[EmulationSettings::kDilation], "4.000000");
  EXPECT_FALSE(variables.contains(EmulationSettings::kRealDeploy));
  settings.real_deploy = true;
  EXPECT_EQ(settings.environment()[EmulationSettings::kRealDeploy], "true");
}

}  // namespace
}  // namespace shoal::emulate
