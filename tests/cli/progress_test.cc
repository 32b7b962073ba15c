#include "apps/cli/progress.h"

#include <gtest/gtest.h>

namespace shoal::cli {
namespace {

TEST(Progress, SaysWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(progress_text(1, 4, "", 2), "[######..................] 1/4, 6 s left");
  EXPECT_EQ(progress_text(0, 4, "loss 2", 2), "[........................] 0/4, loss 2, 0 s left");
}

TEST(Progress, IsCompleteWhenMoreIsDoneThanWasPlanned) {
  EXPECT_EQ(progress_text(9, 4, "", 2), "[########################] 4/4, 0 s left");
}

}  // namespace
}  // namespace shoal::cli
