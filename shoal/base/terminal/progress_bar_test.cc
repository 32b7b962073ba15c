#include "shoal/base/terminal/progress_bar.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Progress, SaysWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(progress_text(1, 4, "", 2), "[######..................] 1/4, 6 s left");
  EXPECT_EQ(progress_text(0, 4, "loss 2", 2), "[........................] 0/4, loss 2, 0 s left");
}

TEST(Progress, IsCompleteWhenMoreIsDoneThanWasPlanned) {
  EXPECT_EQ(progress_text(9, 4, "", 2), "[########################] 4/4, 0 s left");
}

TEST(Progress, SaysLinesOnAnyStderr) {
  testing::internal::CaptureStderr();
  ProgressBar bar("work");
  bar.of(1, 2);
  bar.at(2, "note", {"below"});
  bar.say("a line");
  bar.end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "a line\n");
}

}  // namespace
}  // namespace shoal
