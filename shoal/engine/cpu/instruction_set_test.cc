#include "shoal/engine/cpu/instruction_set.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace shoal::cpu {
namespace {

// As on a Raspberry Pi 3 or 4, where Highway 1.0 finds no vectors because it misses AES.
TEST(InstructionSet, OfTheCompilerIsThereWhateverHighwayFinds) {
  hwy::SetSupportedTargetsForTest(HWY_SCALAR);
  const std::vector<std::string_view> sets = instruction_sets();
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(sets, std::vector<std::string_view>{hwy::TargetName(HWY_STATIC_TARGET)});
}

TEST(InstructionSet, BestIsFirst) {
  const std::vector<std::string_view> all = instruction_sets();
  use_instruction_set(all.back());
  EXPECT_EQ(instruction_sets(), std::vector<std::string_view>{all.back()});
  use_instruction_set("");
  EXPECT_EQ(instruction_sets(), all);
}

}  // namespace
}  // namespace shoal::cpu
