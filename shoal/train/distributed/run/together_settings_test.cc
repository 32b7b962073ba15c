#include "shoal/train/distributed/run/together_settings.h"

#include <gtest/gtest.h>

namespace shoal::learn {
namespace {

TEST(TogetherSettings, CountMicroBatchesInPowersOfTwo) {
  TogetherSettings settings;
  EXPECT_EQ(settings.levels(), 3);
  for (int level = 0; level <= 12; ++level) {
    settings.micro_batches = int64_t{1} << level;
    EXPECT_EQ(settings.levels(), level);
  }
}

TEST(TogetherSettings, FixSharesWhereAskedTo) {
  TogetherSettings settings;
  EXPECT_EQ(settings.fixed_shares(), std::nullopt);
  settings.measured = true;
  EXPECT_EQ(settings.fixed_shares(), false);
  settings.fixed = true;
  EXPECT_EQ(settings.fixed_shares(), true);
}

}  // namespace
}  // namespace shoal::learn
